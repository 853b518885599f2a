// Snapshots: the exact state of a world in one file, and back, bit for bit.
//
// Layout: magic, version, byte-order mark, then the parts below one after another without padding, then a checksum of
// all before it. Kept contacts are written in the order of their bodies, so equal worlds give equal files.
#include "contact_kept.h"
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "PSVWORLD"
#define VERSION 1u
#define BYTE_ORDER_MARK 0x01020304u

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

static uint64_t checksum(const unsigned char *data, uint64_t count) {
    uint64_t sum = psvi_mix64(count), word = 0;
    for (uint64_t i = 0; i < count; ++i) {
        word = word << 8 | data[i];
        if (i % 8 == 7 || i + 1 == count) {
            sum = psvi_mix64(sum ^ word);
            word = 0;
        }
    }
    return sum;
}

// --- the parts -------------------------------------------------------------------------------------------------------

// Fixed-size numbers of a world.
typedef struct world_part {
    float gravity[3], self_gravity, softening, bounds_min[3], bounds_max[3];
    uint32_t substeps, max_shapes, sub_world_count, shape_count, slots;
    uint32_t reserved[2]; // 0; fills up to 8 bytes, so that no padding of unknown content is written
    uint64_t max_bodies, max_pairs, max_contacts, free_count, living, steps, idle_steps, lost, contacts;
    char broad_phase[32], sort_method[32];
} world_part;

typedef struct shape_part {
    uint32_t type, child_count, columns, rows, vertex_count, triangle_count;
    float size[3], density, friction, restitution;
} shape_part;

static void put_shapes(stream *s, const psv_world *world) {
    for (uint32_t i = 0; i < world->shape_count; ++i) {
        const psv_shape_def *d = &world->shapes[i].def;
        bool compound = d->type == PSV_SHAPE_COMPOUND, field = d->type == PSV_SHAPE_HEIGHT_FIELD;
        bool mesh = d->type == PSV_SHAPE_MESH;
        shape_part part = {.type = (uint32_t)d->type,
                           .child_count = compound ? d->child_count : 0,
                           .columns = field ? d->columns : 0,
                           .rows = field ? d->rows : 0,
                           .vertex_count = mesh ? d->vertex_count : 0,
                           .triangle_count = mesh ? d->triangle_count : 0,
                           .density = d->density,
                           .friction = d->friction,
                           .restitution = d->restitution};
        memcpy(part.size, d->size, sizeof part.size);
        put(s, &part, sizeof part);
        put(s, d->children, part.child_count * sizeof *d->children);
        put(s, d->heights, sizeof(float) * part.columns * part.rows);
        put(s, d->vertices, 12ull * part.vertex_count);
        put(s, d->indices, 12ull * part.triangle_count);
    }
}

static void get_shapes(stream *s, psv_world *world, uint32_t count) {
    for (uint32_t i = 0; i < count && s->status == PSV_OK; ++i) {
        shape_part part;
        get(s, &part, sizeof part);
        psv_shape_def d = psv_default_shape_def();
        d.type = (psv_shape_type)part.type;
        memcpy(d.size, part.size, sizeof part.size);
        d.density = part.density;
        d.friction = part.friction;
        d.restitution = part.restitution;
        d.child_count = part.child_count;
        d.columns = part.columns;
        d.rows = part.rows;
        d.vertex_count = part.vertex_count;
        d.triangle_count = part.triangle_count;
        void *children = get_array(s, part.child_count, sizeof(psv_shape_child));
        void *heights = get_array(s, (uint64_t)part.columns * part.rows, sizeof(float));
        void *vertices = get_array(s, part.vertex_count, 12), *indices = get_array(s, part.triangle_count, 12);
        d.children = children;
        d.heights = heights;
        d.vertices = vertices;
        d.indices = indices;
        uint32_t number;
        if (s->status == PSV_OK) s->status = psv_create_shape(world, &d, &number);
        free(children);
        free(heights);
        free(vertices);
        free(indices);
    }
}

