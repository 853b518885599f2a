// Times one sorting configuration: ours and the yardstick alternately, on fresh input each time.
#ifndef SORT_TIMING_H
#define SORT_TIMING_H

#include "../cases/sort_inputs.h"
#include "../device_profiles.h"

typedef enum bench_operation { BENCH_PAIRS, BENCH_KEYS, BENCH_INDEX } bench_operation;

// What is timed, on an otherwise idle device, event to event on the device (CUDA, OpenGL) or by the wall clock (CPU):
//   ours   psv_sort_pairs / psv_sort_keys in place, psv_sort_index with the keys left undefined
//   CUDA's yardstick   CUB SortPairs / SortKeys from one array to another; for the index its iota kernel, then
//   SortPairs CPU's yardstick    method "qsort"
// The input is restored by a copy within the backend's memory before each repetition, outside of the timed part. Inputs
// of one distribution with different seeds take turns, so that no method gains by what it knows of the very same keys.
#define BENCH_INPUTS 4
#define BENCH_KINDS 12 // of keys, in bench_sort_mixed

typedef struct bench_config {
    psv_backend backend;
    const char *method;
    bench_operation operation;
    psv_key_type key_type;
    key_distribution distribution;
    uint64_t count;
    bool graph; // CUDA: both captured in graphs, the launch of the graph is timed
    bool yardstick;
    uint64_t seed;
    int inputs;              // 1 to BENCH_INPUTS, with seeds from `seed` on
    bool has_before;         // before each timed sort, an untimed one by the same sorter of
    key_distribution before; // these keys
    int workers;             // CPU
    int repetitions;
    const key_distribution *kinds; // of each input; NULL: all are of `distribution`
} bench_config;

typedef struct bench_result {
    bool served; // false: the method does not serve this; `why` tells
    char why[256];
    char chosen[32]; // the method that ran, for "auto"
    char route[32];  // of its last sort, see psv_sort_statistics; with the veto, where there is one, behind a slash
    double median_ms, min_ms;
    double scatter;      // distance of the quartiles over the median
    double yardstick_ms; // median; 0: none
    double gbytes;       // that an 8-bit digit sort that skips nothing moves
    bool right;          // the result was checked: in order, and the same bytes as the yardstick's
} bench_result;

// Calls of one sorter with keys of another kind each time, and first calls. The yardstick's time over ours.
typedef struct bench_mixed {
    bool served, right;
    double sum;                  // of all calls
    double worst;                // of the slowest call
    key_distribution worst_kind; // that call's
    char worst_route[32];
    double worst_of[BENCH_KINDS]; // of the slowest call with each kind; 0: there was none
    double first_of[BENCH_KINDS]; // first call of a sorter, of each kind
} bench_mixed;

typedef struct bench_device bench_device;

// Opens the backend; NULL with a sentence on stderr.
bench_device *bench_open(psv_backend backend, int workers);

// From now on sorters take the device for a lesser one, with all its multiprocessors.
void bench_take_for(bench_device *device, const device_profile *profile);

// Makes the keys of all kinds with so many seeds from the config's on, at most BENCH_INPUTS, on all cores, and keeps
// them for the calls to come.
void bench_make_kinds(const bench_config *config, const key_distribution *kinds, int count, int seeds);
void bench_close(bench_device *device);

const char *bench_device_name(const bench_device *device);
const char *bench_driver(const bench_device *device);    // "driver 580.95, runtime 13.0"; "" for the CPU
const char *bench_yardstick(const bench_device *device); // "CUB 3.0.1", "qsort"

// Bytes read and written by a second of copying 1 GB within the backend's memory.
double bench_copy_gbytes_per_s(bench_device *device);

bench_result bench_sort_once(bench_device *device, const bench_config *config);

// config->kinds and inputs (up to BENCH_KINDS). By calls, never by graphs.
bench_mixed bench_sort_mixed(bench_device *device, const bench_config *config);

#endif
