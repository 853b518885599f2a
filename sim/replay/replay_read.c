// Reads replay files. Every number of a file is checked before it is used; sizes before memory is taken for them.
#include "replay_motion.h"
#include "replay_tables.h"
#include "replay_threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BODY_BYTES 60u
#define FRAME_BYTES (60u + 4u + 4u * PSV_PHASE_COUNT)

struct replay_reader {
    FILE *file;
    bool trusting;
    replay_head head;
    psv_shape_def *shapes;
    replay_body *bodies;
    replay_motion *motions;
    replay_frame *frames;
    uint32_t shape_count, body_count, frame_count, slot_count;
    uint32_t now;   // frame_count: none yet
    uint8_t *bytes; // of one frame
    uint64_t room;
    int32_t turn_exponent;
    uint64_t appeared;   // of the frame that is read: bodies up to it
    atomic_bool damaged; // likewise: a segment could not be read
    uint32_t reading;    // likewise: its number
};

// --- numbers of the tables ------------------------------------------------------------------------------------------

typedef struct cursor {
    const uint8_t *data;
    uint64_t left;
    bool failed; // more was asked for than there is
} cursor;

static const uint8_t *take(cursor *from, uint64_t count) {
    static const uint8_t nothing[8];
    if (from->left < count) {
        from->failed = true;
        from->left = 0;
        return nothing;
    }
    const uint8_t *data = from->data;
    from->data += count;
    from->left -= count;
    return data;
}