// The arrays of bodies, in the order of the file.
static void body_arrays(psv_world *world, void *address[9], uint64_t each[9]) {
    psvi_sim *m = &world->sim;
    void *const addresses[9] = {m->position, m->rotation,  m->velocity, m->angular_velocity, m->shape, m->flags,
                                m->filter,   m->sub_world, m->box};
    const uint64_t sizes[9] = {16, 16, 16, 16, 4, 1, sizeof(psv_box_filter), 4, sizeof(psv_aabb)};
    memcpy(address, addresses, sizeof addresses);
    memcpy(each, sizes, sizeof sizes);
}

static void put_bodies(stream *s, psv_world *world) {
    void *address[9];
    uint64_t each[9], n = world->sim.slots;
    body_arrays(world, address, each);
    for (int i = 0; i < 9 && s->status == PSV_OK; ++i) {
        void *copy = malloc(n * each[i] + 1);
        if (copy == NULL)
            s->status =
                psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes", n * each[i]);
        else
            s->status = psvi_read_array(world, copy, address[i], 0, n, each[i]);
        put(s, copy, n * each[i]);
        free(copy);
    }
    put(s, world->generation, n * sizeof(uint32_t));
    put(s, world->alive, n);
    put(s, world->free_slots, world->free_count * sizeof(uint32_t));
}

static void check_slots(stream *s, const psv_world *world, const uint32_t *shape, const uint32_t *sub_world) {
    uint64_t living = 0;
    for (uint32_t i = 0; i < world->sim.slots && s->status == PSV_OK; ++i) {
        living += world->alive[i] != 0;
        if (shape[i] >= world->shape_count || sub_world[i] >= world->def.sub_world_count)
            s->status = psvi_fail(s->context, PSV_ERROR_FORMAT,
                                  "%s: body %u has shape %u and sub-world %u; the world "
                                  "has %u and %u",
                                  s->path, i, shape[i], sub_world[i], world->shape_count, world->def.sub_world_count);
    }
    for (uint64_t i = 0; i < world->free_count && s->status == PSV_OK; ++i)
        if (world->free_slots[i] >= world->sim.slots || world->alive[world->free_slots[i]])
            s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: slot %u is listed as free and is not", s->path,
                                  world->free_slots[i]);
    if (s->status == PSV_OK && (living != world->living || living + world->free_count != world->sim.slots))
        s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the counts of bodies do not agree", s->path);
}

static void get_bodies(stream *s, psv_world *world) {
    void *address[9], *shape = NULL, *sub_world = NULL;
    uint64_t each[9], n = world->sim.slots;
    body_arrays(world, address, each);
    for (int i = 0; i < 9 && s->status == PSV_OK; ++i) {
        void *copy = get_array(s, n, each[i]);
        if (s->status == PSV_OK) s->status = psvi_write_array(world, address[i], copy, 0, n, each[i]);
        if (i == 4)
            shape = copy;
        else if (i == 7)
            sub_world = copy;
        else
            free(copy);
    }
    get(s, world->generation, n * sizeof(uint32_t));
    get(s, world->alive, n);
    get(s, world->free_slots, world->free_count * sizeof(uint32_t));
    if (s->status == PSV_OK) check_slots(s, world, shape, sub_world);
    if (s->status == PSV_OK) memcpy(world->shape_of, shape, n * sizeof(uint32_t));
    free(shape);
    free(sub_world);
    if (s->status == PSV_OK) s->status = psvi_update_terrain(world);
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
        if (kept[i].key != 0) kept[n++] = kept[i];
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
        put(s, &kept[i].count_colour, sizeof kept[i].count_colour);
        put(s, points + kept[i].first, (kept[i].count_colour & 0xffu) * sizeof *points);
    }
    free(points);
}

