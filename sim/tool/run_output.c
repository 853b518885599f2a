// What `pairsieve run` prints and writes: the table, the JSON object, a line per frame, a trace.
#include <stdlib.h>
#include <string.h>

#include "pairsieve/sort.h"
#include "run_job.h"

// Median, 95th percentile and sum of one phase over all frames; PSV_PHASE_COUNT is the frame itself.
typedef struct phase_summary {
    double median_ms, q1_ms, q3_ms, p95_ms, total_ms;
} phase_summary;

typedef struct run_summary {
    phase_summary phases[PSV_PHASE_COUNT + 1];
    uint64_t pairs_max;
} run_summary;

static const psv_context *pair_context(const run_job *job) {
    return job->pairs_on != NULL ? job->pairs_on : job->context;
}

static double phase_of(const run_sample *sample, int phase) {
    return phase < PSV_PHASE_COUNT ? sample->profile.phase_ms[phase] : sample->profile.frame_ms;
}

static bool summarise(const run_job *job, run_summary *summary) {
    double *values = malloc((job->frames + 1) * sizeof *values);
    if (values == NULL) return false;
    *summary = (run_summary){0};
    for (int phase = 0; phase <= PSV_PHASE_COUNT; ++phase) {
        phase_summary *of_phase = &summary->phases[phase];
        for (uint64_t f = 0; f < job->frames; ++f)
            of_phase->total_ms += values[f] = phase_of(&job->samples[f], phase);
        of_phase->median_ms = tool_median(values, job->frames);
        of_phase->q1_ms = tool_percentile(values, job->frames, 25);
        of_phase->q3_ms = tool_percentile(values, job->frames, 75);
        of_phase->p95_ms = tool_percentile(values, job->frames, 95);
    }
    for (uint64_t f = 0; f < job->frames; ++f)
        if (job->samples[f].pairs > summary->pairs_max) summary->pairs_max = job->samples[f].pairs;
    free(values);
    return true;
}

static double share(const run_summary *summary, int phase) {
    double whole = summary->phases[PSV_PHASE_COUNT].total_ms;
    return whole > 0 ? summary->phases[phase].total_ms / whole : 0;
}

static const char *scene_name(const run_job *job) {
    return job->scene != NULL ? psv_scene_name(job->scene) : job->restore;
}

// Of the time of all frames.
static double sampled_share(const run_job *job) {
    return job->step_seconds > 0 ? 1e-3 * job->sampled.ms / job->step_seconds : 0;
}

static int print_json(const run_job *job, const run_summary *summary) {
    const phase_summary *frame = &summary->phases[PSV_PHASE_COUNT], *sort = &summary->phases[PSV_PHASE_SORT];
    json_t *phases = json_object();
    for (int p = 0; p < PSV_PHASE_COUNT; ++p) {
        const phase_summary *phase = &summary->phases[p];
        if (phase->total_ms <= 0) continue;
        json_object_set_new(phases, psv_phase_name((psv_phase)p),
                            json_pack("{s:f, s:f, s:f}", "median_ms", phase->median_ms, "p95_ms", phase->p95_ms,
                                      "share", share(summary, p)));
    }
    json_t *result =
        json_pack("{s:o, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:{s:f, s:f, s:f, s:f}, s:{s:f, s:f, "
                  "s:f, s:f}, s:f, s:o, s:I, s:I}",
                  "scene", tool_json_text(scene_name(job)), "bodies", (json_int_t)job->counters.bodies, "frames",
                  (json_int_t)job->frames, "backend", psv_backend_name(psv_context_backend(job->context)), "pairs_on",
                  psv_backend_name(psv_context_backend(pair_context(job))), "sort", job->statistics.sort_method,
                  "broad_phase", job->statistics.method, "route", job->statistics.route, "veto", job->statistics.veto,
                  "seed", (json_int_t)job->seed, "pairs_last", (json_int_t)job->counters.pairs, "pairs_max",
                  (json_int_t)summary->pairs_max, "frame_ms", "median", frame->median_ms, "q1", frame->q1_ms, "q3",
                  frame->q3_ms, "p95", frame->p95_ms, "sort_ms", "median", sort->median_ms, "q1", sort->q1_ms, "q3",
                  sort->q3_ms, "p95", sort->p95_ms, "sort_share", share(summary, PSV_PHASE_SORT), "phases", phases,
                  "checked_frames", (json_int_t)job->checked_frames, "check_failures", (json_int_t)job->check_failures);
    const psv_world_check *sampled = &job->sampled;
    if (job->check_sampled)
        json_object_set_new(result, "sampled_check",
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "frames", (json_int_t)sampled->steps, "boxes",
                                      (json_int_t)sampled->boxes, "pairs", (json_int_t)sampled->pairs, "missing",
                                      (json_int_t)sampled->missing, "extra", (json_int_t)sampled->extra, "share",
                                      sampled_share(job)));
    if (job->explanation != NULL) json_object_set_new(result, "explanation", tool_json_text(job->explanation));
    return tool_print_result("run", job->context, result);
}

static bool has_veto(const run_job *job) { return strcmp(job->statistics.veto, "none") != 0; }

