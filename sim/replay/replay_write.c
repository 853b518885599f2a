// Writes replay files: finds what changed in a frame, and the tables at the end.
#include "replay_motion.h"
#include "replay_tables.h"
#include "replay_threads.h"

#include <errno.h>
#include <stdlib.h>

#define NO_BODY UINT32_MAX
#define EXPONENTS (REPLAY_MOST_EXPONENT - REPLAY_LEAST_EXPONENT + 1)
#define REST_STEPS 0.125     // a body that moved by less in a frame is taken to rest
#define MOST_KEY_FRAMES 600u // between two key frames
#define LEAST_KEY_FRAMES 60u // likewise
#define KEY_SHARE 4u         // the differences since a key frame are so many times as large as the next one
#define KEY_BODY_BYTES 16u   // of a touched body in a key frame, about
#define LEAST_COSINE 1.0e-4  // of half a turn

// The pose of a body in the frame before, and how it got there.
typedef struct last_pose {
    float position[3], rotation[4];
    float moved[3];
} last_pose;

// Bodies that are coded together, and their bits of the present frame.
typedef struct segment {
    replay_bytes bits;
    uint32_t newly_touched;
} segment;

struct replay_writer {
    FILE *stream;
    uint64_t written;
    replay_head head;
    replay_body *bodies;
    replay_motion *motions;
    last_pose *last;
    uint32_t body_count, body_room, touched;
    uint32_t *body_of; // by slot
    float (*positions)[4], (*rotations)[4], (*velocities)[4];
    uint32_t *shapes; // by slot
    uint64_t slot_room, slots;
    replay_frame *frames;
    uint32_t frame_count, frame_room, last_key;
    uint64_t bytes_since_key;
    double falls[EXPONENTS][3];
    int32_t radius_steps; // as a power of two; 0: not chosen yet
    double turn_step;
    segment *segments;
    uint32_t segment_count, segment_room;
    bool is_key; // the frame that is coded
    replay_bytes bits, shape_bytes;
    uint32_t shape_count;
    uint32_t *colours; // of shapes
};

static bool write_bytes(replay_writer *writer, const void *data, uint64_t count, replay_error *error) {
    if (count > 0 && fwrite(data, 1, count, writer->stream) != count)
        return replay_fail(error, "the replay could not be written: %s", strerror(errno));
    writer->written += count;
    return true;
}

replay_writer *replay_begin(FILE *stream, const replay_head *head, replay_error *error) {
    replay_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        (void)replay_fail(error, "no memory for a replay");
        return NULL;
    }
    writer->stream = stream;
    writer->head = *head;
    replay_put_bytes(&writer->bits, REPLAY_MAGIC, 8);
    replay_put_u32(&writer->bits, REPLAY_VERSION);
    replay_put_u32(&writer->bits, 0);
    if (!writer->bits.failed && write_bytes(writer, writer->bits.data, writer->bits.count, error)) return writer;
    if (writer->bits.failed) (void)replay_fail(error, "no memory for a replay");
    replay_destroy_writer(writer);
    return NULL;
}

void replay_destroy_writer(replay_writer *writer) {
    if (writer == NULL) return;
    free(writer->bodies);
    free(writer->motions);
    free(writer->last);
    free(writer->body_of);
    free(writer->positions);
    free(writer->rotations);
    free(writer->velocities);
    free(writer->shapes);
    free(writer->frames);
    for (uint32_t i = 0; i < writer->segment_room; ++i)
        free(writer->segments[i].bits.data);
    free(writer->segments);
    free(writer->bits.data);
    free(writer->shape_bytes.data);
    free(writer->colours);
    free(writer);
}

// --- bodies that appear and vanish ----------------------------------------------------------------------------------

static bool grow(void **array, uint64_t room, size_t size) {
    void *larger = realloc(*array, room * size);
    if (larger != NULL) *array = larger;
    return larger != NULL;
}

static bool reserve_slots(replay_writer *writer, uint64_t slots) {
    if (slots <= writer->slot_room) return true;
    const uint64_t room = slots + slots / 4 + 64;
    bool good = grow((void **)&writer->positions, room, sizeof *writer->positions);
    good = good && grow((void **)&writer->rotations, room, sizeof *writer->rotations);
    good = good && grow((void **)&writer->velocities, room, sizeof *writer->velocities);
    good = good && grow((void **)&writer->shapes, room, sizeof *writer->shapes);
    good = good && grow((void **)&writer->body_of, room, sizeof *writer->body_of);
    if (!good) return false;
    for (uint64_t slot = writer->slot_room; slot < room; ++slot)
        writer->body_of[slot] = NO_BODY;
    writer->slot_room = room;
    return true;
}