static void get_kept(stream *s, psv_world *world, uint64_t count) {
    if (count > (s->size - s->place) / 12 || s->status != PSV_OK) {
        if (s->status == PSV_OK)
            s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %" PRIu64 " contacts are more than the file holds",
                                  s->path, count);
        return;
    }
    if (count > world->sim.contact_capacity || count * PSVI_MAX_POINTS > world->sim.point_capacity)
        s->status = psvi_grow_contacts(world, count, count * PSVI_MAX_POINTS);
    uint64_t mask = psvi_kept_mask(count), places = mask + 1, room = world->sim.point_capacity, used = 0;
    uint64_t scale = psvi_kept_scale(mask, world->sim.slots);
    psvi_kept_contact *kept = calloc(places, sizeof *kept);
    psvi_kept_point *points = calloc(room + 1, sizeof *points);
    if (s->status == PSV_OK && (kept == NULL || points == NULL))
        s->status = psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " contacts", count);
    for (uint64_t i = 0; i < count && s->status == PSV_OK; ++i) {
        psvi_kept_contact c = {0};
        get(s, &c.key, sizeof c.key);
        get(s, &c.count_colour, sizeof c.count_colour);
        uint32_t n = c.count_colour & 0xffu;
        if (s->status == PSV_OK && (n > PSVI_MAX_POINTS || c.key == 0)) {
            s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: contact %" PRIu64 " has %u points", s->path, i, n);
            break;
        }
        c.first = (uint32_t)used;
        get(s, points + used, n * sizeof *points);
        used += n;
        uint32_t first = (uint32_t)((c.key - 1) >> 32), turn = 0;
        uint64_t mixed = psvi_mix64(c.key), place = psvi_kept_place(first, mixed, 0, mask, scale);
        while (kept[place].key != 0)
            place = psvi_kept_place(first, mixed, ++turn, mask, scale);
        kept[place] = c;
    }
    if (s->status == PSV_OK) s->status = psvi_write_array(world, world->sim.kept, kept, 0, places, sizeof *kept);
    if (s->status == PSV_OK)
        s->status = psvi_write_array(world, world->sim.kept_points, points, 0, used, sizeof *points);
    free(kept);
    free(points);
}

// --- files -----------------------------------------------------------------------------------------------------------

static psv_status write_file(stream *s) {
    FILE *file = fopen(s->path, "wb");
    if (file == NULL) return psvi_fail(s->context, PSV_ERROR_FILE, "%s: %s", s->path, strerror(errno));
    bool written = fwrite(s->data, 1, s->size, file) == s->size;
    written = fclose(file) == 0 && written;
    return written ? PSV_OK : psvi_fail(s->context, PSV_ERROR_FILE, "%s: could not be written to its end", s->path);
}

psv_status psv_save_snapshot(psv_world *world, const char *path) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    if (path == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "path is NULL");
    stream s = {.context = world->context, .path = path};
    const uint32_t head[2] = {VERSION, BYTE_ORDER_MARK};
    put(&s, MAGIC, 8);
    put(&s, head, sizeof head);
    uint64_t count = 0;
    psvi_step_counts counts = {0};
    if (s.status == PSV_OK) s.status = psvi_read_array(world, &counts, world->sim.counts, 0, 1, sizeof counts);
    psvi_kept_contact *kept = s.status == PSV_OK ? read_kept(&s, world, counts.kept_mask + 1, &count) : NULL;
    const psv_world_def *d = &world->def;
    world_part part = {.self_gravity = d->self_gravity,
                       .softening = d->softening,
                       .substeps = d->substeps,
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
    if (s.status == PSV_OK) {
        uint64_t sum = checksum(s.data, s.size);
        put(&s, &sum, sizeof sum);
    }
    if (s.status == PSV_OK) s.status = write_file(&s);
    free(kept);
    free(s.data);
    return s.status;
}

static psv_status read_file(stream *s) {
    FILE *file = fopen(s->path, "rb");
    if (file == NULL) return psvi_fail(s->context, PSV_ERROR_FILE, "%s: %s", s->path, strerror(errno));
    unsigned char block[16384];
    size_t got;
    while ((got = fread(block, 1, sizeof block, file)) > 0 && s->status == PSV_OK)
        put(s, block, got);
    if (s->status == PSV_OK && ferror(file) != 0)
        s->status = psvi_fail(s->context, PSV_ERROR_FILE, "%s: cannot be read", s->path);
    (void)fclose(file);
    return s->status;
}

