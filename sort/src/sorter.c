// Sorters: their defs, the checks of every field, creation and destruction.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "word_keys.h"

#define SORTER_DEF_COOKIE 0x70737364u // "pssd"

static const struct {
    const char *name;
    uint32_t bytes;
} key_types[] = {{"u32", 4}, {"i32", 4}, {"f32", 4}, {"u64", 8},  {"i64", 8},   {"f64", 8},   {"u8", 1},      {"i8", 1},
                 {"u16", 2}, {"i16", 2}, {"f16", 2}, {"bf16", 2}, {"u128", 16}, {"i128", 16}, {"bytes16", 16}};

#define KEY_TYPES (sizeof key_types / sizeof *key_types)

const char *psv_key_type_name(psv_key_type type) {
    return (unsigned)type < KEY_TYPES ? key_types[type].name : "unknown key type";
}

psv_status psv_parse_key_type(const char *name, psv_key_type *type) {
    if (name == NULL || type == NULL)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "%s is NULL", name == NULL ? "name" : "type");
    for (size_t t = 0; t < KEY_TYPES; ++t) {
        if (strcmp(name, key_types[t].name) == 0) {
            *type = (psv_key_type)t;
            return PSV_OK;
        }
    }
    return psvi_fail(NULL, PSV_ERROR_ARGUMENT,
                     "unknown key type '%.40s'; accepted: u32, i32, f32, u64, i64, f64, u8, i8, u16, i16, f16, bf16, "
                     "u128, i128, bytes16",
                     name);
}

uint32_t psv_key_type_bytes(psv_key_type type) { return (unsigned)type < KEY_TYPES ? key_types[type].bytes : 4; }

psv_sorter_def psv_default_sorter_def(void) {
    return (psv_sorter_def){
        .cookie = SORTER_DEF_COOKIE,
        .method = "radix",
        .key_type = PSV_KEY_U32,
        .value_bytes = 4,
        .order_check = true,
        .radix4 = {.digit_bits = 2, .order_check = PSV_ORDER_CHECK_QUICK_FULL},
        .hybrid = {.buckets = 1024, .refine_steps = 1},
    };
}

static uint64_t max_count_limit(psv_backend backend, const psv_sorter_def *def) {
    const psvi_sort_module *module = psvi_sort_module_of(backend);
    if (module == NULL) return UINT32_MAX; // that the backend is missing is said of the method
    return def->value_bytes == 8 || psv_key_type_bytes(def->key_type) >= 8 ? module->largest_wide_count
                                                                           : module->largest_count;
}

static psv_status check_fields(psv_context *context, psv_backend backend, const psv_sorter_def *def) {
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != SORTER_DEF_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_sorter_def");
    if (def->method == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.method is NULL");
    if ((unsigned)def->key_type >= KEY_TYPES)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.key_type is %d; it must be PSV_KEY_U32 to PSV_KEY_BYTES16",
                         (int)def->key_type);
    const psvi_sort_module *module = psvi_sort_module_of(backend);
    if (psvi_is_by_words(def->key_type) && module != NULL && module->words == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend sorts keys of 32 and 64 bits, not %s",
                         psv_backend_name(backend), psv_key_type_name(def->key_type));
    if (def->value_bytes != 0 && def->value_bytes != 4 && def->value_bytes != 8)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.value_bytes is %u; it must be 0, 4 or 8", def->value_bytes);
    if ((unsigned)def->nan_policy > PSV_NAN_BITWISE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "def.nan_policy is %d; it must be PSV_NAN_LAST or PSV_NAN_BITWISE", (int)def->nan_policy);
    uint32_t key_bits = 8 * psv_key_type_bytes(def->key_type);
    if (def->end_bit > key_bits)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.end_bit is %u; a %s key has %u bits", def->end_bit,
                         psv_key_type_name(def->key_type), key_bits);
    uint32_t end_bit = def->end_bit == 0 ? key_bits : def->end_bit;
    if (def->begin_bit > end_bit)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.begin_bit is %u; it must not be over def.end_bit, %u",
                         def->begin_bit, end_bit);
    uint64_t limit = max_count_limit(backend, def);
    if (def->max_count == 0 || def->max_count > limit)
        return psvi_fail(
            context, PSV_ERROR_ARGUMENT,
            "def.max_count is %llu; for %s keys with %u-byte values on the %s backend it must be 1 to %llu",
            (unsigned long long)def->max_count, psv_key_type_name(def->key_type), def->value_bytes,
            psv_backend_name(backend), (unsigned long long)limit);
    return PSV_OK;
}

