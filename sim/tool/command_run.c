// `pairsieve run`: steps a scene without a window and reports the cost of each frame.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pairsieve/sort.h"
#include "run_job.h"

#define DEFAULT_FRAMES 300
#define MOST_FRAMES 100000000
#define RESTORED_FRAME_SECONDS (1.0f / 60) // a snapshot holds a world, not its scene
#define PROGRESS_SECONDS 0.1
#define SAMPLED_SHARE 0.02f // of the time, for --check-sampled
#define PROGRESS_CELLS 30

// --- progress -------------------------------------------------------------------------------------------------------

static void draw_progress(uint64_t frame, uint64_t frames, uint64_t pairs) {
    char cells[PROGRESS_CELLS + 1];
    uint64_t filled = frame * PROGRESS_CELLS / frames;
    for (uint64_t i = 0; i < PROGRESS_CELLS; ++i)
        cells[i] = i < filled ? '#' : '.';
    cells[PROGRESS_CELLS] = 0;
    fprintf(stderr, "\r[%s] frame %llu of %llu, %llu pairs  ", cells, (unsigned long long)frame,
            (unsigned long long)frames, (unsigned long long)pairs);
}

static void clear_progress(void) { fprintf(stderr, "\r%*s\r", 100, ""); }

// --- frames ---------------------------------------------------------------------------------------------------------

float run_frame_seconds(const run_job *job) {
    return job->scene != NULL ? psv_scene_frame_seconds(job->scene) : RESTORED_FRAME_SECONDS;
}

// One step, waited for, so that its times and counts belong to it.
static psv_status step(run_job *job, run_sample *sample) {
    double begin = tool_seconds_now();
    psv_status status =
        job->scene != NULL ? psv_scene_step(job->scene) : psv_world_step(job->world, RESTORED_FRAME_SECONDS);
    if (status == PSV_OK) status = psv_synchronize(job->context);
    job->step_seconds += tool_seconds_now() - begin;
    if (status == PSV_OK) status = psv_wait_profile(job->context, &sample->profile);
    if (status == PSV_OK) status = psv_read_world_counters(job->world, &job->counters);
    sample->bodies = job->counters.bodies;
    sample->pairs = job->counters.pairs;
    sample->contacts = job->counters.contacts;
    return status;
}

// --- interruption ---------------------------------------------------------------------------------------------------

static volatile sig_atomic_t signal_caught;

static void catch_signal(int number) { signal_caught = number; }

