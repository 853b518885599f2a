#include "replayed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool say(view_message *message, const replay_error *error) {
    view_say(message, "%s", error->text);
    return false;
}

// --- the world ------------------------------------------------------------------------------------------------------

// Colours are of bodies in a replay, and of shapes in a world, which a replay is recorded from: a shape's is that of
// its first body.
static psv_status create_shapes(psv_world *world, const replay_reader *reader) {
    const uint32_t shapes = replay_shape_count(reader);
    uint32_t *colours = calloc((size_t)shapes + 1, sizeof *colours), number;
    if (colours == NULL) return PSV_ERROR_MEMORY;
    for (uint32_t i = replay_body_count(reader); i > 0; --i) {
        const replay_body *body = replay_get_body(reader, i - 1);
        colours[body->shape] = body->colour >> 24 != 0 ? body->colour : 0;
    }
    psv_status status = PSV_OK;
    for (uint32_t i = 0; i < shapes && status == PSV_OK; ++i) {
        psv_shape_def def = *replay_get_shape(reader, i);
        def.colour = colours[i];
        status = psv_create_shape(world, &def, &number);
    }
    free(colours);
    return status;
}

static psv_status create_world(psv_context *context, const replay_reader *reader, psv_world **world) {
    psv_world_def def = psv_default_world_def();
    const uint32_t slots = replay_slot_count(reader), shapes = replay_shape_count(reader);
    def.max_bodies = slots > 0 ? slots : 1;
    def.max_shapes = shapes > 0 ? shapes : 1;
    def.max_pairs = def.max_contacts = 16; // nothing is ever stepped
    memcpy(def.gravity, replay_get_frame(reader, replay_frame_count(reader) - 1)->gravity, sizeof def.gravity);
    psv_status status = psv_create_world(context, &def, world);
    return status == PSV_OK ? create_shapes(*world, reader) : status;
}

// A body in every slot: the first that the replay has there.
static psv_status create_bodies(psv_world *world, const replay_reader *reader) {
    const uint32_t slots = replay_slot_count(reader);
    psv_body_def *defs = calloc((size_t)slots + 1, sizeof *defs);
    if (defs == NULL) return PSV_ERROR_MEMORY;
    for (uint32_t slot = 0; slot < slots; ++slot) {
        defs[slot] = psv_default_body_def();
        defs[slot].is_static = true;
    }
    for (uint32_t i = replay_body_count(reader); i > 0; --i) {
        const replay_body *body = replay_get_body(reader, i - 1);
        defs[body->slot].shape = body->shape;
        memcpy(defs[body->slot].pose.position, body->position, sizeof body->position);
        memcpy(defs[body->slot].pose.rotation, body->rotation, sizeof body->rotation);
    }
    const psv_status status = slots > 0 ? psv_create_bodies(world, defs, slots, NULL) : PSV_OK;
    free(defs);
    return status;
}

static bool make_arrays(view_replayed *replayed) {
    const size_t slots = (size_t)replay_slot_count(replayed->reader) + 1;
    replayed->positions = calloc(slots, sizeof *replayed->positions);
    replayed->rotations = calloc(slots, sizeof *replayed->rotations);
    replayed->velocities = calloc(slots, sizeof *replayed->velocities);
    replayed->shapes = calloc(slots, sizeof *replayed->shapes);
    return replayed->positions != NULL && replayed->rotations != NULL && replayed->velocities != NULL &&
           replayed->shapes != NULL;
}

bool view_open_replay(view_replayed *replayed, psv_context *context, const char *path, uint64_t frame,
                      view_message *message) {
    replay_error error = {""};
    *replayed = (view_replayed){.reader = replay_open(path, false, &error), .holds = true};
    if (replayed->reader == NULL) return say(message, &error);
    const uint32_t frames = replay_frame_count(replayed->reader);
    bool good = frame < frames && make_arrays(replayed);
    if (frame >= frames)
        view_say(message, "the replay '%s' has frames 0 to %u, not %llu", path, frames - 1, (unsigned long long)frame);
    else if (!good)
        view_say(message, "no memory for the bodies of the replay '%s'", path);
    replayed->wanted = (uint32_t)frame;
    if (good && (create_world(context, replayed->reader, &replayed->world) != PSV_OK ||
                 create_bodies(replayed->world, replayed->reader) != PSV_OK)) {
        view_say(message, "the replay '%s' cannot be shown: %s", path, psv_last_error(context));
        good = false;
    }
    good = good && view_show_frame(replayed, replayed->wanted, message);
    if (!good) view_close_replay(replayed);
    return good;
}