// The options that only one method reads are checked only for that method.
static psv_status check_options(psv_context *context, const psv_sorter_def *def) {
    if (strcmp(def->method, "radix4") == 0) {
        if (def->radix4.digit_bits < 1 || def->radix4.digit_bits > 3)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.radix4.digit_bits is %u; it must be 1, 2 or 3",
                             def->radix4.digit_bits);
        if ((unsigned)def->radix4.order_check > PSV_ORDER_CHECK_QUICK_FULL)
            return psvi_fail(context, PSV_ERROR_ARGUMENT,
                             "def.radix4.order_check is %d; it must be PSV_ORDER_CHECK_OFF, _FULL or _QUICK_FULL",
                             (int)def->radix4.order_check);
        if (def->radix4.separate_positions && !def->radix4.scattered_mapping)
            return psvi_fail(context, PSV_ERROR_ARGUMENT,
                             "def.radix4.separate_positions needs scattered_mapping; clusters have no positions of "
                             "their elements");
    }
    if (strcmp(def->method, "hybrid") == 0) {
        if (def->hybrid.buckets < 2 || def->hybrid.buckets > 8192)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.hybrid.buckets is %u; it must be 2 to 8192",
                             def->hybrid.buckets);
        if (def->hybrid.refine_steps < 1 || def->hybrid.refine_steps > 8)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.hybrid.refine_steps is %u; it must be 1 to 8",
                             def->hybrid.refine_steps);
    }
    return PSV_OK;
}

// Writes "auto, radix, ..." to `text`: all methods of the backend, or the methods that serve `def` (of the words, where
// the keys are sorted by words).
static void list_methods(psv_backend backend, const psv_sorter_def *def, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0;; ++i) {
        const char *name = psv_sort_method_name(backend, i);
        if (name == NULL) break;
        const psvi_sort_method *method = psvi_find_sort_method(backend, name);
        char why[160];
        if (def != NULL && method->supports != NULL && !method->supports(def, why, sizeof why)) continue;
        int wrote = snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", name);
        if (wrote < 0 || (size_t)wrote >= bytes - used) break;
        used += (size_t)wrote;
    }
}

psv_status psvi_resolve_sorter_def(psv_context *context, psv_backend backend, const psv_sorter_def *def,
                                   psv_sorter_def *resolved, const psvi_sort_method **method) {
    psv_status status = check_fields(context, backend, def);
    if (status == PSV_OK) status = check_options(context, def);
    if (status != PSV_OK) return status;
    *resolved = *def;
    if (resolved->end_bit == 0) resolved->end_bit = 8 * psv_key_type_bytes(def->key_type);
    char names[200], why[160] = "";
    const psvi_sort_method *found = psvi_find_sort_method(backend, def->method);
    if (found == NULL) {
        list_methods(backend, NULL, names, sizeof names);
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "sorting method '%.40s' is not offered by the %s backend of this build; offered: auto, %s",
                         def->method, psv_backend_name(backend), names);
    }
    const psv_sorter_def judged = psvi_judged_def(resolved);
    if (found->supports != NULL && !found->supports(&judged, why, sizeof why)) {
        list_methods(backend, &judged, names, sizeof names);
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "sorting method '%s' does not serve this def: %s; methods that do: %s", found->name, why,
                         names);
    }
    resolved->method = found->name;
    *method = psvi_is_by_words(def->key_type) ? psvi_words_method_of(backend) : found;
    return PSV_OK;
}

uint64_t psv_sorter_scratch_bytes(psv_backend backend, const psv_sorter_def *def) {
    backend = psvi_resolve_backend(backend);
    psv_sorter_def resolved;
    const psvi_sort_method *method;
    if (psvi_resolve_sorter_def(NULL, backend, def, &resolved, &method) != PSV_OK) return 0;
    return psvi_align(method->scratch_bytes(&resolved)) + PSVI_SCRATCH_SLACK;
}

