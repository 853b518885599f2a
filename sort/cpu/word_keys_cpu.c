// Keys of 8, 16 and 128 bits and the words that stand for them, on the CPU.
#include "../../core/cpu/workers.h"
#include "../src/word_keys.h"
#include "clones.h"
#include "records_cpu.h"

enum { GRAIN = 1 << 14 }; // keys that a worker takes at a time: fewer are not worth waking a thread

typedef struct word_job {
    psvi_word_form form;
    const void *source;
    const uint32_t *index;
    uint32_t upper;
    void *target;
} word_job;

static uint64_t count_of(uint64_t count, const uint64_t *count_given) {
    return count_given != NULL && *count_given < count ? *count_given : count;
}

PSVI_CLONES static void write_narrow(const word_job *job, uint64_t first, uint64_t end) {
    const psvi_word_form form = job->form;
    uint32_t *words = job->target;
    if (form.key_bytes == 1) {
        for (uint64_t i = first; i < end; ++i)
            words[i] = psvi_narrow_word(((const uint8_t *)job->source)[i], form);
    } else {
        for (uint64_t i = first; i < end; ++i)
            words[i] = psvi_narrow_word(((const uint16_t *)job->source)[i], form);
    }
}

static void write_wide(const word_job *job, uint64_t first, uint64_t end) {
    const uint64_t *keys = job->source;
    for (uint64_t i = first; i < end; ++i) {
        const uint64_t *key = keys + 2 * (job->index != NULL ? job->index[i] : i);
        ((uint64_t *)job->target)[i] = psvi_wide_word(key[0], key[1], job->form, job->upper);
    }
}

static void write_some(void *data, uint64_t first, uint64_t end) {
    const word_job *job = data;
    if (job->form.key_bytes == 16)
        write_wide(job, first, end);
    else
        write_narrow(job, first, end);
}

static void read_some(void *data, uint64_t first, uint64_t end) {
    const word_job *job = data;
    const uint32_t *words = job->source;
    if (job->form.key_bytes == 1) {
        for (uint64_t i = first; i < end; ++i)
            ((uint8_t *)job->target)[i] = (uint8_t)words[i];
    } else {
        for (uint64_t i = first; i < end; ++i)
            ((uint16_t *)job->target)[i] = (uint16_t)words[i];
    }
}

static psv_status write_words(psv_context *context, psvi_word_form form, const void *keys, const uint32_t *index,
                              uint32_t upper, void *words, uint64_t count, const uint64_t *count_given) {
    word_job job = {form, keys, index, upper, words};
    psvi_run_ranges(context, count_of(count, count_given), GRAIN, write_some, &job);
    return PSV_OK;
}

static psv_status read_words(psv_context *context, psvi_word_form form, const uint32_t *words, void *keys,
                             uint64_t count, const uint64_t *count_given) {
    word_job job = {form, words, NULL, 0, keys};
    psvi_run_ranges(context, count_of(count, count_given), GRAIN, read_some, &job);
    return PSV_OK;
}

static psv_status gather(psv_context *context, const void *source, void *target, uint32_t stride, const uint32_t *index,
                         uint64_t count, const uint64_t *count_given) {
    return psvi_cpu_gather_records(context, source, target, stride, index, count_of(count, count_given));
}

const psvi_word_ops psvi_cpu_words = {.write = write_words, .read = read_words, .gather = gather};