static bool reserve_bodies(replay_writer *writer, uint64_t count) {
    if (count <= writer->body_room) return true;
    const uint64_t room = count + count / 4 + 64;
    if (room >= UINT32_MAX) return false;
    bool good = grow((void **)&writer->bodies, room, sizeof *writer->bodies);
    good = good && grow((void **)&writer->motions, room, sizeof *writer->motions);
    good = good && grow((void **)&writer->last, room, sizeof *writer->last);
    if (good) writer->body_room = (uint32_t)room;
    return good;
}

static int32_t exponent_of(float radius, int32_t radius_steps) {
    int exponent = 0;
    (void)frexpf(radius, &exponent);
    if (!isfinite(radius)) return REPLAY_MOST_EXPONENT;
    exponent -= 1 + radius_steps;
    return exponent < REPLAY_LEAST_EXPONENT  ? REPLAY_LEAST_EXPONENT
           : exponent > REPLAY_MOST_EXPONENT ? REPLAY_MOST_EXPONENT
                                             : exponent;
}

static bool is_there(const float position[4]) { return !(position[3] == 0.0f); }

static void add_body(replay_writer *writer, uint32_t slot) {
    const uint32_t number = writer->body_count++;
    const float *position = writer->positions[slot];
    replay_body *body = &writer->bodies[number];
    *body = (replay_body){.slot = slot,
                          .shape = writer->shapes[slot],
                          .first_frame = writer->frame_count,
                          .end_frame = REPLAY_STILL,
                          .colour = writer->colours[writer->shapes[slot]],
                          .exponent = exponent_of(position[3], writer->radius_steps),
                          .inverse_mass = writer->velocities[slot][3],
                          .radius = position[3]};
    memcpy(body->position, position, sizeof body->position);
    memcpy(body->rotation, writer->rotations[slot], sizeof body->rotation);
    writer->motions[number] = replay_start(body);
    writer->last[number] = (last_pose){0};
    memcpy(writer->last[number].position, body->position, sizeof body->position);
    memcpy(writer->last[number].rotation, body->rotation, sizeof body->rotation);
    writer->body_of[slot] = number;
}

// Ends the bodies that are gone. How many slots have a body that is new.
static uint64_t end_bodies(replay_writer *writer) {
    uint64_t appear = 0;
    for (uint64_t slot = 0; slot < writer->slots; ++slot) {
        const bool there = is_there(writer->positions[slot]);
        uint32_t *number = &writer->body_of[slot];
        if (*number != NO_BODY) {
            replay_body *body = &writer->bodies[*number];
            if (there && body->shape == writer->shapes[slot] && body->radius == writer->positions[slot][3]) continue;
            body->end_frame = writer->frame_count;
            writer->touched -= writer->motions[*number].touched;
            *number = NO_BODY;
        }
        appear += there;
    }
    return appear;
}

static void choose_steps(replay_writer *writer, uint64_t bodies) {
    writer->radius_steps = REPLAY_FINE_STEPS;
    for (; bodies > REPLAY_FINE_BODIES && writer->radius_steps > REPLAY_COARSE_STEPS; bodies = (bodies + 1) / 2)
        writer->radius_steps -= 1;
    writer->turn_step = replay_step(-writer->radius_steps - 1);
}

