// Snapshots: the exact state of a world in one file, and back, bit for bit. The parts of a file and the rules that they
// have to keep are in snapshot_parts.h and snapshot_check.c. Kept contacts are written in the order of their bodies, so
// equal worlds give equal files.
#include "snapshot_parts.h"

#include "../../core/portable/replaced_file.h"
#include "../contacts/contact_anchor.h"
#include "../data/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A growing piece of memory that is written, or a given one that is read.
typedef struct stream {
    psv_context *context;
    const char *path;
    unsigned char *data;
    uint64_t size, room, place;
    psv_status status;
} stream;

static void put(stream *s, const void *bytes, uint64_t count) {
    if (s->status != PSV_OK || count == 0) return;
    if (s->size + count > s->room) {
        uint64_t room = 2 * (s->size + count);
        unsigned char *grown = realloc(s->data, room);
        if (grown == NULL) {
            s->status = psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for a snapshot of %" PRIu64 " bytes",
                                  s->size + count);
            return;
        }
        s->data = grown;
        s->room = room;
    }
    memcpy(s->data + s->size, bytes, count);
    s->size += count;
}

static void get(stream *s, void *bytes, uint64_t count) {
    if (s->status == PSV_OK && count > s->size - s->place)
        s->status = psvi_fail(s->context, PSV_ERROR_FORMAT,
                              "%s: the snapshot ends at byte %" PRIu64 "; %" PRIu64 " more are needed", s->path,
                              s->size, count - (s->size - s->place));
    if (s->status != PSV_OK) {
        memset(bytes, 0, count);
        return;
    }
    memcpy(bytes, s->data + s->place, count);
    s->place += count;
}

// Memory for `count` records that the rest of the file must be able to fill.
static void *get_array(stream *s, uint64_t count, uint64_t each) {
    if (s->status != PSV_OK) return NULL;
    if (count > (s->size - s->place) / each) {
        s->status = psvi_fail(s->context, PSV_ERROR_FORMAT,
                              "%s: at byte %" PRIu64 " a list of %" PRIu64 " entries is longer than the file", s->path,
                              s->place, count);
        return NULL;
    }
    void *memory = malloc(count * each + 1);
    if (memory == NULL)
        s->status =
            psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes of a snapshot", count * each);
    else
        get(s, memory, count * each);
    return memory;
}

// --- the parts -------------------------------------------------------------------------------------------------------

static void put_shapes(stream *s, const psv_world *world) {
    for (uint32_t i = 0; i < world->shape_count; ++i) {
        const psv_shape_def *d = &world->shapes[i].def;
        bool compound = d->type == PSV_SHAPE_COMPOUND, field = d->type == PSV_SHAPE_HEIGHT_FIELD;
        bool mesh = d->type == PSV_SHAPE_MESH, hull = d->type == PSV_SHAPE_HULL;
        psvi_shape_part part = {.type = (uint32_t)d->type,
                                .child_count = compound ? d->child_count : 0,
                                .columns = field ? d->columns : 0,
                                .rows = field ? d->rows : 0,
                                .vertex_count = mesh || hull ? d->vertex_count : 0,
                                .triangle_count = mesh ? d->triangle_count : 0,
                                .density = d->density,
                                .friction = d->friction,
                                .restitution = d->restitution,
                                .rolling_friction = d->rolling_friction,
                                .spinning_friction = d->spinning_friction,
                                .weld_angle = d->weld_angle,
                                .one_sided = d->one_sided,
                                .colour = d->colour};
        memcpy(part.size, d->size, sizeof part.size);
        put(s, &part, sizeof part);
        put(s, d->children, part.child_count * sizeof *d->children);
        put(s, d->heights, sizeof(float) * part.columns * part.rows);
        put(s, d->vertices, 12ull * part.vertex_count);
        put(s, d->indices, 12ull * part.triangle_count);
    }
}