// SIGINT and SIGTERM end the run after its frame, with its whole report; a second signal ends it at once. An ignored
// signal (as in the background of a shell) stays ignored.
static void catch_signals(void) {
    static const int numbers[2] = {SIGINT, SIGTERM};
#if defined(_WIN32)
    for (int i = 0; i < 2; ++i) // one signal is caught, the next one ends the program
        if (signal(numbers[i], catch_signal) == SIG_IGN) (void)signal(numbers[i], SIG_IGN);
#else
    struct sigaction old, action = {.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (int i = 0; i < 2; ++i)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
#endif
}

// The run so far is all there is.
static void end_early(run_job *job, uint64_t frames_done) {
    job->interrupted = (int)signal_caught;
    (void)fprintf(stderr, "pairsieve: interrupted after %llu of %llu frames\n", (unsigned long long)frames_done,
                  (unsigned long long)job->frames);
    job->frames = frames_done;
}

static int run_frames(run_job *job) {
    bool progress = !job->json && isatty(STDERR_FILENO);
    double drawn = 0;
    int code = TOOL_DONE;
    uint64_t done = 0;
    catch_signals();
    for (uint64_t f = 1; f <= job->frames && code == TOOL_DONE && signal_caught == 0; ++f) {
        code = tool_fail_status(job->context, step(job, &job->samples[f - 1]));
        if (code == TOOL_DONE && job->recorder != NULL) code = run_record_frame(job, &job->samples[f - 1]);
        if (code == TOOL_DONE && f == 1 && job->frames > 1) code = run_measure_pairs_on(job);
        // The last frame is checked too, so that a short run is checked at all.
        if (code == TOOL_DONE && job->check && psv_world_slot_count(job->world) > 0 &&
            (f % job->check_every == 0 || f == job->frames))
            code = run_check_frame(job, f);
        if (progress && (tool_seconds_now() - drawn > PROGRESS_SECONDS || f == job->frames)) {
            draw_progress(f, job->frames, job->counters.pairs);
            drawn = tool_seconds_now();
        }
        done = f;
    }
    if (progress) clear_progress();
    if (code == TOOL_DONE) code = run_end_sampled_check(job);
    if (code != TOOL_DONE) return code;
    if (signal_caught != 0 && done < job->frames) end_early(job, done);
    if (psv_world_slot_count(job->world) == 0) { // nothing was looked for
        job->statistics.method = job->statistics.sort_method = "none";
        job->statistics.route = job->statistics.veto = "none";
        return TOOL_DONE;
    }
    psv_pair_finder *finder = psv_world_pair_finder(job->world);
    const psv_status status = psv_read_pair_statistics(finder, &job->statistics);
    if (status != PSV_OK || !job->explain) return tool_fail_status(job->context, status);
    uint64_t needed = 0;
    (void)psv_explain_frame(finder, NULL, 0, &needed);
    job->explanation = calloc(1, needed + 1);
    if (job->explanation == NULL) return tool_fail(TOOL_REFUSED, "no memory for an explanation");
    return tool_fail_status(job->context, psv_explain_frame(finder, job->explanation, needed, NULL));
}

// --- scene ----------------------------------------------------------------------------------------------------------

static int load_scene(run_job *job) {
    psv_scene_options options = psv_default_scene_options();
    options.bodies = job->bodies;
    options.seed = job->seed;
    options.has_seed = job->has_seed;
    options.broad_phase = job->broad_phase;
    options.sort_method = job->sort;
    psv_status status = psv_load_scene(job->context, job->scene_name, &options, &job->scene);
    if (status != PSV_OK) return tool_fail_status(job->context, status);
    job->world = psv_scene_world(job->scene);
    if (!job->has_seed) job->seed = psv_scene_seed(job->scene);
    return TOOL_DONE;
}

static int restore_world(run_job *job) {
    psv_status status = psv_restore_snapshot(job->context, job->restore, &job->world);
    if (status == PSV_OK && job->sort != NULL) status = psv_world_set_sort_method(job->world, job->sort);
    if (status == PSV_OK && job->broad_phase != NULL) status = psv_world_set_broad_phase(job->world, job->broad_phase);
    return tool_fail_status(job->context, status);
}

static int prepare(run_job *job) {
    int code = run_create_contexts(job);
    const psv_context *finds = job->pairs_on != NULL ? job->pairs_on : job->context;
    if (code == TOOL_DONE) code = tool_check_method(finds, "--sort", job->sort, psv_pair_sort_name);
    if (code == TOOL_DONE) code = tool_check_method(finds, "--broad-phase", job->broad_phase, psv_broad_phase_name);
    if (code == TOOL_DONE) code = job->restore != NULL ? restore_world(job) : load_scene(job);
    if (code == TOOL_DONE && job->pairs_on != NULL)
        code = tool_fail_status(job->context, psv_world_find_pairs_on(job->world, job->pairs_on));
    if (code == TOOL_DONE && job->check_sampled)
        code = tool_fail_status(job->context, psv_check_world_pairs(job->world, SAMPLED_SHARE));
    if (code != TOOL_DONE) return code;
    if (job->has_seconds) {
        double frames = ceil(job->seconds / (double)run_frame_seconds(job) - 1e-6);
        if (frames > MOST_FRAMES)
            return tool_fail(TOOL_REFUSED, "--seconds %g are %g frames; at most %d are accepted", job->seconds, frames,
                             MOST_FRAMES);
        job->frames = frames < 1 ? 1 : (uint64_t)frames;
    }
    job->samples = calloc(job->frames, sizeof *job->samples);
    if (job->samples == NULL)
        return tool_fail(TOOL_REFUSED, "no memory for the times of %llu frames", (unsigned long long)job->frames);
    return tool_fail_status(job->context, psv_enable_profile(job->context, true));
}

static bool is_scene_file(const char *name) {
    const size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

static int check_files(run_job *job) {
    const tool_file files[] = {
        {.option = "the scene", .path = is_scene_file(job->scene_name) ? job->scene_name : NULL, .is_input = true},
        {.option = "the snapshot", .path = job->restore, .is_input = true, .needs_name = true},
        {.option = "--csv", .path = job->csv},
        {.option = "--trace", .path = job->trace},
        {.option = "--save", .path = job->save, .needs_name = true},
        {.option = "--record", .path = job->record},
    };
    const uint32_t count = sizeof files / sizeof *files;
    job->table_aside = tool_uses_stdout(files, count);
    if (job->table_aside && job->json)
        return tool_fail(TOOL_REFUSED, "--json prints to standard output, where nothing else can go");
    return tool_check_files(files, count);
}

// What is asked for as files, and the table.
static int give_results(run_job *job) {
    int code = job->csv != NULL ? run_write_csv(job, job->csv) : TOOL_DONE;
    if (code == TOOL_DONE && job->trace != NULL) code = run_write_trace(job, job->trace);
    if (code == TOOL_DONE && job->save != NULL) {
        psv_status status = psv_save_snapshot(job->world, job->save);
        code = tool_fail_status(job->context, status);
        if (status == PSV_ERROR_FILE) code = TOOL_FAILED; // it could be opened before the run
    }
    return code == TOOL_DONE ? run_print_result(job) : code;
}

static int run_job_of(run_job *job) {
    int code = check_files(job);
    if (code == TOOL_DONE) code = tool_prepare_exports(&job->exports);
    if (code == TOOL_DONE) code = prepare(job);
    if (code == TOOL_DONE && run_wants_record(job)) code = run_begin_record(job);
    if (code == TOOL_DONE) code = run_frames(job);
    if (code == TOOL_DONE && job->recorder != NULL) code = run_end_record(job);
    if (code == TOOL_DONE) code = give_results(job);
    if (code == TOOL_DONE && job->check_failures > 0) code = TOOL_FAILED;
    if (code == TOOL_DONE && job->interrupted != 0) code = TOOL_INTERRUPTED + job->interrupted;
    return code;
}

static void release_job(run_job *job) {
    run_destroy_checker(job->checker);
    run_destroy_recorder(job->recorder);
    if (job->scene != NULL)
        psv_destroy_scene(job->scene);
    else
        psv_destroy_world(job->world);
    psv_destroy_context(job->pairs_on);
    psv_destroy_context(job->context);
    free(job->explanation);
    free(job->samples);
}

static int check_options(const run_job *job, const tool_command *command) {
    if (job->has_frames && job->has_seconds)
        return tool_fail(TOOL_REFUSED, "--frames and --seconds exclude each other");
    if (job->restore != NULL && (command->operand_count > 0 || job->has_bodies || job->has_seed))
        return tool_fail(TOOL_REFUSED, "--restore takes its world from the snapshot: no scene, --bodies or --seed");
    return TOOL_DONE;
}

static const char run_summary_text[] =
    "Steps a scene without a window and shows, per phase of a frame, the median, the 95th percentile and\n"
    "the share of the time; what sorting costs; pairs, bodies and frames per second.";

static const char run_details_text[] =
    "SCENE is a name of 'pairsieve list' or a path to a scene file; drop without it. Ctrl-C ends the run\n"
    "after its frame: the table and the files are of the frames so far, the exit code is 130. With\n"
    "--backend gl or vulkan the CPU steps the bodies and that API finds the pairs; auto, without CUDA,\n"
    "measures whether OpenGL is faster, in scenes of 65,536 bodies and more, unless the driver runs on the\n"
    "processor itself.";

int command_run(int argc, char **argv) {
    run_job job = {.device = {.backend = "auto"}, .scene_name = "drop", .frames = DEFAULT_FRAMES, .check_every = 10};
    const tool_option options[] = {
        {.name = "--bodies",
         .argument = "N",
         .help = "scale the scene to N bodies; 20K and 1M are understood",
         .kind = OPTION_COUNT,
         .target = &job.bodies,
         .least = 1,
         .most = UINT32_MAX,
         .given = &job.has_bodies},
        {.name = "--frames",
         .argument = "N",
         .help = "frames to run, 300 without it",
         .kind = OPTION_COUNT,
         .target = &job.frames,
         .least = 1,
         .most = MOST_FRAMES,
         .given = &job.has_frames},
        {.name = "--seconds",
         .argument = "S",
         .help = "instead of --frames: seconds of the scene's own time",
         .kind = OPTION_POSITIVE,
         .target = &job.seconds,
         .given = &job.has_seconds},
        TOOL_DEVICE_OPTIONS(job.device),
        {.name = "--sort",
         .argument = "NAME",
         .help = "sorting method, see 'pairsieve list'",
         .kind = OPTION_TEXT,
         .target = &job.sort},
        {.name = "--broad-phase",
         .argument = "NAME",
         .help = "method that finds the pairs, see 'pairsieve list'",
         .kind = OPTION_TEXT,
         .target = &job.broad_phase},
        {.name = "--seed",
         .argument = "N",
         .help = "of the scene's random numbers; as the scene says without it",
         .kind = OPTION_COUNT,
         .target = &job.seed,
         .most = INT64_MAX,
         .given = &job.has_seed},
        RUN_CHECK_OPTIONS(job, MOST_FRAMES),
        {.name = "--csv",
         .argument = "FILE",
         .help = "write a line per frame: counts and time of each phase; - is standard output",
         .kind = OPTION_TEXT,
         .target = &job.csv},
        {.name = "--trace",
         .argument = "FILE",
         .help = "write a Chrome trace (about:tracing, ui.perfetto.dev); - is standard output",
         .kind = OPTION_TEXT,
         .target = &job.trace},
        {.name = "--record",
         .argument = "FILE",
         .help = "write a replay, for 'pairsieve replay' and 'pairsieve-view --replay'; - is standard output",
         .kind = OPTION_TEXT,
         .target = &job.record},
        TOOL_EXPORT_OPTIONS(job.exports),
        {.name = "--save",
         .argument = "FILE",
         .help = "write a snapshot of the world after the last frame",
         .kind = OPTION_TEXT,
         .target = &job.save},
        {.name = "--restore",
         .argument = "FILE",
         .help = "start from a snapshot instead of a scene",
         .kind = OPTION_TEXT,
         .target = &job.restore},
        {.name = "--explain",
         .help = "say how the last frame's pairs were found: method, route and why, plan, memory, the next frame",
         .kind = OPTION_FLAG,
         .target = &job.explain},
        {.name = "--json", .help = "print one JSON object and nothing else", .kind = OPTION_FLAG, .target = &job.json},
    };
    tool_command command = {
        .name = "run",
        .usage = "[SCENE] [OPTION]...",
        .summary = run_summary_text,
        .details = run_details_text,
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = &job.scene_name,
        .operand_room = 1,
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    code = check_options(&job, &command);
    if (code == TOOL_DONE) code = run_job_of(&job);
    release_job(&job);
    return code;
}