static bool read_arrays(replay_writer *writer, psv_world *world, replay_error *error) {
    psv_context *context = psv_world_context(world);
    const uint64_t slots = psv_world_slot_count(world);
    writer->slots = slots;
    if (!reserve_slots(writer, slots))
        return replay_fail(error, "no memory for a replay of %llu bodies", (unsigned long long)slots);
    psv_status status = psv_download(context, writer->positions, psv_world_positions(world), 16 * slots);
    if (status == PSV_OK) status = psv_download(context, writer->rotations, psv_world_rotations(world), 16 * slots);
    if (status == PSV_OK) status = psv_download(context, writer->shapes, psv_world_shape_indices(world), 4 * slots);
    if (status != PSV_OK) return replay_fail(error, "%s", psv_last_error(context));
    const uint64_t appear = end_bodies(writer);
    if (writer->radius_steps == 0) choose_steps(writer, appear);
    if (appear == 0) return true;
    if (!reserve_bodies(writer, writer->body_count + appear))
        return replay_fail(error, "no memory for a replay of %llu bodies",
                           (unsigned long long)(writer->body_count + appear));
    status = psv_download(context, writer->velocities, psv_world_velocities(world), 16 * slots);
    if (status != PSV_OK) return replay_fail(error, "%s", psv_last_error(context));
    for (uint64_t slot = 0; slot < slots; ++slot)
        if (writer->body_of[slot] == NO_BODY && is_there(writer->positions[slot])) add_body(writer, (uint32_t)slot);
    return true;
}

// --- what changed ---------------------------------------------------------------------------------------------------

// tan(half the angle) x axis of the turn that leads from `from` to `to`.
static void turn_between(const double from[4], const float to[4], double turn[3]) {
    const double x = -from[0], y = -from[1], z = -from[2], w = from[3];
    const double a = (double)to[0], b = (double)to[1], c = (double)to[2], d = (double)to[3];
    double cosine = d * w - a * x - b * y - c * z;
    const double sign = cosine < 0 ? -1 : 1;
    cosine = fmax(fabs(cosine), LEAST_COSINE);
    turn[0] = sign * (d * x + a * w + b * z - c * y) / cosine;
    turn[1] = sign * (d * y + b * w + c * x - a * z) / cosine;
    turn[2] = sign * (d * z + c * w + a * y - b * x) / cosine;
}