static void get_shape(stream *s, psv_shape_def *d) {
    psvi_shape_part part;
    get(s, &part, sizeof part);
    *d = psv_default_shape_def();
    d->type = (psv_shape_type)part.type;
    memcpy(d->size, part.size, sizeof d->size);
    d->density = part.density;
    d->friction = part.friction;
    d->restitution = part.restitution;
    d->rolling_friction = part.rolling_friction;
    d->spinning_friction = part.spinning_friction;
    d->weld_angle = part.weld_angle;
    d->one_sided = part.one_sided != 0;
    d->colour = part.colour;
    d->child_count = part.child_count;
    d->columns = part.columns;
    d->rows = part.rows;
    d->vertex_count = part.vertex_count;
    d->triangle_count = part.triangle_count;
    d->children = get_array(s, part.child_count, sizeof *d->children);
    d->heights = get_array(s, (uint64_t)part.columns * part.rows, sizeof *d->heights);
    d->vertices = get_array(s, part.vertex_count, 12);
    d->indices = get_array(s, part.triangle_count, 12);
}

// The arrays of bodies that a backend holds, in the order of the file: where their addresses stand, bytes of an
// element.
static const struct body_array {
    size_t in_world, in_snapshot;
    uint64_t each;
    uint32_t part; // psvi_world_part.parts; 0: every world has it
} body_arrays[] = {
#define BODY_ARRAY(name, type, part) {offsetof(psvi_sim, name), offsetof(psvi_snapshot, name), sizeof(type), part},
    PSVI_BODY_STATE(BODY_ARRAY)};
#define BODY_ARRAYS (sizeof body_arrays / sizeof *body_arrays)

// The address that a member of a struct holds.
static void *address_at(const void *record, size_t offset) {
    void *address;
    memcpy(&address, (const char *)record + offset, sizeof address);
    return address;
}

static void put_bodies(stream *s, psv_world *world) {
    const uint64_t n = world->sim.slots;
    for (size_t i = 0; i < BODY_ARRAYS && s->status == PSV_OK; ++i) {
        const struct body_array *array = &body_arrays[i];
        if (address_at(&world->sim, array->in_world) == NULL) continue;
        void *copy = malloc(n * array->each + 1);
        if (copy == NULL)
            s->status =
                psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes", n * array->each);
        else
            s->status = psvi_read_array(world, copy, address_at(&world->sim, array->in_world), 0, n, array->each);
        put(s, copy, n * array->each);
        free(copy);
    }
    put(s, world->generation, n * sizeof(uint32_t));
    put(s, world->alive, n);
    put(s, world->free_slots, world->free_count * sizeof(uint32_t));
}

static bool has_array(const psvi_world_part *world, size_t i) {
    return body_arrays[i].part == 0 || (world->parts & body_arrays[i].part) != 0;
}

static void get_bodies(stream *s, psvi_snapshot *snapshot) {
    const uint64_t n = snapshot->world.slots;
    for (size_t i = 0; i < BODY_ARRAYS; ++i) {
        if (!has_array(&snapshot->world, i)) continue;
        void *array = get_array(s, n, body_arrays[i].each);
        memcpy((char *)snapshot + body_arrays[i].in_snapshot, &array, sizeof array);
    }
    snapshot->generation = get_array(s, n, sizeof *snapshot->generation);
    snapshot->alive = get_array(s, n, 1);
    snapshot->free_slots = get_array(s, snapshot->world.free_count, sizeof *snapshot->free_slots);
}

static int by_key(const void *x, const void *y) {
    uint64_t a = ((const psvi_kept_contact *)x)->key, b = ((const psvi_kept_contact *)y)->key;
    return a < b ? -1 : a > b;
}