static uint32_t take_u32(cursor *from) {
    const uint8_t *data = take(from, 4);
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static uint64_t take_u64(cursor *from) {
    const uint64_t low = take_u32(from);
    return low | (uint64_t)take_u32(from) << 32;
}

static float take_float(cursor *from) {
    const uint32_t bits = take_u32(from);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

// False where one is not finite.
static bool take_floats(cursor *from, float *values, uint64_t count) {
    bool good = true;
    for (uint64_t i = 0; i < count; ++i) {
        values[i] = take_float(from);
        good = good && isfinite(values[i]);
    }
    return good && !from->failed;
}

// A count of elements that take `least` bytes each, at least.
static bool take_count(cursor *from, uint64_t least, uint32_t *count) {
    *count = take_u32(from);
    return !from->failed && *count <= from->left / least;
}

// Room for `count` elements in *array.
static bool take_room(void **array, uint64_t count, size_t size) {
    *array = calloc(count + 1, size);
    return *array != NULL;
}

static bool take_text(cursor *from, char *text, uint64_t room) {
    uint32_t length = 0;
    if (!take_count(from, 1, &length) || length >= room) return false;
    memcpy(text, take(from, length), length);
    text[length] = 0;
    return strlen(text) == length;
}

// --- tables ---------------------------------------------------------------------------------------------------------

static bool read_head(cursor *from, replay_head *head, int32_t *turn_exponent) {
    uint32_t phases = 0;
    char name[32];
    if (!take_text(from, head->scene, sizeof head->scene)) return false;
    if (!take_floats(from, &head->frame_seconds, 1) || !(head->frame_seconds > 0)) return false;
    if (!take_floats(from, head->eye, 3) || !take_floats(from, head->target, 3)) return false;
    *turn_exponent = (int32_t)take_u32(from);
    if (*turn_exponent < REPLAY_LEAST_EXPONENT || *turn_exponent > 0) return false;
    if (!take_count(from, 4, &phases) || phases != PSV_PHASE_COUNT) return false;
    for (uint32_t p = 0; p < phases; ++p)
        if (!take_text(from, name, sizeof name)) return false;
    return true;
}

static bool is_part(psv_shape_type type) {
    return type == PSV_SHAPE_SPHERE || type == PSV_SHAPE_BOX || type == PSV_SHAPE_CAPSULE;
}

static bool read_children(cursor *from, psv_shape_def *def) {
    void *room = NULL;
    if (!take_count(from, 44, &def->child_count) || !take_room(&room, def->child_count, sizeof *def->children))
        return false;
    psv_shape_child *children = room;
    bool good = true;
    def->children = children;
    for (uint32_t i = 0; good && i < def->child_count; ++i) {
        children[i].type = (psv_shape_type)take_u32(from);
        good = take_floats(from, children[i].size, 3) && take_floats(from, children[i].pose.position, 3) &&
               take_floats(from, children[i].pose.rotation, 4) && is_part(children[i].type);
    }
    return good && (def->child_count > 0) == (def->type == PSV_SHAPE_COMPOUND);
}

static bool read_heights(cursor *from, psv_shape_def *def) {
    void *room = NULL;
    def->columns = take_u32(from);
    def->rows = take_u32(from);
    const uint64_t count = (uint64_t)def->columns * def->rows;
    if (from->failed || count > from->left / 4 || !take_room(&room, count, sizeof(float))) return false;
    def->heights = room;
    if ((count > 0) != (def->type == PSV_SHAPE_HEIGHT_FIELD)) return false;
    return take_floats(from, room, count) && (count == 0 || (def->columns > 1 && def->rows > 1));
}

static bool read_triangles(cursor *from, psv_shape_def *def) {
    void *room = NULL;
    if (!take_count(from, 12, &def->vertex_count) || !take_room(&room, (uint64_t)3 * def->vertex_count, sizeof(float)))
        return false;
    def->vertices = room;
    if (!take_floats(from, room, (uint64_t)3 * def->vertex_count)) return false;
    if (!take_count(from, 12, &def->triangle_count) ||
        !take_room(&room, (uint64_t)3 * def->triangle_count, sizeof(uint32_t)))
        return false;
    uint32_t *indices = room;
    def->indices = indices;
    for (uint64_t i = 0; i < (uint64_t)3 * def->triangle_count; ++i) {
        indices[i] = take_u32(from);
        if (indices[i] >= def->vertex_count) return false;
    }
    return (def->triangle_count > 0) == (def->type == PSV_SHAPE_MESH || def->type == PSV_SHAPE_HULL);
}

static bool read_shape(cursor *from, psv_shape_def *def) {
    *def = psv_default_shape_def();
    def->type = (psv_shape_type)take_u32(from);
    if ((uint32_t)def->type > PSV_SHAPE_HULL || !take_floats(from, def->size, 3)) return false;
    if (!take_floats(from, &def->density, 1) || !take_floats(from, &def->friction, 1)) return false;
    if (!take_floats(from, &def->restitution, 1)) return false;
    return read_children(from, def) && read_heights(from, def) && read_triangles(from, def);
}

static bool read_shapes(replay_reader *reader, cursor *from) {
    void *room = NULL;
    if (!take_count(from, 48, &reader->shape_count)) return false;
    if (!take_room(&room, reader->shape_count, sizeof *reader->shapes)) return false;
    reader->shapes = room;
    for (uint32_t i = 0; i < reader->shape_count; ++i)
        if (!read_shape(from, &reader->shapes[i])) return false;
    return true;
}

static bool read_body(cursor *from, replay_body *body) {
    body->slot = take_u32(from);
    body->shape = take_u32(from);
    body->first_frame = take_u32(from);
    body->end_frame = take_u32(from);
    body->colour = take_u32(from);
    body->exponent = (int32_t)take_u32(from);
    body->inverse_mass = take_float(from);
    bool good = take_floats(from, body->position, 3);
    body->radius = take_float(from); // of a plane it is infinite
    good = take_floats(from, body->rotation, 4) && good;
    const float *r = body->rotation;
    const float length = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3];
    return good && isfinite(body->inverse_mass) && body->inverse_mass >= 0 && body->radius > 0 && length > 0.5f &&
           length < 2.0f && body->exponent >= REPLAY_LEAST_EXPONENT && body->exponent <= REPLAY_MOST_EXPONENT;
}

static bool read_bodies(replay_reader *reader, cursor *from) {
    void *room = NULL;
    if (!take_count(from, BODY_BYTES, &reader->body_count)) return false;
    if (!take_room(&room, reader->body_count, sizeof *reader->bodies)) return false;
    reader->bodies = room;
    if (!take_room(&room, reader->body_count, sizeof *reader->motions)) return false;
    reader->motions = room;
    for (uint32_t i = 0; i < reader->body_count; ++i) {
        replay_body *body = &reader->bodies[i];
        if (!read_body(from, body) || body->shape >= reader->shape_count || body->slot >= UINT32_C(1) << 30)
            return false;
        if (body->end_frame <= body->first_frame) return false;
        if (i > 0 && body->first_frame < body[-1].first_frame) return false;
        if (body->slot >= reader->slot_count) reader->slot_count = body->slot + 1;
    }
    return true;
}

static bool read_frame(cursor *from, replay_frame *frame) {
    frame->offset = take_u64(from);
    frame->bytes = take_u32(from);
    frame->sum = take_u32(from);
    frame->is_key = (take_u32(from) & 1) != 0;
    bool good = take_floats(from, &frame->seconds, 1) && take_floats(from, frame->gravity, 3);
    frame->bodies = take_u64(from);
    frame->pairs = take_u64(from);
    frame->contacts = take_u64(from);
    good = take_floats(from, &frame->frame_ms, 1) && good;
    return take_floats(from, frame->phase_ms, PSV_PHASE_COUNT) && good && frame->seconds >= 0 && frame->seconds <= 1;
}

// `end`: where the tables begin, and the frames' bytes end.
static bool read_frames(replay_reader *reader, cursor *from, uint64_t end) {
    void *room = NULL;
    uint64_t largest = 0;
    if (!take_count(from, FRAME_BYTES, &reader->frame_count) || reader->frame_count == 0) return false;
    if (!take_room(&room, reader->frame_count, sizeof *reader->frames)) return false;
    reader->frames = room;
    for (uint32_t i = 0; i < reader->frame_count; ++i) {
        replay_frame *frame = &reader->frames[i];
        if (!read_frame(from, frame) || frame->offset > end || frame->bytes > end - frame->offset) return false;
        if (frame->bytes > largest) largest = frame->bytes;
    }
    reader->now = reader->frame_count;
    reader->room = largest;
    if (!take_room(&room, largest, 1)) return false;
    reader->bytes = room;
    return reader->frames[0].is_key;
}

static bool read_at(FILE *file, uint64_t offset, void *bytes, uint64_t count) {
    return fseeko(file, (int64_t)offset, SEEK_SET) == 0 && fread(bytes, 1, count, file) == count;
}

static bool read_tables(replay_reader *reader, const char *path, uint64_t offset, uint64_t size, uint32_t sum,
                        replay_error *error) {
    uint8_t *bytes = malloc(size + 1);
    bool good = bytes != NULL && read_at(reader->file, offset, bytes, size);
    if (!good) (void)replay_fail(error, "the replay '%s' could not be read", path);
    if (good && !reader->trusting && replay_sum(bytes, size) != sum)
        good = replay_fail(error, "the replay '%s' is damaged: its tables are not those that were written", path);
    cursor from = {.data = bytes, .left = size};
    if (good && !(read_head(&from, &reader->head, &reader->turn_exponent) && read_shapes(reader, &from) &&
                  read_bodies(reader, &from) && read_frames(reader, &from, offset) && from.left == 0))
        good = replay_fail(error, "the replay '%s' is damaged: a number of its tables cannot be", path);
    free(bytes);
    return good;
}

static bool open_file(replay_reader *reader, const char *path, replay_error *error) {
    uint8_t head[REPLAY_HEAD_BYTES], tail[REPLAY_TAIL_BYTES];
    reader->file = fopen(path, "rb");
    if (reader->file == NULL) return replay_fail(error, "file '%s' cannot be read: %s", path, strerror(errno));
    if (!read_at(reader->file, 0, head, sizeof head) || memcmp(head, REPLAY_MAGIC, 8) != 0)
        return replay_fail(error, "file '%s' is no replay", path);
    cursor from = {.data = head + 8, .left = 8};
    const uint32_t version = take_u32(&from), zero = take_u32(&from);
    if (version != REPLAY_VERSION)
        return replay_fail(error, "the replay '%s' has version %u; this program reads version %u", path, version,
                           REPLAY_VERSION);
    const int64_t size = fseeko(reader->file, 0, SEEK_END) == 0 ? (int64_t)ftello(reader->file) : -1;
    if (size < (int64_t)(REPLAY_HEAD_BYTES + REPLAY_TAIL_BYTES) ||
        !read_at(reader->file, (uint64_t)size - sizeof tail, tail, sizeof tail) ||
        memcmp(tail + 24, REPLAY_MAGIC, 8) != 0)
        return replay_fail(error, "the replay '%s' is cut off: its tables are missing", path);
    from = (cursor){.data = tail, .left = sizeof tail};
    const uint64_t offset = take_u64(&from), bytes = take_u64(&from);
    const uint32_t sum = take_u32(&from), again = take_u32(&from);
    if (zero != 0 || again != version || offset > (uint64_t)size || bytes > (uint64_t)size - offset ||
        offset + bytes + sizeof tail != (uint64_t)size)
        return replay_fail(error, "the replay '%s' is damaged: its first and its last bytes do not fit", path);
    return read_tables(reader, path, offset, bytes, sum, error);
}

replay_reader *replay_open(const char *path, bool trusting, replay_error *error) {
    replay_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        (void)replay_fail(error, "no memory for a replay");
        return NULL;
    }
    reader->trusting = trusting;
    if (open_file(reader, path, error)) return reader;
    replay_close(reader);
    return NULL;
}