static double square(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

static bool exceeds(const double v[3], double limit) {
    return !(fabs(v[0]) <= limit && fabs(v[1]) <= limit && fabs(v[2]) <= limit);
}

// Whether velocity + change is nearer to the true one than velocity + change / frames.
static bool is_sudden(const double velocity[3], const double change[3], double frames, const double truth[3]) {
    double at_once[3], shared[3];
    for (int i = 0; i < 3; ++i) {
        at_once[i] = velocity[i] + change[i] - truth[i];
        shared[i] = velocity[i] + change[i] / frames - truth[i];
    }
    return square(at_once) < square(shared);
}

typedef struct truth {
    double moved[3], turned[3]; // in the last frame, in steps
    double gained[3];           // velocity
} truth;

static truth find_truth(const replay_writer *writer, uint32_t number, const float position[4],
                        const float rotation[4]) {
    const last_pose *last = &writer->last[number];
    const double steps = replay_step(-writer->bodies[number].exponent);
    truth found;
    double before[4];
    for (int i = 0; i < 3; ++i) {
        found.moved[i] = ((double)position[i] - (double)last->position[i]) * steps;
        found.gained[i] = found.moved[i] - (double)last->moved[i] * steps;
    }
    for (int i = 0; i < 4; ++i)
        before[i] = (double)last->rotation[i];
    turn_between(before, rotation, found.turned);
    return found;
}

// Gravity acts where the velocity gained what gravity gives; in between what was taken to be stays.
static bool seems_to_fall(bool falls, const double gained[3], const double fall[3]) {
    double rest[3];
    for (int i = 0; i < 3; ++i)
        rest[i] = gained[i] - fall[i];
    const double share = square(rest) / square(fall);
    return share < 0.0625 || (falls && share < 0.5625);
}

static int64_t to_steps(double value) {
    const double most = 4503599627370496.0; // 2^52: folded, it has REPLAY_FULL_BITS
    return (int64_t)round(value > most - 1 ? most - 1 : value < 1 - most ? 1 - most : value);
}

// What the prediction lacks; false: nothing, within the slack.
static bool find_change(const replay_writer *writer, uint32_t number, const float position[4], const float rotation[4],
                        replay_change *change) {
    const replay_motion *motion = &writer->motions[number];
    const replay_body *body = &writer->bodies[number];
    const double steps = replay_step(-body->exponent); // of a metre
    double shift[3], turn[3];
    for (int i = 0; i < 3; ++i)
        shift[i] = ((double)position[i] - (double)body->position[i]) * steps - motion->position[i];
    turn_between(motion->rotation, rotation, turn);
    for (int i = 0; i < 3; ++i)
        turn[i] *= 1 / writer->turn_step;
    *change = (replay_change){.has_shift = exceeds(shift, REPLAY_SLACK), .has_turn = exceeds(turn, REPLAY_SLACK)};
    if (!change->has_shift && !change->has_turn) return false;
    const truth found = find_truth(writer, number, position, rotation);
    const double *fall = writer->falls[body->exponent - REPLAY_LEAST_EXPONENT];
    double turned[3];
    for (int i = 0; i < 3; ++i) {
        change->shift[i] = to_steps(shift[i]);
        change->turn[i] = to_steps(turn[i]);
        turned[i] = turn[i] * writer->turn_step;
    }
    change->stop = !exceeds(found.moved, REST_STEPS) && !exceeds(found.turned, REST_STEPS * writer->turn_step);
    if (change->stop) return true;
    if (motion->moves && motion->frames > 1)
        change->new_speed = is_sudden(motion->velocity, shift, (double)motion->frames, found.moved);
    if (motion->moves && motion->turn_frames > 1)
        change->new_spin = is_sudden(motion->spin, turned, (double)motion->turn_frames, found.turned);
    if (square(fall) > 0) change->swap_fall = seems_to_fall(motion->falls, found.gained, fall) != motion->falls;
    return true;
}

// --- changes as bits ------------------------------------------------------------------------------------------------

typedef struct coder {
    replay_bit_writer bits;
    replay_column columns[REPLAY_COLUMNS];
} coder;

static void put_three(coder *to, uint32_t column, const int64_t values[3]) {
    for (uint32_t i = 0; i < 3; ++i)
        replay_put_number(&to->bits, &to->columns[column + i], replay_fold(values[i]));
}

static void put_change(coder *to, const replay_change *change) {
    replay_put_bits(&to->bits,
                    (uint32_t)change->has_shift | (uint32_t)change->has_turn << 1 | (uint32_t)change->swap_fall << 2 |
                        (uint32_t)change->stop << 3,
                    4);
    if (change->has_shift) {
        replay_put_bits(&to->bits, change->new_speed, 1);
        put_three(to, REPLAY_SHIFT, change->shift);
    }
    if (change->has_turn) {
        replay_put_bits(&to->bits, change->new_spin, 1);
        put_three(to, REPLAY_TURN, change->turn);
    }
}

static replay_state state_of(const replay_motion *motion, double turn_step) {
    replay_state state = {.moves = motion->moves, .falls = motion->falls};
    for (uint32_t i = 1; i < 4; ++i)
        if (fabs(motion->rotation[i]) > fabs(motion->rotation[state.largest])) state.largest = i;
    const double scale = motion->rotation[state.largest] < 0 ? -REPLAY_ROTATION_SCALE : REPLAY_ROTATION_SCALE;
    for (uint32_t i = 0, other = 0; i < 4; ++i)
        if (i != state.largest)
            state.others[other++] =
                (uint32_t)(round(motion->rotation[i] * scale) + (double)(1u << (REPLAY_ROTATION_BITS - 1)));
    for (int i = 0; i < 3; ++i) {
        state.place[i] = to_steps(motion->position[i]);
        state.speed[i] = to_steps(motion->velocity[i] * REPLAY_FINER);
        state.spin[i] = to_steps(motion->spin[i] / turn_step * REPLAY_FINER);
    }
    return state;
}

static void put_state(coder *to, const replay_state *state) {
    replay_put_bits(&to->bits, (uint32_t)state->moves | (uint32_t)state->falls << 1, 2);
    put_three(to, REPLAY_PLACE, state->place);
    replay_put_bits(&to->bits, state->largest, 2);
    for (int i = 0; i < 3; ++i)
        replay_put_bits(&to->bits, state->others[i], REPLAY_ROTATION_BITS);
    if (!state->moves) return;
    put_three(to, REPLAY_SPEED, state->speed);
    put_three(to, REPLAY_SPIN, state->spin);
}

// --- frames ---------------------------------------------------------------------------------------------------------

static void remember(replay_writer *writer, uint32_t number, const float position[4], const float rotation[4]) {
    last_pose *last = &writer->last[number];
    for (int i = 0; i < 3; ++i) {
        last->moved[i] = position[i] - last->position[i];
        last->position[i] = position[i];
    }
    memcpy(last->rotation, rotation, sizeof last->rotation);
}

static bool is_as_before(const last_pose *last, const float position[4], const float rotation[4]) {
    return memcmp(last->position, position, sizeof last->position) == 0 &&
           memcmp(last->rotation, rotation, sizeof last->rotation) == 0;
}

// One body of a frame; *gap: bodies since the last one that was written.
static void code_body(replay_writer *writer, coder *to, uint32_t number, uint32_t *gap, uint32_t *newly_touched) {
    const replay_body *body = &writer->bodies[number];
    replay_motion *motion = &writer->motions[number];
    const float *position = writer->positions[body->slot], *rotation = writer->rotations[body->slot];
    replay_change change;
    *gap += 1;
    if (body->end_frame != REPLAY_STILL || body->first_frame == writer->frame_count) return;
    if (!motion->touched && is_as_before(&writer->last[number], position, rotation)) return;
    replay_predict(motion, writer->falls[body->exponent - REPLAY_LEAST_EXPONENT]);
    const bool differs = find_change(writer, number, position, rotation, &change);
    remember(writer, number, position, rotation);
    *newly_touched += differs && !motion->touched;
    if (differs) replay_apply(motion, &change, writer->turn_step);
    if (writer->is_key ? !motion->touched : !differs) return;
    replay_put_number(&to->bits, &to->columns[REPLAY_GAP], *gap - 1);
    *gap = 0;
    if (writer->is_key) {
        const replay_state state = state_of(motion, writer->turn_step);
        put_state(to, &state);
        replay_take_state(motion, &state, writer->turn_step);
    } else {
        put_change(to, &change);
    }
}

static bool wants_key(const replay_writer *writer) {
    const uint32_t frames = writer->frame_count - writer->last_key;
    if (writer->frame_count == 0 || frames >= MOST_KEY_FRAMES) return true;
    return frames >= LEAST_KEY_FRAMES &&
           writer->bytes_since_key > (uint64_t)KEY_SHARE * KEY_BODY_BYTES * writer->touched;
}

static replay_frame make_frame(const replay_writer *writer, psv_world *world, float seconds, const psv_profile *profile,
                               const psv_world_counters *counters) {
    replay_frame frame = {.seconds = seconds, .is_key = wants_key(writer), .bodies = psv_world_body_count(world)};
    psv_world_def def;
    if (psv_get_world_def(world, &def) == PSV_OK) memcpy(frame.gravity, def.gravity, sizeof frame.gravity);
    if (counters != NULL) {
        frame.bodies = counters->bodies;
        frame.pairs = counters->pairs;
        frame.contacts = counters->contacts;
    }
    if (profile != NULL) {
        frame.frame_ms = (float)profile->frame_ms;
        for (int p = 0; p < PSV_PHASE_COUNT; ++p)
            frame.phase_ms[p] = (float)profile->phase_ms[p];
    }
    return frame;
}

static void code_segment(void *data, uint32_t number) {
    replay_writer *writer = data;
    segment *part = &writer->segments[number];
    const uint64_t first = (uint64_t)number * REPLAY_SEGMENT, all = writer->body_count;
    const uint64_t end = first + REPLAY_SEGMENT < all ? first + REPLAY_SEGMENT : all;
    coder to = {.bits = {.bytes = &part->bits}};
    uint32_t gap = 0;
    part->bits.count = part->newly_touched = 0;
    for (uint64_t i = first; i < end; ++i)
        code_body(writer, &to, (uint32_t)i, &gap, &part->newly_touched);
    if (part->bits.count + to.bits.count == 0) return;         // nothing changed, and no bytes say so
    replay_put_number(&to.bits, &to.columns[REPLAY_GAP], gap); // leads past the last body
    replay_flush_bits(&to.bits);
}

static bool reserve_segments(replay_writer *writer) {
    writer->segment_count = (uint32_t)(((uint64_t)writer->body_count + REPLAY_SEGMENT - 1) / REPLAY_SEGMENT);
    if (writer->segment_count <= writer->segment_room) return true;
    const uint32_t room = 2 * writer->segment_count;
    if (!grow((void **)&writer->segments, room, sizeof *writer->segments)) return false;
    memset(writer->segments + writer->segment_room, 0, (room - writer->segment_room) * sizeof *writer->segments);
    writer->segment_room = room;
    return true;
}

// The lengths of the segments, and the segments; nothing where all are empty.
static bool join_segments(replay_writer *writer) {
    uint64_t bytes = 0;
    bool good = true;
    writer->bits.count = 0;
    for (uint32_t i = 0; i < writer->segment_count; ++i) {
        good = good && !writer->segments[i].bits.failed;
        bytes += writer->segments[i].bits.count;
        writer->touched += writer->segments[i].newly_touched;
    }
    for (uint32_t i = 0; bytes > 0 && i < writer->segment_count; ++i)
        replay_put_u32(&writer->bits, (uint32_t)writer->segments[i].bits.count);
    for (uint32_t i = 0; bytes > 0 && i < writer->segment_count; ++i)
        replay_put_bytes(&writer->bits, writer->segments[i].bits.data, writer->segments[i].bits.count);
    return good && !writer->bits.failed && writer->bits.count <= UINT32_MAX;
}

static bool code_frame(replay_writer *writer, replay_frame *frame) {
    for (int32_t e = 0; e < EXPONENTS; ++e)
        replay_fall(frame, e + REPLAY_LEAST_EXPONENT, writer->falls[e]);
    if (!reserve_segments(writer)) return false;
    writer->is_key = frame->is_key;
    replay_run_parts(code_segment, writer, writer->segment_count);
    if (!join_segments(writer)) return false;
    frame->offset = writer->written;
    frame->bytes = (uint32_t)writer->bits.count;
    frame->sum = replay_sum(writer->bits.data, writer->bits.count);
    return true;
}

// Shapes may be made between frames; the table has those of the last frame.
static void put_shape(replay_bytes *bytes, const psv_shape_def *def) {
    const uint64_t heights = def->type == PSV_SHAPE_HEIGHT_FIELD ? (uint64_t)def->columns * def->rows : 0;
    const bool has_mesh = def->type == PSV_SHAPE_MESH || def->type == PSV_SHAPE_HULL;
    const uint32_t vertices = has_mesh ? def->vertex_count : 0, triangles = has_mesh ? def->triangle_count : 0;
    const uint32_t children = def->type == PSV_SHAPE_COMPOUND ? def->child_count : 0;
    replay_put_u32(bytes, (uint32_t)def->type);
    replay_put_floats(bytes, def->size, 3);
    replay_put_floats(bytes, (const float[]){def->density, def->friction, def->restitution}, 3);
    replay_put_u32(bytes, children);
    for (uint32_t i = 0; i < children; ++i) {
        replay_put_u32(bytes, (uint32_t)def->children[i].type);
        replay_put_floats(bytes, def->children[i].size, 3);
        replay_put_floats(bytes, def->children[i].pose.position, 3);
        replay_put_floats(bytes, def->children[i].pose.rotation, 4);
    }
    replay_put_u32(bytes, heights > 0 ? def->columns : 0);
    replay_put_u32(bytes, heights > 0 ? def->rows : 0);
    replay_put_floats(bytes, def->heights, heights);
    replay_put_u32(bytes, vertices);
    replay_put_floats(bytes, def->vertices, (uint64_t)3 * vertices);
    replay_put_u32(bytes, triangles);
    for (uint64_t i = 0; i < (uint64_t)3 * triangles; ++i)
        replay_put_u32(bytes, def->indices[i]);
}

static bool read_shapes(replay_writer *writer, psv_world *world, replay_error *error) {
    const uint32_t count = psv_world_shape_count(world);
    if (count == writer->shape_count) return true;
    writer->shape_bytes.count = 0;
    if (!grow((void **)&writer->colours, (uint64_t)count + 1, sizeof *writer->colours))
        return replay_fail(error, "no memory for %u shapes", count);
    for (uint32_t i = 0; i < count; ++i) {
        psv_shape_def def = psv_default_shape_def();
        if (psv_world_shape(world, i, &def) != PSV_OK) return replay_fail(error, "shape %u could not be read", i);
        put_shape(&writer->shape_bytes, &def);
        writer->colours[i] = def.colour;
    }
    writer->shape_count = count;
    return true;
}

bool replay_add_frame(replay_writer *writer, psv_world *world, float seconds, const psv_profile *profile,
                      const psv_world_counters *counters, replay_error *error) {
    if (!read_shapes(writer, world, error) || !read_arrays(writer, world, error)) return false; // bodies have colours
    if (writer->frame_count == writer->frame_room) {
        const uint32_t room = 2 * writer->frame_room + 256;
        if (!grow((void **)&writer->frames, room, sizeof *writer->frames))
            return replay_fail(error, "no memory for a replay");
        writer->frame_room = room;
    }
    replay_frame frame = make_frame(writer, world, seconds, profile, counters);
    if (!code_frame(writer, &frame)) return replay_fail(error, "no memory for a frame of a replay");
    if (!write_bytes(writer, writer->bits.data, writer->bits.count, error)) return false;
    writer->bytes_since_key = frame.is_key ? 0 : writer->bytes_since_key + frame.bytes;
    if (frame.is_key) writer->last_key = writer->frame_count;
    writer->frames[writer->frame_count++] = frame;
    return true;
}

// --- tables ---------------------------------------------------------------------------------------------------------

static void put_body(replay_bytes *bytes, const replay_body *body) {
    replay_put_u32(bytes, body->slot);
    replay_put_u32(bytes, body->shape);
    replay_put_u32(bytes, body->first_frame);
    replay_put_u32(bytes, body->end_frame);
    replay_put_u32(bytes, body->colour);
    replay_put_u32(bytes, (uint32_t)body->exponent);
    replay_put_floats(bytes, &body->inverse_mass, 1);
    replay_put_floats(bytes, body->position, 3);
    replay_put_floats(bytes, &body->radius, 1);
    replay_put_floats(bytes, body->rotation, 4);
}

static void put_frame(replay_bytes *bytes, const replay_frame *frame) {
    replay_put_u64(bytes, frame->offset);
    replay_put_u32(bytes, frame->bytes);
    replay_put_u32(bytes, frame->sum);
    replay_put_u32(bytes, frame->is_key);
    replay_put_floats(bytes, &frame->seconds, 1);
    replay_put_floats(bytes, frame->gravity, 3);
    replay_put_u64(bytes, frame->bodies);
    replay_put_u64(bytes, frame->pairs);
    replay_put_u64(bytes, frame->contacts);
    replay_put_floats(bytes, &frame->frame_ms, 1);
    replay_put_floats(bytes, frame->phase_ms, PSV_PHASE_COUNT);
}

static void put_tables(const replay_writer *writer, replay_bytes *bytes) {
    const replay_head *head = &writer->head;
    replay_put_text(bytes, head->scene);
    replay_put_floats(bytes, &head->frame_seconds, 1);
    replay_put_floats(bytes, head->eye, 3);
    replay_put_floats(bytes, head->target, 3);
    replay_put_u32(bytes, (uint32_t)(-writer->radius_steps - 1));
    replay_put_u32(bytes, PSV_PHASE_COUNT);
    for (int p = 0; p < PSV_PHASE_COUNT; ++p)
        replay_put_text(bytes, psv_phase_name((psv_phase)p));
    replay_put_u32(bytes, writer->shape_count);
    replay_put_bytes(bytes, writer->shape_bytes.data, writer->shape_bytes.count);
    replay_put_u32(bytes, writer->body_count);
    for (uint32_t i = 0; i < writer->body_count; ++i)
        put_body(bytes, &writer->bodies[i]);
    replay_put_u32(bytes, writer->frame_count);
    for (uint32_t i = 0; i < writer->frame_count; ++i)
        put_frame(bytes, &writer->frames[i]);
}

bool replay_end(replay_writer *writer, replay_error *error) {
    replay_bytes *bytes = &writer->bits;
    bytes->count = 0;
    put_tables(writer, bytes);
    const uint64_t offset = writer->written, size = bytes->count;
    replay_put_u64(bytes, offset);
    replay_put_u64(bytes, size);
    replay_put_u32(bytes, replay_sum(bytes->data, size));
    replay_put_u32(bytes, REPLAY_VERSION);
    replay_put_bytes(bytes, REPLAY_MAGIC, 8);
    if (bytes->failed || writer->shape_bytes.failed) return replay_fail(error, "no memory for the tables of a replay");
    return write_bytes(writer, bytes->data, bytes->count, error);
}

double replay_position_bound(int32_t exponent) { return (REPLAY_SLACK + 0.5) * replay_step(exponent); }

double replay_rotation_bound(int32_t turn_exponent) { return 2 * (REPLAY_SLACK + 0.5) * replay_step(turn_exponent); }