// The kept contacts on the host, sorted; *count of them.
static psvi_kept_contact *read_kept(stream *s, psv_world *world, uint64_t places, uint64_t *count) {
    psvi_kept_contact *kept = malloc(places * sizeof *kept);
    if (kept == NULL) {
        s->status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " contacts", places);
        return NULL;
    }
    s->status = psvi_read_array(world, kept, world->sim.kept, 0, places, sizeof *kept);
    uint64_t n = 0;
    for (uint64_t i = 0; i < places && s->status == PSV_OK; ++i)
        if (kept[i].key != 0 && kept[i].key != PSVI_KEPT_GONE) kept[n++] = kept[i];
    qsort(kept, n, sizeof *kept, by_key);
    *count = n;
    return kept;
}

static void put_kept(stream *s, psv_world *world, const psvi_kept_contact *kept, uint64_t count) {
    uint64_t room = world->sim.point_capacity;
    psvi_kept_point *points = malloc((room + 1) * sizeof *points);
    if (points == NULL) {
        s->status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " points", room);
        return;
    }
    if (s->status == PSV_OK)
        s->status = psvi_read_array(world, points, world->sim.kept_points, 0, room, sizeof *points);
    for (uint64_t i = 0; i < count && s->status == PSV_OK; ++i) {
        put(s, &kept[i].key, sizeof kept[i].key);
        const uint32_t count_colour = kept[i].count_colour & ~PSVI_KEPT_SEEN;
        put(s, &count_colour, sizeof count_colour);
        put(s, points + kept[i].first, (kept[i].count_colour & 0xffu) * sizeof *points);
    }
    free(points);
}

static bool shape_rolls(const psv_shape_def *d) { return d->rolling_friction > 0 || d->spinning_friction > 0; }

// Of contacts without rolling friction nothing is known.
static void put_rolls(stream *s, psv_world *world, const psvi_kept_contact *kept, uint64_t count) {
    const uint64_t room = world->sim.point_capacity;
    const psvi_f4 none = {0, 0, 0, 0};
    psvi_f4 *rolls = malloc((room + 1) * sizeof *rolls);
    if (rolls == NULL)
        s->status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " impulses", room);
    if (s->status == PSV_OK) s->status = psvi_read_array(world, rolls, world->sim.kept_rolls, 0, room, sizeof *rolls);
    for (uint64_t i = 0; i < count && s->status == PSV_OK; ++i) {
        const uint64_t pair = kept[i].key - 1;
        const bool has = shape_rolls(&world->shapes[world->shape_of[pair >> 32]].def) ||
                         shape_rolls(&world->shapes[world->shape_of[pair & UINT32_MAX]].def);
        const psvi_f4 roll = has ? f4_make(v3_of4(rolls[kept[i].first]), 0) : none;
        put(s, &roll, sizeof roll);
    }
    free(rolls);
}

static bool has_corners(const psv_shape_def *d) { return psvi_has_corners((uint32_t)d->type); }

// A frame each contact, and the anchors of those that have any. What the arrays hold of others is of older contacts.
static void put_anchors(stream *s, psv_world *world, const psvi_kept_contact *kept, uint64_t count, uint64_t steps) {
    const uint64_t room = world->sim.point_capacity, half = psvi_anchor_half(steps, true, room);
    const psvi_anchor_frame none = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    psvi_anchor_frame *frames = malloc((room + 1) * sizeof *frames);
    psvi_f4 *anchors = malloc((room + 1) * sizeof *anchors);
    if (frames == NULL || anchors == NULL)
        s->status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " points", room);
    if (s->status == PSV_OK)
        s->status = psvi_read_array(world, frames, world->sim.anchor_frames, half, room, sizeof *frames);
    if (s->status == PSV_OK)
        s->status = psvi_read_array(world, anchors, world->sim.anchors, half, room, sizeof *anchors);
    for (uint64_t i = 0; i < count && s->status == PSV_OK; ++i) {
        const uint64_t pair = kept[i].key - 1;
        const bool has = has_corners(&world->shapes[world->shape_of[pair >> 32]].def) &&
                         has_corners(&world->shapes[world->shape_of[pair & UINT32_MAX]].def);
        const psvi_anchor_frame *frame = has ? &frames[kept[i].first] : &none;
        if (frame->offset.w == PSVI_ANCHOR_NONE) frame = &none;
        put(s, frame, sizeof *frame);
        if (frame != &none) put(s, anchors + kept[i].first, (kept[i].count_colour & 0xffu) * sizeof *anchors);
    }
    free(frames);
    free(anchors);
}

