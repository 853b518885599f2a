// `pairsieve run`: data that its parts share.
#ifndef PAIRSIEVE_TOOL_RUN_JOB_H
#define PAIRSIEVE_TOOL_RUN_JOB_H

#include "pairsieve/sim.h"
#include "replay_exports.h"
#include "tool.h"

typedef struct run_sample {
    psv_profile profile;
    uint64_t bodies, pairs, contacts;
} run_sample;

typedef struct run_checker run_checker;   // compares pairs with the brute-force oracle
typedef struct run_recorder run_recorder; // writes a replay

typedef struct run_job {
    // from the command line
    tool_device_options device;
    const char *scene_name;
    const char *sort, *broad_phase; // NULL: as the scene says
    const char *csv, *trace, *save, *restore, *record;
    replay_exports exports;
    uint64_t bodies, frames, seed, check_every;
    double seconds;
    bool has_bodies, has_frames, has_seconds, has_seed, json, check, check_sampled, explain;
    bool table_aside; // a file goes to standard output, so the table goes to stderr

    // while it runs
    psv_context *context;
    psv_context *pairs_on; // OpenGL, where the pairs are found there; NULL: on the context
    psv_scene *scene;      // NULL with --restore
    psv_world *world;
    run_checker *checker;
    run_recorder *recorder; // NULL: no replay is written
    run_sample *samples;    // of every frame
    int interrupted;        // signal that ended the run after `frames` frames; 0: none
    double step_seconds;    // wall clock of all steps, checks apart
    uint64_t checked_frames, check_failures;
    psv_world_check sampled;        // with --check-sampled
    psv_pair_statistics statistics; // of the last frame
    char *explanation;              // of the last frame, with --explain
    psv_world_counters counters;
} run_job;

// --- command_run.c --------------------------------------------------------------------------------------------------

float run_frame_seconds(const run_job *job); // of a step

// --- run_check.c ----------------------------------------------------------------------------------------------------

#define RUN_CHECK_OPTIONS(job, most_frames)                                                                            \
    {.name = "--check",                                                                                                \
     .help = "compare pairs with brute force, every 10th frame and the last",                                          \
     .kind = OPTION_FLAG,                                                                                              \
     .target = &(job).check},                                                                                          \
        {.name = "--check-every",                                                                                      \
         .argument = "K",                                                                                              \
         .help = "with --check: every K-th frame and the last",                                                        \
         .kind = OPTION_COUNT,                                                                                         \
         .target = &(job).check_every,                                                                                 \
         .least = 1,                                                                                                   \
         .most = (most_frames),                                                                                        \
         .given = &(job).check},                                                                                       \
    {                                                                                                                  \
        .name = "--check-sampled", .help = "compare pairs of some boxes with brute force, in at most 2% of the time",  \
        .kind = OPTION_FLAG, .target = &(job).check_sampled                                                            \
    }

// The oracle works on boxes as the last step gave them to its pair finder: on the CPU, or, for more than 65,536 boxes
// on a GPU, there. It counts into job->checked_frames and job->check_failures and prints the first difference of a
// frame.
int run_check_frame(run_job *job, uint64_t frame);
void run_destroy_checker(run_checker *checker); // NULL is allowed

// At the end of a run with --check-sampled: what the world's own checks found. Prints the first difference.
int run_end_sampled_check(run_job *job);

// --- run_pairs_on.c -------------------------------------------------------------------------------------------------

// The job's contexts. With --backend gl bodies are stepped by the CPU and pairs are found on OpenGL.
int run_create_contexts(run_job *job);

// With --backend auto, on the CPU, after the first step: OpenGL finds this frame's pairs too, and the pairs of later
// frames if it was faster. Only with enough boxes for that, and a driver with a GPU.
int run_measure_pairs_on(run_job *job);

// --- run_record.c ---------------------------------------------------------------------------------------------------

// With --record, and where an export needs a replay: the world before the first step, each frame after its step, the
// end. Exit codes.
bool run_wants_record(const run_job *job);
int run_begin_record(run_job *job);
int run_record_frame(run_job *job, const run_sample *sample);
int run_end_record(run_job *job);
void run_destroy_recorder(run_recorder *recorder); // NULL is allowed; an unfinished file is not kept

// --- run_output.c ---------------------------------------------------------------------------------------------------

int run_print_result(const run_job *job);
int run_write_csv(const run_job *job, const char *path);
int run_write_trace(const run_job *job, const char *path); // Chrome's trace format, for about:tracing or Perfetto

#endif
