// `pairsieve run --record`: every frame of the run goes to a replay file.
#include <stdlib.h>

#include "replay.h"
#include "run_job.h"

struct run_recorder {
    tool_output output;
    replay_writer *writer;
    bool is_open;
    char path[PATH_MAX];
};

bool run_wants_record(const run_job *job) { return job->record != NULL || tool_wants_exports(&job->exports); }

// Without --record the replay lies beside the page, or, until the end, beside the glTF file.
static int name_replay(const run_job *job, char path[PATH_MAX]) {
    const replay_exports *exports = &job->exports;
    int length = 0;
    if (job->record != NULL)
        length = snprintf(path, PATH_MAX, "%s", job->record);
    else if (exports->web != NULL)
        length = snprintf(path, PATH_MAX, "%s/run.replay", exports->web);
    else
        length = snprintf(path, PATH_MAX, "%s.replay", exports->gltf);
    return length < PATH_MAX ? TOOL_DONE : tool_fail(TOOL_REFUSED, "the name of the replay is too long");
}

static void fill_head(const run_job *job, replay_head *head) {
    const char *name = job->scene != NULL ? psv_scene_name(job->scene) : job->restore;
    (void)snprintf(head->scene, sizeof head->scene, "%s", name);
    head->frame_seconds = run_frame_seconds(job);
    if (job->scene != NULL) psv_scene_view(job->scene, head->eye, head->target);
}

static int add_frame(run_job *job, float seconds, const run_sample *sample) {
    replay_error error;
    const psv_profile *profile = sample != NULL ? &sample->profile : NULL;
    const psv_world_counters *counters = sample != NULL ? &job->counters : NULL;
    if (replay_add_frame(job->recorder->writer, job->world, seconds, profile, counters, &error)) return TOOL_DONE;
    return tool_fail(TOOL_FAILED, "%s", error.text);
}

int run_begin_record(run_job *job) {
    replay_error error;
    replay_head head = {.frame_seconds = 0};
    run_recorder *recorder = job->recorder = calloc(1, sizeof *job->recorder);
    if (recorder == NULL) return tool_fail(TOOL_REFUSED, "no memory for a replay");
    int code = name_replay(job, recorder->path);
    if (code == TOOL_DONE) code = tool_open_output(&recorder->output, recorder->path);
    if (code != TOOL_DONE) return code;
    recorder->is_open = true;
    fill_head(job, &head);
    recorder->writer = replay_begin(recorder->output.stream, &head, &error);
    if (recorder->writer == NULL) return tool_fail(TOOL_FAILED, "%s", error.text);
    return add_frame(job, 0.0f, NULL);
}

int run_record_frame(run_job *job, const run_sample *sample) { return add_frame(job, run_frame_seconds(job), sample); }

int run_end_record(run_job *job) {
    replay_error error;
    if (!replay_end(job->recorder->writer, &error)) return tool_fail(TOOL_FAILED, "%s", error.text);
    job->recorder->is_open = false;
    int code = tool_close_output(&job->recorder->output, true);
    if (code != TOOL_DONE || !tool_wants_exports(&job->exports)) return code;
    code = tool_export_replay(&job->exports, job->recorder->path);
    if (job->record == NULL && job->exports.web == NULL) (void)remove(job->recorder->path);
    return code;
}

void run_destroy_recorder(run_recorder *recorder) {
    if (recorder == NULL) return;
    if (recorder->is_open) (void)tool_close_output(&recorder->output, false);
    replay_destroy_writer(recorder->writer);
    free(recorder);
}