// Rooms as large as the contacts' own, which the file has filled.
static void get_anchors(stream *s, psvi_snapshot *snapshot) {
    const uint64_t count = snapshot->world.contacts;
    if (s->status == PSV_OK && count > (s->size - s->place) / sizeof *snapshot->frames)
        s->status =
            psvi_fail(s->context, PSV_ERROR_FORMAT,
                      "%s: places of points of %" PRIu64 " contacts are more than the file holds", s->path, count);
    if (s->status != PSV_OK) return;
    snapshot->frames = malloc(count * sizeof *snapshot->frames + 1);
    snapshot->anchors = calloc(snapshot->point_count + 1, sizeof *snapshot->anchors);
    if (snapshot->frames == NULL || snapshot->anchors == NULL)
        s->status = psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " contacts", count);
    for (uint64_t i = 0; i < count && s->status == PSV_OK; ++i) {
        const psvi_kept_contact *c = &snapshot->contacts[i];
        get(s, &snapshot->frames[i], sizeof *snapshot->frames);
        if (snapshot->frames[i].offset.w != PSVI_ANCHOR_NONE)
            get(s, snapshot->anchors + c->first, (c->count_colour & 0xffu) * sizeof *snapshot->anchors);
    }
}

#define CONTACT_BYTES 12u // of its key and count_colour in the file

static void get_kept(stream *s, psvi_snapshot *snapshot) {
    const uint64_t count = snapshot->world.contacts, left = s->size - s->place;
    if (s->status == PSV_OK && count > left / CONTACT_BYTES)
        s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %" PRIu64 " contacts are more than the file holds",
                              s->path, count);
    if (s->status != PSV_OK) return;
    snapshot->contacts = malloc(count * sizeof *snapshot->contacts + 1);
    snapshot->points = malloc((left - count * CONTACT_BYTES) + sizeof *snapshot->points);
    if (snapshot->contacts == NULL || snapshot->points == NULL)
        s->status = psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " contacts", count);
    for (uint64_t i = 0; i < count && s->status == PSV_OK; ++i) {
        psvi_kept_contact *c = &snapshot->contacts[i];
        get(s, &c->key, sizeof c->key);
        get(s, &c->count_colour, sizeof c->count_colour);
        const uint64_t bytes = (c->count_colour & 0xffu) * sizeof *snapshot->points;
        if (bytes > s->size - s->place - (count - i - 1) * CONTACT_BYTES) // the heads of those after it follow
            s->status = psvi_fail(s->context, PSV_ERROR_FORMAT,
                                  "%s: contact %" PRIu64 " has more points than the file holds", s->path, i);
        if (s->status != PSV_OK) return;
        c->first = (uint32_t)snapshot->point_count;
        get(s, snapshot->points + snapshot->point_count, bytes);
        snapshot->point_count += bytes / sizeof *snapshot->points;
    }
}

// --- files -----------------------------------------------------------------------------------------------------------

static psv_status write_file(const stream *s) {
    psvi_replaced_file file;
    if (!psvi_open_replaced(&file, s->path))
        return psvi_fail(s->context, PSV_ERROR_FILE, "%s: %s", s->path, strerror(errno));
    const bool written = fwrite(s->data, 1, s->size, file.stream) == s->size;
    if (psvi_close_replaced(&file, written) && written) return PSV_OK;
    return psvi_fail(s->context, PSV_ERROR_FILE, "%s: could not be written to its end: %s", s->path, strerror(errno));
}

