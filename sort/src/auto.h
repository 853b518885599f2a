// `auto`: the method that runs, chosen by measurement. Three files: auto.c chooses and runs, auto_calibrate.c measures,
// auto_cache.c keeps what was measured.
#ifndef PAIRSIEVE_SORT_AUTO_H
#define PAIRSIEVE_SORT_AUTO_H

#include "sort_method.h"

#define PSVI_AUTO_SIZES 12

// What was measured for one kind of sort on one device: the fastest method from each count on. Counts ascend; the first
// also serves what is below it.
typedef struct psvi_auto_table {
    uint32_t size_count;
    struct {
        uint64_t count;
        char method[16];
    } sizes[PSVI_AUTO_SIZES];
} psvi_auto_table;

// Methods that auto chooses between, ending with NULL. The papers' methods are not among them: they are there to be
// compared, and no card on which they were measured has one of them first at any count.
const char *const *psvi_auto_candidates(psv_backend backend);

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

extern const psvi_sort_method psvi_sort_auto_cpu;
#if PSV_HAVE_CUDA
extern const psvi_sort_method psvi_sort_auto_cuda;
#endif
#if PSV_HAVE_GL
extern const psvi_sort_method psvi_sort_auto_gl;
#endif

#endif