static psv_status check_head(stream *s) {
    char magic[8];
    uint32_t head[2];
    if (s->size < 24 || memcmp(s->data, MAGIC, 8) != 0)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: no snapshot of a world", s->path);
    get(s, magic, sizeof magic);
    get(s, head, sizeof head);
    if (head[1] != BYTE_ORDER_MARK)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the snapshot is of a machine with another byte order",
                         s->path);
    if (head[0] != VERSION)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the snapshot is of version %u; %u can be read", s->path,
                         head[0], VERSION);
    uint64_t sum;
    memcpy(&sum, s->data + s->size - 8, 8);
    s->size -= 8;
    if (sum != checksum(s->data, s->size))
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the snapshot is damaged: its checksum does not fit",
                         s->path);
    return PSV_OK;
}

// Methods do not change what a world does, so one that is not here (of another backend, say) gives way to the default.
static const char *known_or(const char *name, const char *description, const char *otherwise) {
    return description != NULL || strcmp(name, "auto") == 0 ? name : otherwise;
}

static psv_status make_world(stream *s, const world_part *part, psv_world **world) {
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
    d.max_shapes = part->max_shapes;
    d.sub_world_count = part->sub_world_count;
    d.max_bodies = part->max_bodies;
    d.max_pairs = part->max_pairs;
    d.max_contacts = part->max_contacts;
    const psv_backend backend = s->context->backend;
    d.broad_phase = known_or(broad_phase, psv_broad_phase_description(backend, broad_phase), d.broad_phase);
    d.sort_method = known_or(sort_method, psv_sort_method_description(backend, sort_method), d.sort_method);
    if (part->slots > part->max_bodies || part->free_count > part->slots || part->shape_count > part->max_shapes)
        return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %u slots, %" PRIu64 " bodies at most: this cannot be",
                         s->path, part->slots, part->max_bodies);
    return psv_create_world(s->context, &d, world);
}

static psv_status fill_world(stream *s, const world_part *part, psv_world *world) {
    get_shapes(s, world, part->shape_count);
    if (s->status != PSV_OK) return s->status;
    world->sim.slots = part->slots;
    world->free_count = part->free_count;
    world->living = part->living;
    world->idle_steps = part->idle_steps;
    world->steps_asked = part->steps;
    world->lost_known = part->lost;
    get_bodies(s, world);
    get_kept(s, world, part->contacts);
    if (s->status == PSV_OK && s->place != s->size)
        s->status = psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %" PRIu64 " bytes too many at the end", s->path,
                              s->size - s->place);
    psvi_step_counts counts = {.lost = part->lost, .steps = part->steps, .kept_mask = psvi_kept_mask(part->contacts)};
    counts.kept_scale = psvi_kept_scale(counts.kept_mask, world->sim.slots);
    if (s->status == PSV_OK) s->status = psvi_write_array(world, world->sim.counts, &counts, 0, 1, sizeof counts);
    return s->status;
}

psv_status psv_restore_snapshot(psv_context *context, const char *path, psv_world **world) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(context);
    if (path == NULL || world == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s is NULL", path == NULL ? "path" : "world");
    *world = NULL;
    stream s = {.context = context, .path = path};
    world_part part;
    psv_world *made = NULL;
    status = read_file(&s);
    if (status == PSV_OK) status = check_head(&s);
    if (status == PSV_OK) {
        get(&s, &part, sizeof part);
        status = s.status;
    }
    if (status == PSV_OK) status = make_world(&s, &part, &made);
    if (status == PSV_OK) status = fill_world(&s, &part, made);
    free(s.data);
    if (status != PSV_OK) {
        psv_destroy_world(made);
        return status;
    }
    *world = made;
    return PSV_OK;
}