psv_status psv_save_snapshot(psv_world *world, const char *path) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    if (path == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "path is NULL");
    stream s = {.context = world->context, .path = path};
    const uint32_t head[2] = {PSVI_SNAPSHOT_VERSION, PSVI_SNAPSHOT_BYTE_ORDER};
    put(&s, PSVI_SNAPSHOT_MAGIC, 8);
    put(&s, head, sizeof head);
    uint64_t count = 0;
    psvi_step_counts counts = {0};
    if (s.status == PSV_OK) s.status = psvi_read_array(world, &counts, world->sim.counts, 0, 1, sizeof counts);
    psvi_kept_contact *kept = s.status == PSV_OK ? read_kept(&s, world, counts.kept_mask + 1, &count) : NULL;
    const psv_world_def *d = &world->def;
    psvi_world_part part = {.self_gravity = d->self_gravity,
                            .softening = d->softening,
                            .substeps = d->substeps,
                            .restitution_threshold = d->restitution_threshold,
                            .push_speed = d->push_speed,
                            .most_gravity = world->most_gravity,
                            .hit_speed = d->hit_speed,
                            .contact_events = d->contact_events,
                            .sleeping = d->sleeping,
                            .sleep_speed = d->sleep_speed,
                            .parts = (world->sim.forces != NULL ? PSVI_SNAPSHOT_FORCES : 0u) |
                                     (world->sim.user != NULL ? PSVI_SNAPSHOT_USER : 0u) |
                                     (d->sleeping ? PSVI_SNAPSHOT_SLEEP : 0u),
                            .max_shapes = d->max_shapes,
                            .sub_world_count = d->sub_world_count,
                            .shape_count = world->shape_count,
                            .slots = world->sim.slots,
                            .max_bodies = d->max_bodies,
                            .max_pairs = d->max_pairs,
                            .max_contacts = d->max_contacts,
                            .free_count = world->free_count,
                            .living = world->living,
                            .steps = counts.steps,
                            .idle_steps = world->idle_steps,
                            .lost = counts.lost,
                            .contacts = count};
    memcpy(part.gravity, d->gravity, sizeof part.gravity);
    memcpy(part.bounds_min, d->bounds_min, sizeof part.bounds_min);
    memcpy(part.bounds_max, d->bounds_max, sizeof part.bounds_max);
    (void)snprintf(part.broad_phase, sizeof part.broad_phase, "%s", world->broad_phase);
    (void)snprintf(part.sort_method, sizeof part.sort_method, "%s", world->sort_method);
    put(&s, &part, sizeof part);
    put_shapes(&s, world);
    put_bodies(&s, world);
    if (kept != NULL) put_kept(&s, world, kept, count);
    if (kept != NULL && world->rolls) put_rolls(&s, world, kept, count);
    if (kept != NULL && world->anchors) put_anchors(&s, world, kept, count, counts.steps);
    if (s.status == PSV_OK) {
        uint64_t sum = psvi_snapshot_checksum(s.data, s.size);
        put(&s, &sum, sizeof sum);
    }
    if (s.status == PSV_OK) s.status = write_file(&s);
    free(kept);
    free(s.data);
    return s.status;
}

static psv_status check_head(stream *s) {
    char magic[8];
    uint32_t head[2];
    if (s->size < 24 || memcmp(s->data, PSVI_SNAPSHOT_MAGIC, 8) != 0)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: no snapshot of a world", s->path);
    get(s, magic, sizeof magic);
    get(s, head, sizeof head);
    if (head[1] != PSVI_SNAPSHOT_BYTE_ORDER)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the snapshot is of a machine with another byte order",
                         s->path);
    if (head[0] != PSVI_SNAPSHOT_VERSION)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the snapshot is of version %u; %u can be read", s->path,
                         head[0], PSVI_SNAPSHOT_VERSION);
    uint64_t sum;
    memcpy(&sum, s->data + s->size - 8, 8);
    s->size -= 8;
    if (sum != psvi_snapshot_checksum(s->data, s->size))
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the snapshot is damaged: its checksum does not fit",
                         s->path);
    return PSV_OK;
}