void replay_close(replay_reader *reader) {
    if (reader == NULL) return;
    for (uint32_t i = 0; reader->shapes != NULL && i < reader->shape_count; ++i) {
        psv_shape_def *shape = &reader->shapes[i];
        free((void *)(uintptr_t)shape->children);
        free((void *)(uintptr_t)shape->heights);
        free((void *)(uintptr_t)shape->vertices);
        free((void *)(uintptr_t)shape->indices);
    }
    free(reader->shapes);
    free(reader->bodies);
    free(reader->motions);
    free(reader->frames);
    free(reader->bytes);
    if (reader->file != NULL) (void)fclose(reader->file);
    free(reader);
}

const replay_head *replay_get_head(const replay_reader *reader) { return &reader->head; }
uint32_t replay_frame_count(const replay_reader *reader) { return reader->frame_count; }
const replay_frame *replay_get_frame(const replay_reader *reader, uint32_t frame) { return &reader->frames[frame]; }
uint32_t replay_body_count(const replay_reader *reader) { return reader->body_count; }
const replay_body *replay_get_body(const replay_reader *reader, uint32_t body) { return &reader->bodies[body]; }
uint32_t replay_slot_count(const replay_reader *reader) { return reader->slot_count; }
uint32_t replay_shape_count(const replay_reader *reader) { return reader->shape_count; }
const psv_shape_def *replay_get_shape(const replay_reader *reader, uint32_t shape) { return &reader->shapes[shape]; }
int32_t replay_turn_exponent(const replay_reader *reader) { return reader->turn_exponent; }
uint32_t replay_frame_now(const replay_reader *reader) { return reader->now; }

