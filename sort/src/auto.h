// `auto`: chooses the method by measurement. auto.c chooses and runs, auto_calibrate.c measures, auto_cache.c keeps the
// measurements.
#ifndef PAIRSIEVE_SORT_AUTO_H
#define PAIRSIEVE_SORT_AUTO_H

#include "sort_method.h"

#define PSVI_AUTO_SIZES 12

// Measurements of one kind of sort on one device: the fastest method from each count on. Counts ascend; the first
// method also serves smaller counts.
typedef struct psvi_auto_table {
    uint32_t size_count;
    struct {
        uint64_t count;
        char method[16];
    } sizes[PSVI_AUTO_SIZES];
} psvi_auto_table;

// Measures uniform keys. PSV_OK with a table of one size at least, or why not.
psv_status psvi_auto_calibrate(psv_context *context, const psv_sorter_def *def, psvi_auto_table *table);

// Reads the table for a kind of sort from the user's cache folder; false when there is none that can be used.
bool psvi_auto_read_cache(const char *kind, psv_backend backend, psvi_auto_table *table);

// Adds it there, whole or not at all; that it could not be kept is no error.
void psvi_auto_write_cache(const char *kind, const psvi_auto_table *table);

// The table for a def: cached, or measured and then cached.
psv_status psvi_auto_find_table(psv_context *context, const psv_sorter_def *def, psvi_auto_table *table);

// Index of the size that serves `count`.
uint32_t psvi_auto_size_of(const psvi_auto_table *table, uint64_t count);

// The method of each backend's table.
uint64_t psvi_auto_scratch_bytes(psv_backend backend, const psv_sorter_def *def);
bool psvi_auto_supports(psv_backend backend, const psv_sorter_def *def, char *why, size_t why_bytes);
psv_status psvi_auto_create(psv_sorter *sorter);
void psvi_auto_destroy(psv_sorter *sorter);
psv_status psvi_auto_run(psv_sorter *sorter, const psvi_sort_request *request);
psv_status psvi_auto_statistics(psv_sorter *sorter, psv_sort_statistics *statistics);
const char *psvi_auto_choice(const psv_sorter *sorter, uint64_t count);

#define PSVI_AUTO_METHOD(name_, backend)                                                                               \
    static uint64_t auto_scratch_bytes_##name_(const psv_sorter_def *def) {                                            \
        return psvi_auto_scratch_bytes(backend, def);                                                                  \
    }                                                                                                                  \
    static bool auto_supports_##name_(const psv_sorter_def *def, char *why, size_t why_bytes) {                        \
        return psvi_auto_supports(backend, def, why, why_bytes);                                                       \
    }                                                                                                                  \
    static const psvi_sort_method auto_##name_ = {                                                                     \
        .name = "auto",                                                                                                \
        .description = "the fastest by a measurement on this machine, made once and kept",                             \
        .supports = auto_supports_##name_,                                                                             \
        .scratch_bytes = auto_scratch_bytes_##name_,                                                                   \
        .create = psvi_auto_create,                                                                                    \
        .destroy = psvi_auto_destroy,                                                                                  \
        .run = psvi_auto_run,                                                                                          \
        .statistics = psvi_auto_statistics,                                                                            \
        .choice = psvi_auto_choice,                                                                                    \
    };

#endif
