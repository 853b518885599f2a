// What a frame costs: a history of phase times for the plot, CSV and trace files, and the pair-count cross-check.
#ifndef PAIRSIEVE_VIEW_MEASURE_H
#define PAIRSIEVE_VIEW_MEASURE_H

#include "../render/gl_util.h"
#include "pairsieve/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VIEW_HISTORY 4096 // frames kept

typedef struct view_sample {
    psv_profile profile; // as psv_world_profile gave it
    double draw_ms;      // GPU time of the picture
    double order_ms;     // depth or row sort of the bodies for drawing, 0 when not on
    double rays_ms;      // the last picture by rays: tree and rays, 0 when not on
    double frame_ms;     // wall time from picture to picture
    uint64_t bodies, pairs, contacts;
    uint32_t sort_passes, sort_passes_skipped;
} view_sample;

typedef struct view_history {
    view_sample samples[VIEW_HISTORY];
    uint64_t count; // samples ever; sample i is at i % VIEW_HISTORY
} view_history;

void view_add_sample(view_history *history, const view_sample *sample);

// Samples of the last `seconds`, by the time from picture to picture; at least one, where there is any, and no more
// than are kept.
uint64_t view_recent_count(const view_history *history, double seconds);

enum { VIEW_OF_STEP = PSV_PHASE_COUNT, VIEW_OF_PHASES, VIEW_OF_FRAME };

// The least of the newest `count` values that a share of at least `quantile` does not exceed; 0 for none. At most as
// many values count as are kept. what: a psv_phase, VIEW_OF_STEP, VIEW_OF_PHASES (their sum) or VIEW_OF_FRAME.
// Milliseconds.
double view_quantile(const view_history *history, uint64_t count, int what, double quantile);

const view_sample *view_last_sample(const view_history *history); // NULL when empty

void view_write_csv_head(FILE *file);
void view_write_csv_row(FILE *file, const view_sample *sample);
void view_write_trace_head(FILE *file);
// Adds the sample's phases, laid end to end from *clock_us on.
void view_write_trace_events(FILE *file, const view_sample *sample, double *clock_us);
void view_write_trace_tail(FILE *file);

// Writes the kept history. False with a message when the file cannot be written.
bool view_export_csv(const view_history *history, const char *path, view_message *message);
bool view_export_trace(const view_history *history, const char *path, view_message *message);

// Pair counts of the same boxes by the current method and by an independent one. A step that lets bodies fall asleep
// finds their pairs first, and a later search leaves those pairs out: both counts include `settled`.
typedef struct view_check {
    bool done;
    uint64_t frame;
    char method[16], other[16];
    uint64_t pairs, other_pairs;
    uint64_t step_pairs; // of the last step, as the panel shows them
    uint64_t settled;    // pairs of the last step whose bodies fell asleep, or left the world, at its end
    double ms, other_ms;
} view_check;

bool view_check_agrees(const view_check *check); // done, and all three counts are equal

// Counts pairs of the world's last step that the flags of its boxes leave out by now, each tested against the boxes.
// False when nothing was searched for since the method was set, or memory or the device failed. Blocks.
bool view_count_settled(psv_world *world, uint64_t *settled);

// A pair finder with room for the boxes and the worlds that they name. Blocks.
psv_status view_create_finder(psv_context *context, const psv_box_set *boxes, const char *method,
                              const char *sort_method, psv_pair_finder **finder);

// Counts the pairs of the pair finder's last input (boxes, filters, worlds) by `method`. Blocks.
bool view_count_pairs(psv_context *context, psv_world *world, const char *method, const char *sort_method,
                      uint64_t *pairs, double *ms, view_message *message);

// Runs the cross-check. Blocks.
bool view_check_pairs(psv_context *context, psv_world *world, const char *method, const char *sort_method,
                      view_check *check, view_message *message);

#ifdef __cplusplus
}
#endif
#endif
