// `pairsieve replay`: what a replay file holds, read from its first frame to its last.
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "replay_exports.h"
#include "tool.h"

typedef struct replay_job {
    const char *path;
    replay_exports exports;
    replay_reader *reader;
    double *times; // of one phase by frame
} replay_job;

static uint32_t count_keys(const replay_reader *reader) {
    uint32_t keys = 0;
    for (uint32_t f = 0; f < replay_frame_count(reader); ++f)
        keys += replay_get_frame(reader, f)->is_key;
    return keys;
}

static uint64_t count_bytes(const replay_reader *reader) {
    uint64_t bytes = 0;
    for (uint32_t f = 0; f < replay_frame_count(reader); ++f)
        bytes += replay_get_frame(reader, f)->bytes;
    return bytes;
}

static double seconds_of(const replay_reader *reader) {
    double seconds = 0;
    for (uint32_t f = 0; f < replay_frame_count(reader); ++f)
        seconds += (double)replay_get_frame(reader, f)->seconds;
    return seconds;
}

// Median and 95th percentile of a phase over the frames that follow a step; PSV_PHASE_COUNT is the frame.
static void print_phase(const replay_job *job, int phase) {
    const uint32_t frames = replay_frame_count(job->reader) - 1;
    double sum = 0, whole = 0;
    for (uint32_t f = 0; f < frames; ++f) {
        const replay_frame *frame = replay_get_frame(job->reader, f + 1);
        job->times[f] = (double)(phase < PSV_PHASE_COUNT ? frame->phase_ms[phase] : frame->frame_ms);
        sum += job->times[f];
        whole += (double)frame->frame_ms;
    }
    if (sum <= 0) return;
    const double median = tool_median(job->times, frames), most = tool_percentile(job->times, frames, 95);
    printf("%-10s %11.3f %11.3f", phase < PSV_PHASE_COUNT ? psv_phase_name((psv_phase)phase) : "frame", median, most);
    if (phase < PSV_PHASE_COUNT) printf(" %7.1f%%", 100 * sum / whole);
    putchar('\n');
}

static void print_replay(const replay_job *job) {
    const replay_reader *reader = job->reader;
    const uint32_t last = replay_frame_count(reader) - 1;
    char bodies[32], bytes[32], pairs[32];
    printf("%s: %u frames, %.2f s, %s bodies in all, %s pairs in the last frame\n", replay_get_head(reader)->scene,
           last + 1, seconds_of(reader), tool_format_count(bodies, replay_body_count(reader)),
           tool_format_count(pairs, replay_get_frame(reader, last)->pairs));
    printf("%s bytes of frames, %u of them key frames\n", tool_format_count(bytes, count_bytes(reader)),
           count_keys(reader));
    if (last == 0) return;
    printf("\n%-10s %11s %11s %8s\n", "phase", "median ms", "p95 ms", "share");
    for (int p = 0; p <= PSV_PHASE_COUNT; ++p)
        print_phase(job, p);
}

static int run_job(replay_job *job) {
    replay_error error;
    const int code = tool_prepare_exports(&job->exports);
    if (code != TOOL_DONE) return code;
    job->reader = replay_open(job->path, false, &error);
    if (job->reader == NULL) return tool_fail(TOOL_REFUSED, "%s", error.text);
    const uint32_t frames = replay_frame_count(job->reader);
    job->times = calloc(frames, sizeof *job->times);
    if (job->times == NULL) return tool_fail(TOOL_REFUSED, "no memory for the times of %u frames", frames);
    for (uint32_t f = 0; f < frames; ++f)
        if (!replay_seek(job->reader, f, &error)) return tool_fail(TOOL_REFUSED, "%s: %s", job->path, error.text);
    print_replay(job);
    return tool_export_replay(&job->exports, job->path);
}

int command_replay(int argc, char **argv) {
    replay_job job = {.path = NULL};
    const tool_option options[] = {TOOL_EXPORT_OPTIONS(job.exports)};
    tool_command command = {
        .name = "replay",
        .usage = "FILE [OPTION]...",
        .summary =
            "Reads a replay that 'pairsieve run --record' wrote, checks every frame, and shows what it holds: frames,\n"
            "bodies, bytes, and the times of the run that was recorded. 'pairsieve-view --replay' shows its pictures.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = &job.path,
        .operand_room = 1,
        .operand_needed = "a file",
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    code = run_job(&job);
    replay_close(job.reader);
    free(job.times);
    return code;
}