// --- frames ---------------------------------------------------------------------------------------------------------

typedef struct decoder {
    replay_bit_reader bits;
    replay_column columns[REPLAY_COLUMNS];
} decoder;

static void get_three(decoder *from, uint32_t column, int64_t values[3]) {
    for (uint32_t i = 0; i < 3; ++i)
        values[i] = replay_unfold(replay_get_number(&from->bits, &from->columns[column + i]));
}

static void get_change(decoder *from, replay_change *change) {
    const uint64_t flags = replay_get_bits(&from->bits, 4);
    *change = (replay_change){.has_shift = (flags & 1) != 0,
                              .has_turn = (flags & 2) != 0,
                              .swap_fall = (flags & 4) != 0,
                              .stop = (flags & 8) != 0};
    if (change->has_shift) {
        change->new_speed = replay_get_bits(&from->bits, 1) != 0;
        get_three(from, REPLAY_SHIFT, change->shift);
    }
    if (change->has_turn) {
        change->new_spin = replay_get_bits(&from->bits, 1) != 0;
        get_three(from, REPLAY_TURN, change->turn);
    }
}

static void get_state(decoder *from, replay_state *state) {
    const uint64_t flags = replay_get_bits(&from->bits, 2);
    *state = (replay_state){.moves = (flags & 1) != 0, .falls = (flags & 2) != 0};
    get_three(from, REPLAY_PLACE, state->place);
    state->largest = (uint32_t)replay_get_bits(&from->bits, 2);
    for (int i = 0; i < 3; ++i)
        state->others[i] = (uint32_t)replay_get_bits(&from->bits, REPLAY_ROTATION_BITS);
    if (!state->moves) return;
    get_three(from, REPLAY_SPEED, state->speed);
    get_three(from, REPLAY_SPIN, state->spin);
}

static bool is_there(const replay_body *body, uint32_t frame) {
    return body->first_frame <= frame && frame < body->end_frame;
}

// Every body of a segment goes on as it did; in a key frame it is as when it appeared.
static void begin_bodies(replay_reader *reader, uint64_t first, uint64_t end) {
    const replay_frame *frame = &reader->frames[reader->reading];
    double fall[3] = {0};
    int32_t exponent = INT32_MIN;
    for (uint64_t i = first; i < end; ++i) {
        const replay_body *body = &reader->bodies[i];
        replay_motion *motion = &reader->motions[i];
        if (!is_there(body, reader->reading)) continue;
        if (frame->is_key || body->first_frame == reader->reading) {
            *motion = replay_start(body);
        } else if (motion->moves) {
            if (body->exponent != exponent) replay_fall(frame, body->exponent, fall);
            exponent = body->exponent;
            replay_predict(motion, fall);
        }
    }
}