// Methods do not change what a world does, so one that is not here (of another backend, say) gives way to the default.
static const char *known_or(const char *name, const char *description, const char *otherwise) {
    return description != NULL || strcmp(name, "auto") == 0 ? name : otherwise;
}

// All of the file into memory; nothing of it is believed yet.
static void get_snapshot(stream *s, psvi_snapshot *snapshot) {
    get(s, &snapshot->world, sizeof snapshot->world);
    const uint32_t count = snapshot->world.shape_count;
    if (s->status == PSV_OK && count > (s->size - s->place) / sizeof(psvi_shape_part))
        s->status =
            psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %u shapes are more than the file holds", s->path, count);
    if (s->status != PSV_OK) return;
    snapshot->shapes = calloc((uint64_t)count + 1, sizeof *snapshot->shapes);
    if (snapshot->shapes == NULL)
        s->status = psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for %u shapes", count);
    for (uint32_t i = 0; i < count && s->status == PSV_OK; ++i)
        get_shape(s, &snapshot->shapes[i]);
    get_bodies(s, snapshot);
    get_kept(s, snapshot);
    bool rolls = false, corners = false;
    for (uint32_t i = 0; i < count && s->status == PSV_OK; ++i) {
        rolls = rolls || shape_rolls(&snapshot->shapes[i]);
        corners = corners || psvi_wants_anchors((uint32_t)snapshot->shapes[i].type);
    }
    if (rolls) snapshot->rolls = get_array(s, snapshot->world.contacts, sizeof *snapshot->rolls);
    if (corners) get_anchors(s, snapshot);
    if (s->status == PSV_OK && s->place != s->size)
        s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %" PRIu64 " bytes too many at the end", s->path,
                              s->size - s->place);
}

static void free_snapshot(psvi_snapshot *snapshot) {
    for (uint32_t i = 0; snapshot->shapes != NULL && i < snapshot->world.shape_count; ++i) {
        free((void *)(uintptr_t)snapshot->shapes[i].children);
        free((void *)(uintptr_t)snapshot->shapes[i].heights);
        free((void *)(uintptr_t)snapshot->shapes[i].vertices);
        free((void *)(uintptr_t)snapshot->shapes[i].indices);
    }
    for (size_t i = 0; i < BODY_ARRAYS; ++i)
        free(address_at(snapshot, body_arrays[i].in_snapshot));
    free(snapshot->shapes);
    free(snapshot->generation);
    free(snapshot->alive);
    free(snapshot->free_slots);
    free(snapshot->contacts);
    free(snapshot->points);
    free(snapshot->rolls);
    free(snapshot->frames);
    free(snapshot->anchors);
}

static psv_status make_world(psv_context *context, const psvi_world_part *part, psv_world **world) {
    psv_world_def d = psv_default_world_def();
    char broad_phase[33] = {0}, sort_method[33] = {0};
    memcpy(broad_phase, part->broad_phase, 32);
    memcpy(sort_method, part->sort_method, 32);
    memcpy(d.gravity, part->gravity, sizeof d.gravity);
    memcpy(d.bounds_min, part->bounds_min, sizeof d.bounds_min);
    memcpy(d.bounds_max, part->bounds_max, sizeof d.bounds_max);
    d.self_gravity = part->self_gravity;
    d.softening = part->softening;
    d.substeps = part->substeps;
    d.restitution_threshold = part->restitution_threshold;
    d.push_speed = part->push_speed;
    d.hit_speed = part->hit_speed;
    d.contact_events = part->contact_events != 0;
    d.sleeping = part->sleeping != 0;
    d.sleep_speed = part->sleep_speed;
    d.max_shapes = part->max_shapes;
    d.sub_world_count = part->sub_world_count;
    d.max_bodies = part->max_bodies;
    d.max_pairs = part->max_pairs;
    d.max_contacts = part->max_contacts;
    const psv_backend backend = context->backend;
    d.broad_phase = known_or(broad_phase, psv_broad_phase_description(backend, broad_phase), d.broad_phase);
    const char *const sorter = psv_pair_sorter_name(sort_method);
    d.sort_method = known_or(sort_method, psv_sort_method_description(backend, sorter), d.sort_method);
    return psv_create_world(context, &d, world);
}