static void print_table(FILE *out, const run_job *job, const run_summary *summary) {
    char bodies[32], pairs[32], most[32];
    const phase_summary *frame = &summary->phases[PSV_PHASE_COUNT], *sort = &summary->phases[PSV_PHASE_SORT];
    fprintf(out, "%s: %s bodies, %llu frames%s, seed %llu\n", scene_name(job),
            tool_format_count(bodies, job->counters.bodies), (unsigned long long)job->frames,
            job->interrupted ? " (interrupted)" : "", (unsigned long long)job->seed);
    fprintf(out, "%s (%s), ", psv_backend_name(psv_context_backend(job->context)),
            psv_context_device_name(job->context));
    if (job->pairs_on != NULL)
        fprintf(out, "pairs on %s (%s), ", psv_backend_name(psv_context_backend(job->pairs_on)),
                psv_context_device_name(job->pairs_on));
    fprintf(out, "broad phase %s, sort %s\n", job->statistics.method, job->statistics.sort_method);
    if (strcmp(job->statistics.route, job->statistics.method) != 0)
        fprintf(out, "route %s%s%s\n", job->statistics.route, has_veto(job) ? ", not a faster one: " : "",
                has_veto(job) ? job->statistics.veto : "");
    fprintf(out, "\n%-10s %11s %11s %8s\n", "phase", "median ms", "p95 ms", "share");
    for (int p = 0; p < PSV_PHASE_COUNT; ++p) {
        if (summary->phases[p].total_ms <= 0) continue;
        fprintf(out, "%-10s %11.3f %11.3f %7.1f%%\n", psv_phase_name((psv_phase)p), summary->phases[p].median_ms,
                summary->phases[p].p95_ms, 100 * share(summary, p));
    }
    fprintf(out, "%-10s %11.3f %11.3f\n\n", "frame", frame->median_ms, frame->p95_ms);
    fprintf(out, "sorting costs %.3f ms of a frame (median), %.1f%% of all time\n", sort->median_ms,
            100 * share(summary, PSV_PHASE_SORT));
    fprintf(out, "overlapping pairs: %s in the last frame, %s at most\n", tool_format_count(pairs, job->counters.pairs),
            tool_format_count(most, summary->pairs_max));
    if (job->counters.lost_bodies > 0)
        fprintf(out, "bodies that left the scene's bounds: %s\n", tool_format_count(bodies, job->counters.lost_bodies));
    fprintf(out, "frames per second: %.1f (%.2f s for %llu frames)\n",
            job->step_seconds > 0 ? (double)job->frames / job->step_seconds : 0.0, job->step_seconds,
            (unsigned long long)job->frames);
    if (job->check)
        fprintf(out, "checked against brute force: %llu frames, %llu failures\n",
                (unsigned long long)job->checked_frames, (unsigned long long)job->check_failures);
    if (job->check_sampled)
        fprintf(out,
                "checked by samples: %llu frames, %llu boxes with %llu pairs, %llu missing, %llu too many; %.1f%%\n",
                (unsigned long long)job->sampled.steps, (unsigned long long)job->sampled.boxes,
                (unsigned long long)job->sampled.pairs, (unsigned long long)job->sampled.missing,
                (unsigned long long)job->sampled.extra, 100 * sampled_share(job));
    if (job->explanation != NULL) fprintf(out, "\nthe last frame's pairs\n%s", job->explanation);
}

int run_print_result(const run_job *job) {
    run_summary summary;
    if (!summarise(job, &summary))
        return tool_fail(TOOL_REFUSED, "no memory for %llu frames", (unsigned long long)job->frames);
    if (job->json) return print_json(job, &summary);
    print_table(job->table_aside ? stderr : stdout, job, &summary);
    return TOOL_DONE;
}

int run_write_csv(const run_job *job, const char *path) {
    tool_output output;
    int code = tool_open_output(&output, path);
    if (code != TOOL_DONE) return code;
    FILE *file = output.stream;
    fputs("frame,bodies,pairs,contacts,frame_ms", file);
    for (int p = 0; p < PSV_PHASE_COUNT; ++p)
        fprintf(file, ",%s_ms", psv_phase_name((psv_phase)p));
    fputc('\n', file);
    for (uint64_t f = 0; f < job->frames; ++f) {
        const run_sample *sample = &job->samples[f];
        fprintf(file, "%llu,%llu,%llu,%llu,%.6f", (unsigned long long)(f + 1), (unsigned long long)sample->bodies,
                (unsigned long long)sample->pairs, (unsigned long long)sample->contacts, sample->profile.frame_ms);
        for (int p = 0; p < PSV_PHASE_COUNT; ++p)
            fprintf(file, ",%.6f", sample->profile.phase_ms[p]);
        fputc('\n', file);
    }
    return tool_close_output(&output, true);
}

// Frames follow each other without gaps on one track; their phases, one after the other, on a second.
int run_write_trace(const run_job *job, const char *path) {
    tool_output output;
    int code = tool_open_output(&output, path);
    if (code != TOOL_DONE) return code;
    FILE *file = output.stream;
    double frame_us = 0;
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
          "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": \"pairsieve "
          "run\"}},\n"
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": \"frames\"}},\n"
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"args\": {\"name\": \"phases\"}}",
          file);
    for (uint64_t f = 0; f < job->frames; ++f) {
        const run_sample *sample = &job->samples[f];
        double phase_us = frame_us;
        fprintf(file,
                ",\n{\"name\": \"frame\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": %.3f, \"dur\": %.3f, "
                "\"args\": {\"frame\": %llu, \"pairs\": %llu, \"contacts\": %llu}}",
                frame_us, 1e3 * sample->profile.frame_ms, (unsigned long long)(f + 1),
                (unsigned long long)sample->pairs, (unsigned long long)sample->contacts);
        for (int p = 0; p < PSV_PHASE_COUNT; ++p) {
            double us = 1e3 * sample->profile.phase_ms[p];
            if (us <= 0) continue;
            fprintf(file, ",\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"ts\": %.3f, \"dur\": %.3f}",
                    psv_phase_name((psv_phase)p), phase_us, us);
            phase_us += us;
        }
        frame_us += 1e3 * sample->profile.frame_ms;
    }
    fputs("\n]}\n", file);
    return tool_close_output(&output, true);
}