// Bodies that appeared up to a frame: they stand in this order.
static uint64_t count_appeared(const replay_reader *reader, uint32_t frame) {
    uint64_t low = 0, high = reader->body_count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (reader->bodies[middle].first_frame <= frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool change_bodies(replay_reader *reader, uint64_t first, uint64_t end, const uint8_t *bytes, uint32_t count) {
    const double turn_step = replay_step(reader->turn_exponent);
    decoder from = {.bits = {.data = bytes, .size = count}};
    for (uint64_t at = first;; ++at) {
        const uint64_t gap = replay_get_number(&from.bits, &from.columns[REPLAY_GAP]);
        if (from.bits.failed || gap > end - at) return false;
        at += gap;
        if (at == end) return true;
        if (!is_there(&reader->bodies[at], reader->reading)) return false;
        if (reader->frames[reader->reading].is_key) {
            replay_state state;
            get_state(&from, &state);
            replay_take_state(&reader->motions[at], &state, turn_step);
        } else {
            replay_change change;
            get_change(&from, &change);
            replay_apply(&reader->motions[at], &change, turn_step);
        }
        if (from.bits.failed) return false;
    }
}

static uint32_t segment_length(const replay_reader *reader, uint32_t segment) {
    const uint8_t *at = reader->bytes + (uint64_t)4 * segment;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t segments_of(uint64_t bodies) { return (uint32_t)((bodies + REPLAY_SEGMENT - 1) / REPLAY_SEGMENT); }

static void read_segment(void *data, uint32_t segment) {
    replay_reader *reader = data;
    const uint64_t first = (uint64_t)segment * REPLAY_SEGMENT, all = reader->appeared;
    const uint64_t end = first + REPLAY_SEGMENT < all ? first + REPLAY_SEGMENT : all;
    uint64_t offset = (uint64_t)4 * segments_of(all);
    begin_bodies(reader, first, end);
    if (reader->frames[reader->reading].bytes == 0) return;
    for (uint32_t i = 0; i < segment; ++i)
        offset += segment_length(reader, i);
    const uint32_t count = segment_length(reader, segment);
    if (count > 0 && !change_bodies(reader, first, end, reader->bytes + offset, count))
        atomic_store(&reader->damaged, true);
}

// The segments' lengths add up to the frame's.
static bool check_lengths(const replay_reader *reader, uint64_t bytes) {
    const uint32_t segments = segments_of(reader->appeared);
    uint64_t sum = (uint64_t)4 * segments;
    if (bytes == 0) return true;
    if (bytes < sum) return false;
    for (uint32_t i = 0; i < segments; ++i)
        sum += segment_length(reader, i);
    return sum == bytes;
}

static bool read_next(replay_reader *reader, uint32_t number, replay_error *error) {
    const replay_frame *frame = &reader->frames[number];
    if (!read_at(reader->file, frame->offset, reader->bytes, frame->bytes))
        return replay_fail(error, "frame %u of the replay could not be read", number);
    if (!reader->trusting && replay_sum(reader->bytes, frame->bytes) != frame->sum)
        return replay_fail(error, "frame %u of the replay is damaged: its bytes are not those that were written",
                           number);
    reader->reading = number;
    reader->appeared = count_appeared(reader, number);
    atomic_store(&reader->damaged, !check_lengths(reader, frame->bytes));
    if (!reader->damaged) replay_run_parts(read_segment, reader, segments_of(reader->appeared));
    if (reader->damaged) return replay_fail(error, "frame %u of the replay is damaged", number);
    reader->now = number;
    return true;
}

bool replay_seek(replay_reader *reader, uint32_t frame, replay_error *error) {
    if (frame >= reader->frame_count)
        return replay_fail(error, "the replay has %u frames, the first is number 0; there is no frame %u",
                           reader->frame_count, frame);
    uint32_t key = frame;
    while (!reader->frames[key].is_key)
        --key; // frame 0 is one
    const bool goes_on = reader->now < reader->frame_count && reader->now <= frame && reader->now >= key;
    uint32_t next = goes_on ? reader->now + 1 : key;
    for (; next <= frame; ++next) {
        if (read_next(reader, next, error)) continue;
        reader->now = reader->frame_count;
        return false;
    }
    return true;
}

bool replay_get_pose(const replay_reader *reader, uint32_t number, float position[3], float rotation[4],
                     float velocity[3]) {
    const replay_body *body = &reader->bodies[number];
    const replay_motion *motion = &reader->motions[number];
    if (!is_there(body, reader->now)) return false;
    const double step = replay_step(body->exponent);
    const float seconds = reader->frames[reader->now].seconds;
    for (int i = 0; i < 3; ++i) {
        position[i] = (float)((double)body->position[i] + motion->position[i] * step);
        if (velocity != NULL) velocity[i] = seconds > 0 ? (float)(motion->velocity[i] * step / (double)seconds) : 0.0f;
    }
    for (int i = 0; i < 4; ++i)
        rotation[i] = motion->touched ? (float)motion->rotation[i] : body->rotation[i];
    return true;
}