// Angular impulses, each at its contact's first point.
static psv_status fill_rolls(const psvi_snapshot *snapshot, psv_world *world) {
    psvi_f4 *rolls = calloc(snapshot->point_count + 1, sizeof *rolls);
    if (rolls == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " impulses",
                         snapshot->point_count);
    for (uint64_t i = 0; i < snapshot->world.contacts; ++i)
        rolls[snapshot->contacts[i].first] = snapshot->rolls[i];
    psv_status status = psvi_write_array(world, world->sim.kept_rolls, rolls, 0, snapshot->point_count, sizeof *rolls);
    free(rolls);
    return status;
}

// Of the step before the next one, at their contacts' first points.
static psv_status fill_anchors(const psvi_snapshot *snapshot, psv_world *world) {
    const uint64_t points = snapshot->point_count;
    const uint64_t half = psvi_anchor_half(snapshot->world.steps, true, world->sim.point_capacity);
    psvi_anchor_frame *frames = calloc(points + 1, sizeof *frames);
    if (frames == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " points", points);
    for (uint64_t i = 0; i < snapshot->world.contacts; ++i)
        frames[snapshot->contacts[i].first] = snapshot->frames[i];
    psv_status status = psvi_write_array(world, world->sim.anchor_frames + half, frames, 0, points, sizeof *frames);
    if (status == PSV_OK)
        status =
            psvi_write_array(world, world->sim.anchors + half, snapshot->anchors, 0, points, sizeof *snapshot->anchors);
    free(frames);
    return status;
}

// The kept contacts, and with them the counts that their table belongs to.
static psv_status fill_kept(const psvi_snapshot *snapshot, psv_world *world) {
    const uint64_t count = snapshot->world.contacts, mask = psvi_kept_mask(count);
    const uint64_t scale = psvi_kept_scale(mask, world->sim.slots);
    psv_status status = PSV_OK;
    if (count > world->sim.contact_capacity || snapshot->point_count > world->sim.point_capacity)
        status = psvi_grow_contacts(world, count, snapshot->point_count);
    if (status != PSV_OK) return status;
    psvi_kept_contact *kept = calloc(mask + 1, sizeof *kept);
    if (kept == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " contacts", count);
    for (uint64_t i = 0; i < count; ++i) {
        const psvi_kept_contact *c = &snapshot->contacts[i];
        const uint32_t first = (uint32_t)((c->key - 1) >> 32);
        uint64_t mixed = psvi_mix64(c->key), place = psvi_kept_place(first, mixed, 0, mask, scale);
        for (uint32_t turn = 1; kept[place].key != 0; ++turn)
            place = psvi_kept_place(first, mixed, turn, mask, scale);
        kept[place] = *c;
    }
    const psvi_step_counts counts = {.points_kept = snapshot->point_count,
                                     .lost = snapshot->world.lost,
                                     .steps = snapshot->world.steps,
                                     .kept_mask = mask,
                                     .kept_scale = scale};
    status = psvi_write_array(world, world->sim.kept, kept, 0, mask + 1, sizeof *kept);
    if (status == PSV_OK)
        status = psvi_write_array(world, world->sim.kept_points, snapshot->points, 0, snapshot->point_count,
                                  sizeof *snapshot->points);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.counts, &counts, 0, 1, sizeof counts);
    free(kept);
    if (status == PSV_OK && snapshot->frames != NULL) status = fill_anchors(snapshot, world);
    return status == PSV_OK && snapshot->rolls != NULL ? fill_rolls(snapshot, world) : status;
}