// Sets the sorter's scratch to the given buffer's first aligned part, or to memory of the context.
static psv_status take_scratch(psv_sorter *sorter, uint64_t bytes) {
    psv_context *context = sorter->context;
    psv_buffer given = sorter->def.scratch;
    sorter->scratch_bytes = bytes;
    if (!psvi_is_given(given)) {
        sorter->scratch = psvi_alloc(context, bytes);
        sorter->owns_scratch = true;
        if (sorter->scratch == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY,
                             "no %s memory for %llu bytes of scratch of sorter '%s' (def.max_count is %llu)",
                             context->ops->name, (unsigned long long)bytes, sorter->method->name,
                             (unsigned long long)sorter->def.max_count);
        return PSV_OK;
    }
    if (given.bytes < bytes + PSVI_SCRATCH_SLACK)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "def.scratch holds %llu bytes; %llu are needed",
                         (unsigned long long)given.bytes, (unsigned long long)(bytes + PSVI_SCRATCH_SLACK));
    const psv_status status = psvi_check_owned_buffer(context, given, bytes + PSVI_SCRATCH_SLACK, 1, "def.scratch");
    if (status != PSV_OK) return status;
    sorter->scratch = (void *)(uintptr_t)psvi_align((uintptr_t)psvi_buffer_address(given));
    return PSV_OK;
}

psv_status psv_create_sorter(psv_context *context, const psv_sorter_def *def, psv_sorter **sorter) {
    psv_status status = psvi_check_creates(context);
    if (status != PSV_OK) return status;
    if (sorter == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "sorter is NULL");
    *sorter = NULL;
    psv_sorter_def resolved;
    const psvi_sort_method *method;
    status = psvi_resolve_sorter_def(context, context->backend, def, &resolved, &method);
    if (status != PSV_OK) return status;
    psv_sorter *made = calloc(1, sizeof *made);
    if (made == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a sorter (%zu bytes)", sizeof *made);
    *made = (psv_sorter){.cookie = PSVI_SORTER_COOKIE, .context = context, .def = resolved, .method = method};
    made->statistics = (psv_sort_statistics){.route = "none", .veto = "none"};
    made->order = psvi_make_key_order(resolved.key_type, resolved.descending, resolved.nan_policy, resolved.begin_bit,
                                      resolved.end_bit);
    status = take_scratch(made, psvi_align(method->scratch_bytes(&resolved)));
    if (status == PSV_OK && method->create != NULL) status = method->create(made);
    if (status != PSV_OK) {
        if (made->owns_scratch) psvi_free(context, made->scratch, made->scratch_bytes);
        free(made);
        return status;
    }
    *sorter = made;
    return PSV_OK;
}

void psv_destroy_sorter(psv_sorter *sorter) {
    if (sorter == NULL || sorter->cookie != PSVI_SORTER_COOKIE) return;
    if (sorter->method->destroy != NULL) sorter->method->destroy(sorter);
    if (sorter->owns_scratch) psvi_free(sorter->context, sorter->scratch, sorter->scratch_bytes);
    sorter->cookie = 0;
    free(sorter);
}

psv_status psvi_check_sorter(const psv_sorter *sorter) {
    if (sorter == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "sorter is NULL");
    if (sorter->cookie != PSVI_SORTER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "sorter is not a living sorter");
    return PSV_OK;
}

const char *psv_sorter_method(const psv_sorter *sorter, uint64_t count) {
    if (psvi_check_sorter(sorter) != PSV_OK) return "";
    return sorter->method->choice != NULL ? sorter->method->choice(sorter, count) : sorter->method->name;
}

uint32_t psv_sorter_digit_bits(const psv_sorter *sorter) {
    return psvi_check_sorter(sorter) == PSV_OK ? sorter->method->digit_bits : 0;
}

psv_status psv_read_sort_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    psv_status status = psvi_check_sorter(sorter);
    if (status != PSV_OK) return status;
    if (statistics == NULL) return psvi_fail(sorter->context, PSV_ERROR_ARGUMENT, "statistics is NULL");
    *statistics = sorter->statistics;
    if (statistics->route == NULL && sorter->method->statistics != NULL)
        status = sorter->method->statistics(sorter, statistics);
    if (statistics->route == NULL) statistics->route = sorter->method->name;
    if (statistics->veto == NULL) statistics->veto = "none";
    return status;
}
