// `pairsieve bench papers`: every figure and table of three papers on GPU sorting, measured on this machine beside the
// points that the papers print.
//
// The result object:
//   schema    "pairsieve.papers/1"
//   machine   see sim/tool/machine.h
//   figures   [{id, paper, place, title, claim, state, here, absent, x, y, log_x, log_y, stacked}]: `here` says what
//   this
//             machine measured, `absent` what is left out and why
//   tables    a table for each figure that has rows, as in sim/tool/report/report.h. Its columns:
//     source   "paper": read off the paper's text, «derived» in the note where the text gives a ratio only; "here"
//     device   "cpu", "gl", "vulkan", "cuda"; the paper's device
//     series, x, y, y_q1, y_q3, note
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include "../../sim/tool/report/report.h"
#include "pairsieve/collision.h"
#include "pairsieve/sort.h"

#define FIGURES_SCHEMA "pairsieve.papers/1"
#define FIGURE_DEVICES 4
#define FIGURE_MESHES 8
#define FIGURE_ROUNDS 31

// --- a figure -------------------------------------------------------------------------------------------------------

typedef struct figure_run figure_run;

typedef struct figure {
    const char *id, *paper, *place, *title;
    const char *claim; // of the paper, in one sentence
    int (*measure)(figure_run *run);
    const char *absent; // why nothing is measured: a drawing, or what is missing. With `measure`: what is left out
    const char *state;  // without `measure`: "a drawing", "not built"
    const char *x_name, *y_name;
    bool log_x, log_y, stacked;
} figure;

// A point that a paper prints.
typedef struct figure_point {
    const char *figure, *device, *series;
    double x, y;
    const char *note; // "printed", or how it follows from the text
} figure_point;

extern const figure figure_list[]; // ends with an entry without id
extern const figure_point figure_points[];

// --- a run ----------------------------------------------------------------------------------------------------------

typedef struct figure_device {
    psv_context *context;
    const char *name;
} figure_device;

struct figure_run {
    report_job job;                           // options, report and tables
    const char *beside, *only, *only_devices; // only_devices: NULL: all
    const char *commit;                       // NULL: of the build
    const char *meshes[FIGURE_MESHES];
    uint32_t mesh_count;
    bool has_meshes;
    figure_device devices[FIGURE_DEVICES];
    uint32_t device_count;
    const float *distances; // KEYS_DISTANCES; NULL: of a bumpy torus
    const figure *figure;   // that is measured now
    char here[512];         // what it says about this machine
};

// Adds a measured point: median and quartiles of `count` values, which are reordered. False: no memory.
bool figure_add(figure_run *run, const char *device, const char *series, double x, double *values, uint64_t count);

// The measured point of the figure; 0: there is none.
double figure_value(const figure_run *run, const char *device, const char *series, double x);

// Appends to the sentence about this machine.
void figure_say(figure_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

// «DEVICE: at X keys, A takes R times as long as B», at the largest x where both are; nothing where there is none.
void figure_say_ratio(figure_run *run, const char *device, const char *above, const char *below);
void figure_say_ratios(figure_run *run, const char *above, const char *below); // of each GPU's backend

int figure_no_memory(void);

// --- sorts ----------------------------------------------------------------------------------------------------------

typedef enum figure_keys { KEYS_UNIFORM, KEYS_GAUSSIAN, KEYS_SORTED, KEYS_DISTANCES, KEYS_SPIKES } figure_keys;

void figure_fill_keys(const figure_run *run, figure_keys kind, uint64_t count, float *keys);

// Threads of what runs on the host beside the library.
int figure_threads(const figure_run *run);

// One way to sort. Methods that a backend lacks are left out.
typedef struct figure_sorter {
    const char *label, *method;      // method NULL: `host` sorts
    void (*host)(float *, uint64_t); // in the host's memory
    bool index, as_u32;              // with an index; the keys' bits, which are not negative, as u32
    bool no_check;
    uint32_t word; // 32, 64: keys that hold key and index in one word of so many bits; 0: none
    psv_radix4_options radix4;
    psv_hybrid_options hybrid;
} figure_sorter;

#define FIGURE_SORTERS 10

typedef struct figure_times {
    double ms[FIGURE_ROUNDS];
    uint64_t rounds; // 0: was not measured
} figure_times;

// Times sorters of one device in turns on `count` keys, and checks their results. `times` has a place for each; those
// with `skip` set are left out. Exit codes.
int figure_time_sorts(figure_run *run, const figure_device *device, const figure_sorter *sorters, uint32_t sorter_count,
                      uint64_t count, figure_keys keys, const bool *skip, figure_times *times);

// The same for all counts, from the least on; adds points at x = count. A sorter that takes long is left out of the
// larger counts.
int figure_contest(figure_run *run, const figure_device *device, const figure_sorter *sorters, uint32_t sorter_count,
                   const uint64_t *counts, figure_keys keys);

// Share of neighbours in the wrong order after uniform keys were sorted in words of 32 bits with their index. NaN: no
// memory.
double figure_misplaced_by_word(figure_run *run, uint64_t count);

// What may take longer is left out.
double figure_longest_ms(const figure_run *run);

bool figure_has_method(const figure_device *device, const char *method);
bool figure_is(const figure_device *device, psv_backend backend);
bool figure_has_shaders(const figure_device *device); // OpenGL, Vulkan

// NULL: the run has no such device.
const figure_device *figure_device_of(const figure_run *run, psv_backend backend);

// Counts for sorts, by --quick: up to 1M or 8M keys. Ends with 0.
const uint64_t *figure_counts(const figure_run *run);

// --- measurements ---------------------------------------------------------------------------------------------------

// Sintorn & Assarsson
int figure_merge_passes(figure_run *run);
int figure_hybrid(figure_run *run);
int figure_growth(figure_run *run);
int figure_transfers(figure_run *run);
int figure_distances(figure_run *run);
int figure_buckets(figure_run *run);
int figure_histogram(figure_run *run);
// Ha, Krueger, Silva
int figure_scenes(figure_run *run);
int figure_records(figure_run *run);
int figure_radix_uniform(figure_run *run);
int figure_radix_gaussian(figure_run *run);
int figure_bandwidth(figure_run *run);
int figure_broad_phase(figure_run *run);
int figure_order_check(figure_run *run);
int figure_shuffle(figure_run *run);
int figure_merged(figure_run *run);
int figure_one_word(figure_run *run);
// García et al.
int figure_split(figure_run *run);
int figure_split_gl(figure_run *run);
int figure_split_stages(figure_run *run);
int figure_pictures(figure_run *run);
int figure_trees(figure_run *run);
int figure_walks(figure_run *run);

// --- figures_page.c -------------------------------------------------------------------------------------------------

void figures_write_page(FILE *out, const json_t *report);

#endif