// A refusal that names a def's field, as one of the file.
static psv_status of_file(const psvi_snapshot *snapshot, psv_status status) {
    if (status != PSV_ERROR_ARGUMENT) return status;
    char sentence[512];
    (void)snprintf(sentence, sizeof sentence, "%s", psv_last_error(snapshot->context));
    return psvi_fail(snapshot->context, PSV_ERROR_FORMAT, "%s: %s", snapshot->path, sentence);
}

static psvi_world_numbers numbers_of(const psvi_snapshot *snapshot) {
    const psvi_world_part *part = &snapshot->world;
    bool driven_ground = false;
    for (uint32_t i = 0; i < part->slots && !driven_ground; ++i)
        driven_ground = (snapshot->flags[i] & PSVI_FLAG_KINEMATIC) != 0 &&
                        psvi_is_ground(snapshot->shapes[snapshot->shape[i]].type);
    return (psvi_world_numbers){.generation = snapshot->generation,
                                .shape_of = snapshot->shape,
                                .free_slots = snapshot->free_slots,
                                .alive = snapshot->alive,
                                .slots = part->slots,
                                .free_count = part->free_count,
                                .living = part->living,
                                .lost_known = part->lost,
                                .idle_steps = part->idle_steps,
                                .steps_asked = part->steps,
                                .most_gravity = part->most_gravity,
                                .driven_ground = driven_ground};
}

static psv_status fill_world(const psvi_snapshot *snapshot, psv_world *world) {
    const psvi_world_part *part = &snapshot->world;
    const uint64_t n = part->slots;
    psv_status status = PSV_OK;
    uint32_t number;
    for (uint32_t i = 0; i < part->shape_count && status == PSV_OK; ++i)
        status = of_file(snapshot, psv_create_shape(world, &snapshot->shapes[i], &number));
    if (status == PSV_OK) status = psvi_check_snapshot_masses(snapshot, world);
    if (status == PSV_OK && (part->parts & PSVI_SNAPSHOT_FORCES) != 0) status = psvi_need_forces(world);
    if (status == PSV_OK && (part->parts & PSVI_SNAPSHOT_USER) != 0) status = psvi_need_user(world);
    for (size_t i = 0; i < BODY_ARRAYS && status == PSV_OK; ++i)
        if (has_array(part, i))
            status = psvi_write_array(world, address_at(&world->sim, body_arrays[i].in_world),
                                      address_at(snapshot, body_arrays[i].in_snapshot), 0, n, body_arrays[i].each);
    if (status != PSV_OK) return status;
    const psvi_world_numbers numbers = numbers_of(snapshot);
    psvi_put_world_numbers(world, &numbers);
    for (uint64_t i = 0; i < n; ++i)
        if (snapshot->alive[i]) psvi_note_ground(world, snapshot->shape[i], snapshot->sub_world[i]);
    status = psvi_update_terrain(world);
    return status == PSV_OK ? fill_kept(snapshot, world) : status;
}

psv_status psv_restore_snapshot(psv_context *context, const char *path, psv_world **world) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(context);
    if (path == NULL || world == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", path == NULL ? "path" : "world");
    *world = NULL;
    stream s = {.context = context, .path = path};
    psvi_snapshot snapshot = {.context = context, .path = path};
    psv_world *made = NULL;
    char *data = NULL;
    status = psvi_read_whole_file(context, path, "a snapshot", UINT64_MAX, &data, &s.size);
    s.data = (unsigned char *)data;
    if (status == PSV_OK) status = check_head(&s);
    if (status == PSV_OK) {
        get_snapshot(&s, &snapshot);
        status = s.status;
    }
    free(s.data);
    if (status == PSV_OK) status = psvi_check_snapshot(&snapshot);
    if (status == PSV_OK) status = of_file(&snapshot, make_world(context, &snapshot.world, &made));
    if (status == PSV_OK) status = fill_world(&snapshot, made);
    free_snapshot(&snapshot);
    if (status != PSV_OK) {
        psv_destroy_world(made);
        return status;
    }
    *world = made;
    return PSV_OK;
}
