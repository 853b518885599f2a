// Keys of 8, 16 and 128 bits. The methods sort keys of 32 and 64 bits; other keys are sorted through words that stand
// for them («by words»), so that each method serves each width.
//
// A key of 8 or 16 bits becomes a word of 32: the transformed key (key_order.h) in the upper half, the key as it is in
// the lower. The word is sorted by the upper half, and the key is read back from the lower: no transform is inverted.
//
// A key of 128 bits becomes two words of 64, each transformed. The stable order of the lower word, then of the upper
// one, is a permutation; keys and values are gathered by it once, at the end.
#ifndef PAIRSIEVE_WORD_KEYS_H
#define PAIRSIEVE_WORD_KEYS_H

#include <string.h>

#include "../../core/host_device.h"
#include "sort_method.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSVI_WORD_SHIFT 16u // of the transformed key in a word of 32 bits

// How a key becomes words.
typedef struct psvi_word_form {
    uint32_t key_bytes; // 1, 2 or 16
    uint32_t infinity;  // bits of the float that is infinite; 0: integers
    uint32_t nan_last;
    uint32_t is_text; // 16 bytes that are compared as memcmp does
    uint64_t flip;    // of the key of 8 or 16 bits, or of the upper word
    uint64_t flip_lower;
} psvi_word_form;

static inline psvi_word_form psvi_make_word_form(psv_key_type type, bool descending, psv_nan_policy nan_policy) {
    psvi_word_form form = {.key_bytes = psv_key_type_bytes(type), .is_text = type == PSV_KEY_BYTES16};
    const uint64_t all = form.key_bytes == 16 ? UINT64_MAX : ((uint64_t)1 << 8 * form.key_bytes) - 1;
    if (type == PSV_KEY_I8 || type == PSV_KEY_I16 || type == PSV_KEY_I128) form.flip = all ^ all >> 1;
    if (type == PSV_KEY_F16) form.infinity = 0x7c00;
    if (type == PSV_KEY_BF16) form.infinity = 0x7f80;
    form.nan_last = nan_policy == PSV_NAN_LAST;
    if (descending) form.flip ^= all;
    if (descending) form.flip_lower = UINT64_MAX;
    return form;
}

// The word of 32 bits for a key of 8 or 16.
PSVI_HD uint32_t psvi_narrow_word(uint32_t key, psvi_word_form form) {
    uint32_t bits = key;
    if (form.infinity != 0) {
        const uint32_t magnitude = key & 0x7fffu;
        if (magnitude == 0) bits = 0;
        bits ^= bits & 0x8000u ? 0xffffu : 0x8000u;
        if (form.nan_last && magnitude > form.infinity) return 0xffff0000u | key;
    }
    return (bits ^ (uint32_t)form.flip) << PSVI_WORD_SHIFT | key;
}

PSVI_HD uint64_t psvi_swap_bytes(uint64_t x) {
    x = (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
    x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
    return x << 32 | x >> 32;
}

// The upper or lower word of a key of 128 bits, given as the two words that lie in memory one after the other.
PSVI_HD uint64_t psvi_wide_word(uint64_t first, uint64_t second, psvi_word_form form, uint32_t upper) {
    if (form.is_text) return psvi_swap_bytes(upper ? first : second) ^ (upper ? form.flip : form.flip_lower);
    return upper ? second ^ form.flip : first ^ form.flip_lower;
}

// The loops over keys, by backend. The count of each is that of a request.
typedef struct psvi_word_ops {
    // words[i] = the word (of 32 bits, or the upper or lower one of 64) of keys[index[i]], or of keys[i] without index.
    psv_status (*write)(psv_context *context, psvi_word_form form, const void *keys, const uint32_t *index,
                        uint32_t upper, void *words, uint64_t count, const uint64_t *count_device);
    // keys[i] = the key in words[i]; for keys of 8 and 16 bits.
    psv_status (*read)(psv_context *context, psvi_word_form form, const uint32_t *words, void *keys, uint64_t count,
                       const uint64_t *count_device);
    psv_status (*gather)(psv_context *context, const void *source, void *target, uint32_t stride, const uint32_t *index,
                         uint64_t count, const uint64_t *count_device);
} psvi_word_ops;

extern const psvi_word_ops psvi_cpu_words, psvi_cuda_words; // those that this build has

// Keys of this type are sorted by words.
static inline bool psvi_is_by_words(psv_key_type type) { return type > PSV_KEY_F64; }

// PSV_ERROR_UNSUPPORTED for keys by words; `what` does not serve them.
psv_status psvi_refuse_words(psv_context *context, psv_key_type type, const char *what);

// The def of the sort that stands for `def` (end_bit set): of the words of 32 bits, or of the upper or lower words of
// 64 bits. False where no bits of that word are compared.
bool psvi_word_def(const psv_sorter_def *def, bool upper, psv_sorter_def *words);

// What methods are asked about: the def itself, or one for its words.
psv_sorter_def psvi_judged_def(const psv_sorter_def *def);

// The methods that sort by words with another method, def.method: one for each backend.
uint64_t psvi_words_scratch_bytes(psv_backend backend, const psv_sorter_def *def);
psv_status psvi_words_create(psv_sorter *sorter);
void psvi_words_destroy(psv_sorter *sorter);
psv_status psvi_words_run(psv_sorter *sorter, const psvi_sort_request *request);
psv_status psvi_words_statistics(psv_sorter *sorter, psv_sort_statistics *statistics);
const char *psvi_words_choice(const psv_sorter *sorter, uint64_t count);

#define PSVI_WORDS_METHOD(name_, backend)                                                                              \
    static uint64_t words_scratch_bytes_##name_(const psv_sorter_def *def) {                                           \
        return psvi_words_scratch_bytes(backend, def);                                                                 \
    }                                                                                                                  \
    static const psvi_sort_method words_##name_ = {                                                                    \
        .name = "by words",                                                                                            \
        .scratch_bytes = words_scratch_bytes_##name_,                                                                  \
        .create = psvi_words_create,                                                                                   \
        .destroy = psvi_words_destroy,                                                                                 \
        .run = psvi_words_run,                                                                                         \
        .statistics = psvi_words_statistics,                                                                           \
        .choice = psvi_words_choice,                                                                                   \
    };

const psvi_sort_method *psvi_words_method_of(psv_backend backend);

#ifdef __cplusplus
}
#endif
#endif