void view_close_replay(view_replayed *replayed) {
    psv_destroy_world(replayed->world);
    replay_close(replayed->reader);
    free(replayed->positions);
    free(replayed->rotations);
    free(replayed->velocities);
    free(replayed->shapes);
    memset(replayed, 0, sizeof *replayed);
}

// --- frames ---------------------------------------------------------------------------------------------------------

// Slots without a body keep a radius of 0.
static void fill_arrays(view_replayed *replayed) {
    const replay_reader *reader = replayed->reader;
    memset(replayed->positions, 0, replay_slot_count(reader) * sizeof *replayed->positions);
    for (uint32_t i = 0; i < replay_body_count(reader); ++i) {
        const replay_body *body = replay_get_body(reader, i);
        const uint32_t slot = body->slot;
        if (!replay_get_pose(reader, i, replayed->positions[slot], replayed->rotations[slot],
                             replayed->velocities[slot]))
            continue;
        replayed->positions[slot][3] = body->radius;
        replayed->velocities[slot][3] = body->inverse_mass;
        replayed->shapes[slot] = body->shape;
    }
}

bool view_show_frame(view_replayed *replayed, uint32_t frame, view_message *message) {
    replay_error error = {""};
    psv_world *world = replayed->world;
    psv_context *context = psv_world_context(world);
    const uint64_t slots = replay_slot_count(replayed->reader);
    if (!replay_seek(replayed->reader, frame, &error)) return say(message, &error);
    fill_arrays(replayed);
    psv_status status = psv_upload(context, psv_world_positions(world), replayed->positions, 16 * slots);
    if (status == PSV_OK) status = psv_upload(context, psv_world_rotations(world), replayed->rotations, 16 * slots);
    if (status == PSV_OK) status = psv_upload(context, psv_world_velocities(world), replayed->velocities, 16 * slots);
    if (status == PSV_OK) status = psv_upload(context, psv_world_shape_indices(world), replayed->shapes, 4 * slots);
    if (status != PSV_OK) view_say(message, "%s", psv_last_error(context));
    return status == PSV_OK;
}

bool view_go_on(view_replayed *replayed, double frames) {
    const uint32_t last = replay_frame_count(replayed->reader) - 1;
    if (replayed->holds) {
        replayed->holds = false;
        return false;
    }
    if (replayed->wanted >= last) return true;
    replayed->owed += frames;
    for (; replayed->owed >= 1 && replayed->wanted < last; replayed->owed -= 1)
        replayed->wanted += 1;
    return false;
}

void view_replayed_counts(const view_replayed *replayed, psv_profile *profile, psv_world_counters *counters) {
    const replay_frame *frame = replay_get_frame(replayed->reader, replay_frame_now(replayed->reader));
    *profile = (psv_profile){.frame = replay_frame_now(replayed->reader), .frame_ms = (double)frame->frame_ms};
    for (int p = 0; p < PSV_PHASE_COUNT; ++p)
        profile->phase_ms[p] = (double)frame->phase_ms[p];
    *counters = (psv_world_counters){
        .frame = profile->frame, .bodies = frame->bodies, .pairs = frame->pairs, .contacts = frame->contacts};
}

// --- --record -------------------------------------------------------------------------------------------------------

bool view_begin_recording(view_recording *recording, const char *path, psv_scene *scene, view_message *message) {
    replay_error error = {""};
    replay_head head = {.frame_seconds = psv_scene_frame_seconds(scene)};
    (void)snprintf(head.scene, sizeof head.scene, "%s", psv_scene_name(scene));
    psv_scene_view(scene, head.eye, head.target);
    if (!psvi_open_replaced(&recording->file, path)) {
        view_say(message, "file '%s' cannot be written: %s", path, strerror(errno));
        return false;
    }
    recording->writer = replay_begin(recording->file.stream, &head, &error);
    if (recording->writer != NULL)
        return view_record_frame(recording, psv_scene_world(scene), 0.0f, NULL, NULL, message);
    return say(message, &error);
}

bool view_record_frame(view_recording *recording, psv_world *world, float seconds, const psv_profile *profile,
                       const psv_world_counters *counters, view_message *message) {
    replay_error error = {""};
    if (replay_add_frame(recording->writer, world, seconds, profile, counters, &error)) return true;
    return say(message, &error);
}

bool view_end_recording(view_recording *recording, bool keep, view_message *message) {
    replay_error error = {""};
    if (recording->file.stream == NULL) return true;
    const bool ended = keep && recording->writer != NULL && replay_end(recording->writer, &error);
    bool good = psvi_close_replaced(&recording->file, ended);
    if (!good) view_say(message, "the replay could not be written to its end: %s", strerror(errno));
    if (keep && !ended) good = say(message, &error);
    replay_destroy_writer(recording->writer);
    recording->writer = NULL;
    return good;
}
