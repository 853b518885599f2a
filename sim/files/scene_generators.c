// Generators: each makes its part of the wanted bodies.
#include "../solver/body_motion.h"
#include "scene.h"

#include <stdlib.h>
#include <string.h>

#define MAX_KINDS 64
#define GOLDEN 2.39996323f

uint64_t psvi_next_random(psvi_builder *b) {
    b->random += 0x9e3779b97f4a7c15ull;
    return psvi_mix64(b->random);
}

float psvi_random_float(psvi_builder *b) { return (float)(psvi_next_random(b) >> 40) * (1.0f / 16777216.0f); }

static v3 random_in_ball(psvi_builder *b, float radius) {
    return v3_scale(psvi_ball_point(psvi_next_random(b)), radius);
}

static quat random_turn(psvi_builder *b) { // uniform: Shoemake 1992
    float u = psvi_random_float(b), v = 6.2831853f * psvi_random_float(b), w = 6.2831853f * psvi_random_float(b);
    float p = sqrtf(1 - u), q = sqrtf(u);
    return quat_make(p * sinf(v), p * cosf(v), q * sinf(w), q * cosf(w));
}

psv_status psvi_add_body(psvi_builder *b, const psv_body_def *def) {
    if (b->body_count == b->body_room) {
        uint64_t room = b->body_room == 0 ? 1024 : 2 * b->body_room;
        psv_body_def *grown = realloc(b->bodies, room * sizeof *grown);
        if (grown == NULL)
            return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %llu bytes of bodies",
                             (unsigned long long)(room * sizeof *grown));
        b->bodies = grown;
        b->body_room = room;
    }
    b->bodies[b->body_count++] = *def;
    return PSV_OK;
}

// What a generator takes from "shapes": names, each with how many in a row of taking turns.
typedef struct kinds {
    const psvi_scene_shape *shape[MAX_KINDS];
    uint32_t times[MAX_KINDS], count, period;
    float radius; // of the largest
} kinds;

static psv_status read_kinds(psvi_builder *b, const psvi_node *node, kinds *k) {
    psvi_node list = psvi_member(node, "shapes");
    *k = (kinds){0};
    if (list.value == NULL) return psvi_node_fail(node, "this generator needs \"shapes\"");
    psv_status status = psvi_expect_array(&list, 1, MAX_KINDS);
    if (status != PSV_OK) return status;
    for (size_t i = 0; i < json_array_size(list.value); ++i) {
        psvi_node item = psvi_element(&list, i);
        const char *name = json_string_value(item.value);
        uint32_t times = 1;
        if (json_is_array(item.value)) { // ["name", times]
            psvi_node first = psvi_element(&item, 0), second = psvi_element(&item, 1);
            name = json_string_value(first.value);
            json_int_t number = json_integer_value(second.value);
            if (json_array_size(item.value) != 2 || name == NULL || number < 1 || number > 100000)
                return psvi_node_fail(&item, "a shape's name, or [name, times], is expected here");
            times = (uint32_t)number;
        }
        const psvi_scene_shape *shape = name == NULL ? NULL : psvi_find_shape(b, name);
        if (shape == NULL)
            return psvi_node_fail(&item, "there is no shape \"%.60s\" in \"shapes\"", name ? name : "(not a string)");
        if (psvi_is_ground(b->shape_defs[shape->first].type))
            return psvi_node_fail(&item, "the shape \"%.60s\" is ground: it cannot be thrown about", name);
        k->shape[k->count] = shape;
        k->times[k->count++] = times;
        k->period += times;
        for (uint32_t v = 0; v < shape->count; ++v)
            k->radius = fmaxf(k->radius, shape->radius[v]);
    }
    return PSV_OK;
}

// The shape of the index-th body: kinds in turn, sizes by their weights. *variant is the place among the sizes.
static uint32_t pick(psvi_builder *b, const kinds *k, uint64_t index, uint32_t *kind, uint32_t *variant) {
    // The list of kinds has one at least, and each at least one turn.
    uint32_t place = (uint32_t)(index % k->period), i = 0; // NOLINT(clang-analyzer-core.DivideZero)
    while (place >= k->times[i])
        place -= k->times[i++];
    const psvi_scene_shape *shape = k->shape[i];
    float u = psvi_random_float(b);
    uint32_t v = 0;
    while (v + 1 < shape->count && u >= shape->weight[v])
        u -= shape->weight[v++];
    *kind = i;
    *variant = v;
    return shape->first + v;
}

static void set_position(psv_body_def *def, v3 p) {
    def->pose.position[0] = p.x;
    def->pose.position[1] = p.y;
    def->pose.position[2] = p.z;
}

static void set_rotation(psv_body_def *def, quat q) { memcpy(def->pose.rotation, &q, sizeof q); }

// Middle of a sub-world: they stand in a square beside each other, for whoever looks.
static v3 world_origin(const psvi_builder *b, uint64_t world) {
    uint64_t side = (uint64_t)ceilf(sqrtf((float)b->world.sub_world_count));
    float x = (float)(world % side) - 0.5f * (float)(side - 1), z = (float)(world / side) - 0.5f * (float)(side - 1);
    return v3_make(x * b->world_spacing, 0, z * b->world_spacing);
}

// --- fill: a loose heap in the air over a square -------------------------------------------------------------------

typedef struct fill_options {
    float spacing, aspect, jitter, width, base[3];
    bool turn;
} fill_options;

// Bodies of equal size in a lattice from height *top up; *top becomes its upper end.
static psv_status fill_block(psvi_builder *b, const kinds *k, const fill_options *o, const uint64_t *order,
                             uint64_t count, float radius, float *top, uint32_t world) {
    float step = 2 * radius * o->spacing;
    float width = o->width > 0 ? o->width : step * cbrtf((float)count / o->aspect);
    uint64_t side = (uint64_t)fmaxf(1.0f, floorf(width / step + 0.5f));
    v3 origin = world_origin(b, world);
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t layer = i / (side * side), row = i / side % side, column = i % side;
        v3 p = v3_make(((float)column - 0.5f * (float)(side - 1)) * step, *top + ((float)layer + 0.5f) * step,
                       ((float)row - 0.5f * (float)(side - 1)) * step);
        // every other layer stands over the gaps, so that towers of spheres do not balance
        if (layer % 2 == 1) p = v3_add(p, v3_make(0.25f * step, 0, 0.25f * step));
        p = v3_add(p, random_in_ball(b, o->jitter * step));
        psv_body_def def = psv_default_body_def();
        uint32_t kind, variant;
        def.shape = order != NULL ? (uint32_t)order[i] : pick(b, k, i, &kind, &variant);
        def.sub_world = world;
        set_position(&def, v3_add(v3_add(origin, v3_of(o->base)), p));
        if (o->turn) set_rotation(&def, random_turn(b));
        psv_status status = psvi_add_body(b, &def);
        if (status != PSV_OK) return status;
    }
    *top += step * (float)((count + side * side - 1) / (side * side));
    return PSV_OK;
}

typedef struct sized {
    float radius;
    uint32_t shape;
} sized;

static int larger_first(const void *x, const void *y) {
    const sized *a = x, *b = y;
    if (a->radius != b->radius) return a->radius < b->radius ? 1 : -1;
    return a->shape < b->shape ? -1 : a->shape > b->shape;
}

// Mixed sizes: the largest at the bottom, each size class in a lattice of its own, all of one width.
static psv_status fill_mixed(psvi_builder *b, const kinds *k, const fill_options *o, uint64_t count, uint32_t world) {
    sized *all = malloc((count + 1) * sizeof *all);
    uint64_t *order = malloc((count + 1) * sizeof *order);
    psv_status status = PSV_OK;
    if (all == NULL || order == NULL)
        status =
            psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %llu bodies", (unsigned long long)count);
    double volume = 0;
    for (uint64_t i = 0; i < count && status == PSV_OK; ++i) {
        uint32_t kind, variant;
        all[i].shape = pick(b, k, i, &kind, &variant);
        all[i].radius = k->shape[kind]->radius[variant];
        volume += pow(2.0 * (double)(all[i].radius * o->spacing), 3);
    }
    if (status == PSV_OK) {
        qsort(all, count, sizeof *all, larger_first);
        fill_options same = *o;
        if (!(same.width > 0)) same.width = fmaxf((float)cbrt(volume / (double)o->aspect), 2 * k->radius);
        float top = 0;
        for (uint64_t first = 0, next; first < count && status == PSV_OK; first = next) {
            for (next = first; next < count && all[next].radius > 0.999f * all[first].radius; ++next)
                order[next - first] = all[next].shape;
            status = fill_block(b, k, &same, order, next - first, all[first].radius, &top, world);
        }
    }
    free(all);
    free(order);
    return status;
}

static psv_status run_fill(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type", "share", "shapes", "spacing",        "aspect", "jitter",
                                       "turn", "base",  "width",  "over_landscape", NULL};
    fill_options o = {.spacing = 1.1f, .aspect = 1, .jitter = 0.02f, .turn = true};
    float over = 0;
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_float(node, "spacing", 0.5, 100, &o.spacing);
    if (status == PSV_OK) status = psvi_read_float(node, "aspect", 1e-3, 1e3, &o.aspect);
    if (status == PSV_OK) status = psvi_read_float(node, "jitter", 0, 1, &o.jitter);
    if (status == PSV_OK) status = psvi_read_float(node, "width", 0, 1e6, &o.width);
    if (status == PSV_OK) status = psvi_read_float(node, "over_landscape", 0, 1, &over);
    if (status == PSV_OK) status = psvi_read_floats(node, "base", 3, o.base);
    if (status == PSV_OK) status = psvi_read_bool(node, "turn", &o.turn);
    if (status == PSV_OK && over > 0 && b->landscape_size <= 0)
        status = psvi_node_fail(node, "\"over_landscape\" needs a \"landscape\" generator before this one");
    if (over > 0) o.width = over * b->landscape_size;
    bool mixed = false;
    for (uint32_t i = 0; status == PSV_OK && i < k.count; ++i)
        for (uint32_t v = 0; v < k.shape[i]->count; ++v)
            mixed |= k.shape[i]->radius[v] < 0.5f * k.radius;
    uint64_t each = b->bodies_per_world > 0 ? b->bodies_per_world : count;
    for (uint64_t done = 0, world = 0; status == PSV_OK && done < count; done += each, ++world) {
        uint64_t n = count - done < each ? count - done : each;
        float top = 0;
        status = mixed ? fill_mixed(b, &k, &o, n, (uint32_t)world)
                       : fill_block(b, &k, &o, NULL, n, k.radius, &top, (uint32_t)world);
    }
    return status;
}

// --- grid: a regular lattice ---------------------------------------------------------------------------------------

static psv_status run_grid(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type", "share", "shapes", "columns", "rows", "spacing", "base", NULL};
    float spacing[3] = {1, 1, 1}, base[3] = {0, 0, 0};
    uint64_t side = (uint64_t)ceil(cbrt((double)count)), columns = side, rows = side;
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_count(node, "columns", 1, 1000000, &columns);
    if (status == PSV_OK) status = psvi_read_count(node, "rows", 1, 1000000, &rows);
    if (status == PSV_OK) status = psvi_read_floats(node, "spacing", 3, spacing);
    if (status == PSV_OK) status = psvi_read_floats(node, "base", 3, base);
    for (uint64_t i = 0; status == PSV_OK && i < count; ++i) {
        uint64_t column = i % columns, row = i / columns % rows, layer = i / (columns * rows);
        psv_body_def def = psv_default_body_def();
        uint32_t kind, variant;
        def.shape = pick(b, &k, i, &kind, &variant);
        v3 p = v3_make(((float)column - 0.5f * (float)(columns - 1)) * spacing[0], (float)layer * spacing[1],
                       ((float)row - 0.5f * (float)(rows - 1)) * spacing[2]);
        set_position(&def, v3_add(v3_of(base), p));
        status = psvi_add_body(b, &def);
    }
    return status;
}

// --- stack: columns, or pyramids of one box thickness ---------------------------------------------------------------

static psv_status run_stack(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type", "share", "shapes", "kind", "height", "pitch", "distance", "base", NULL};
    const char *kind = "column";
    uint64_t height = 10;
    float pitch[2] = {1.05f, 1}, distance = 4, base[3] = {0, 0, 0};
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_string(node, "kind", &kind);
    if (status == PSV_OK) status = psvi_read_count(node, "height", 1, 10000, &height);
    if (status == PSV_OK) status = psvi_read_floats(node, "pitch", 2, pitch); // across, up
    if (status == PSV_OK) status = psvi_read_float(node, "distance", 1e-3, 1e6, &distance);
    if (status == PSV_OK) status = psvi_read_floats(node, "base", 3, base);
    if (status != PSV_OK) return status;
    bool pyramid = strcmp(kind, "pyramid") == 0;
    if (!pyramid && strcmp(kind, "column") != 0) {
        psvi_node at = psvi_member(node, "kind");
        return psvi_node_fail(&at, "unknown kind \"%.40s\"; possible here: column, pyramid", kind);
    }
    uint64_t group = pyramid ? height * (height + 1) / 2 : height, groups = (count + group - 1) / group;
    uint64_t side = pyramid ? 1 : (uint64_t)ceil(sqrt((double)groups));
    for (uint64_t i = 0; status == PSV_OK && i < count; ++i) {
        uint64_t g = i / group, place = i % group, layer = place, across = 0, width = 1;
        if (pyramid) {
            for (layer = 0, width = height; place >= width; ++layer, --width)
                place -= width;
            across = place;
        }
        psv_body_def def = psv_default_body_def();
        uint32_t shape_kind, variant;
        def.shape = pick(b, &k, i, &shape_kind, &variant);
        v3 p = v3_make(((float)across - 0.5f * (float)(width - 1)) * pitch[0], (float)layer * pitch[1], 0);
        v3 middle = v3_make(((float)(g % side) - 0.5f * (float)(side - 1)) * distance, 0,
                            ((float)(g / side) - 0.5f * (float)((groups + side - 1) / side - 1)) * distance);
        set_position(&def, v3_add(v3_of(base), v3_add(p, middle)));
        status = psvi_add_body(b, &def);
    }
    return status;
}

// --- spiral: a row that winds outwards, such as dominoes
// --------------------------------------------------------------

// The turn after a way s along r = radius + pitch turn / 2 pi, of which the way outwards is left out.
static float spiral_turn(float radius, float pitch, float s) {
    const float k = pitch / 6.2831853f;
    return k > 0 ? (sqrtf(radius * radius + 2 * k * s) - radius) / k : s / radius;
}

static psv_status run_spiral(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type",    "share", "shapes",    "radius", "pitch",
                                       "spacing", "tip",   "tip_every", "base",   NULL};
    float radius = 3, pitch = 1, spacing = 1, tip = 0, base[3] = {0, 0, 0};
    uint64_t every = 0;
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_float(node, "radius", 1e-3, 1e6, &radius);
    if (status == PSV_OK) status = psvi_read_float(node, "pitch", 0, 1e6, &pitch);
    if (status == PSV_OK) status = psvi_read_float(node, "spacing", 1e-3, 1e6, &spacing);
    if (status == PSV_OK) status = psvi_read_float(node, "tip", 0, 1e3, &tip);
    if (status == PSV_OK) status = psvi_read_count(node, "tip_every", 1, UINT32_MAX, &every);
    if (status == PSV_OK) status = psvi_read_floats(node, "base", 3, base);
    for (uint64_t i = 0; status == PSV_OK && i < count; ++i) {
        psv_body_def def = psv_default_body_def();
        uint32_t kind, variant;
        def.shape = pick(b, &k, i, &kind, &variant);
        const float turn = spiral_turn(radius, pitch, spacing * (float)i), r = radius + pitch * turn / 6.2831853f;
        const v3 along = v3_make(-sinf(turn), 0, cosf(turn));
        const float half = 0.5f * atan2f(-along.z, along.x);
        set_position(&def, v3_add(v3_of(base), v3_make(r * cosf(turn), 0, r * sinf(turn))));
        set_rotation(&def, quat_make(0, sinf(half), 0, cosf(half)));
        if (tip > 0 && (every > 0 ? i % every == 0 : i == 0)) { // falls on the next one
            const v3 spin = v3_scale(v3_make(along.z, 0, -along.x), tip), push = v3_scale(along, 0.3f * tip);
            memcpy(def.angular_velocity, &spin, sizeof spin);
            memcpy(def.velocity, &push, sizeof push);
        }
        status = psvi_add_body(b, &def);
    }
    return status;
}

// --- random: anywhere in a ball or box, overlapping as it comes ------------------------------------------------------

static psv_status run_random(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type", "share", "shapes", "radius", "size", "centre", "speed", "turn", NULL};
    float radius = 0, size[3] = {0, 0, 0}, centre[3] = {0, 0, 0}, speed = 0;
    bool turn = true;
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_float(node, "radius", 0, 1e6, &radius);
    if (status == PSV_OK) status = psvi_read_floats(node, "size", 3, size);
    if (status == PSV_OK) status = psvi_read_floats(node, "centre", 3, centre);
    if (status == PSV_OK) status = psvi_read_float(node, "speed", 0, 1e6, &speed);
    if (status == PSV_OK) status = psvi_read_bool(node, "turn", &turn);
    float l = b->room_length;
    for (uint64_t i = 0; status == PSV_OK && i < count; ++i) {
        psv_body_def def = psv_default_body_def();
        uint32_t kind, variant;
        def.shape = pick(b, &k, i, &kind, &variant);
        v3 box = v3_make(psvi_random_float(b) - 0.5f, psvi_random_float(b) - 0.5f, psvi_random_float(b) - 0.5f);
        v3 p = v3_make(box.x * size[0], box.y * size[1], box.z * size[2]);
        if (radius > 0) p = random_in_ball(b, radius);
        set_position(&def, v3_scale(v3_add(v3_of(centre), p), l));
        v3 v = random_in_ball(b, speed * l);
        memcpy(def.velocity, &v, sizeof v);
        if (turn) set_rotation(&def, random_turn(b));
        status = psvi_add_body(b, &def);
    }
    return status;
}

// --- emitter: bodies come one after another --------------------------------------------------------------------------

static psv_status run_emitter(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type",   "share",    "shapes", "rate", "position",
                                       "radius", "velocity", "spread", NULL};
    float rate = 100, position[3] = {0, 10, 0}, radius = 1, velocity[3] = {0, 0, 0}, spread = 0;
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_float(node, "rate", 1e-3, 1e9, &rate);
    if (status == PSV_OK) status = psvi_read_floats(node, "position", 3, position);
    if (status == PSV_OK) status = psvi_read_float(node, "radius", 0, 1e6, &radius);
    if (status == PSV_OK) status = psvi_read_floats(node, "velocity", 3, velocity);
    if (status == PSV_OK) status = psvi_read_float(node, "spread", 0, 1e6, &spread);
    if (status == PSV_OK && b->scene->emitter_count == PSVI_MAX_EMITTERS)
        status = psvi_node_fail(node, "more than %d emitters", PSVI_MAX_EMITTERS);
    if (status != PSV_OK) return status;
    psvi_emitter *e = &b->scene->emitters[b->scene->emitter_count];
    e->bodies = malloc((count + 1) * sizeof *e->bodies);
    if (e->bodies == NULL)
        return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %llu bodies of an emitter",
                         (unsigned long long)count);
    ++b->scene->emitter_count;
    e->count = count;
    e->rate = rate;
    for (uint64_t i = 0; i < count; ++i) {
        psv_body_def def = psv_default_body_def();
        uint32_t kind, variant;
        def.shape = pick(b, &k, i, &kind, &variant);
        v3 v = v3_add(v3_of(velocity), random_in_ball(b, spread));
        memcpy(def.velocity, &v, sizeof v);
        // a sunflower over the nozzle, so that bodies of one frame do not overlap
        float r = radius * sqrtf(((float)(i % 64) + 0.5f) / 64.0f), angle = GOLDEN * (float)(i % 4096);
        set_position(&def, v3_add(v3_of(position), v3_make(r * cosf(angle), 0, r * sinf(angle))));
        set_rotation(&def, random_turn(b));
        e->bodies[i] = def;
    }
    return PSV_OK;
}

// --- mesh_instances: static meshes in a row of rows ------------------------------------------------------------------

static psv_status run_mesh_instances(psvi_builder *b, const psvi_node *node) {
    static const char *const keys[] = {"type", "mesh", "count", "columns", "distance", "base", "rotation", NULL};
    const char *name = NULL;
    uint64_t count = 1, columns = 1;
    float distance = 1, base[3] = {0, 0, 0}, rotation[4] = {0, 0, 0, 1};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = psvi_read_string(node, "mesh", &name);
    if (status == PSV_OK) status = psvi_read_count(node, "count", 1, 100000, &count);
    if (status == PSV_OK) status = psvi_read_count(node, "columns", 1, 100000, &columns);
    if (status == PSV_OK) status = psvi_read_float(node, "distance", 0, 1e6, &distance);
    if (status == PSV_OK) status = psvi_read_floats(node, "base", 3, base);
    if (status == PSV_OK) status = psvi_read_floats(node, "rotation", 4, rotation);
    if (status != PSV_OK) return status;
    const psvi_scene_shape *shape = name == NULL ? NULL : psvi_find_shape(b, name);
    if (shape == NULL) return psvi_node_fail(node, "\"mesh\" must name a shape of \"shapes\"");
    for (uint64_t i = 0; status == PSV_OK && i < count; ++i) {
        psv_body_def def = psv_default_body_def();
        def.shape = shape->first;
        def.is_static = true;
        memcpy(def.pose.rotation, rotation, sizeof rotation);
        set_position(&def,
                     v3_add(v3_of(base), v3_make((float)(i % columns) * distance, 0, (float)(i / columns) * distance)));
        status = psvi_add_body(b, &def);
    }
    return status;
}

// --- galaxy: a disc that turns about a heavy middle ------------------------------------------------------------------

static psv_status run_galaxy(psvi_builder *b, const psvi_node *node, uint64_t count) {
    static const char *const keys[] = {"type", "share", "shapes", "centre", "radius", "thickness", "hole", NULL};
    const char *centre = NULL;
    float radius = 100, thickness = 2, hole = 10;
    kinds k = {0};
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_kinds(b, node, &k);
    if (status == PSV_OK) status = psvi_read_string(node, "centre", &centre);
    if (status == PSV_OK) status = psvi_read_float(node, "radius", 1e-3, 1e6, &radius);
    if (status == PSV_OK) status = psvi_read_float(node, "thickness", 0, 1e6, &thickness);
    if (status == PSV_OK) status = psvi_read_float(node, "hole", 0, 1e6, &hole);
    if (status != PSV_OK) return status;
    const psvi_scene_shape *heart = centre == NULL ? NULL : psvi_find_shape(b, centre);
    if (heart == NULL || b->shape_defs[heart->first].type > PSV_SHAPE_SPHERE)
        return psvi_node_fail(node, "\"centre\" must name a particle or sphere of \"shapes\"");
    if (!(hole < radius)) return psvi_node_fail(node, "\"hole\" must be smaller than \"radius\"");
    // the same volume per body at any count
    float grow = sqrtf((float)count / 16384.0f);
    radius *= grow;
    const psv_shape_def *h = &b->shape_defs[heart->first], *s = &b->shape_defs[k.shape[0]->first];
    float pi43 = 4.18879020f;
    float heart_mass = pi43 * h->size[0] * h->size[0] * h->size[0] * h->density;
    float disc_mass = pi43 * s->size[0] * s->size[0] * s->size[0] * s->density * (float)count;
    float soft = b->world.softening;
    for (uint64_t i = 0; status == PSV_OK && i < count; ++i) {
        psv_body_def def = psv_default_body_def();
        if (i == 0) {
            def.shape = heart->first;
            status = psvi_add_body(b, &def);
            continue;
        }
        uint32_t kind, variant;
        def.shape = pick(b, &k, i, &kind, &variant);
        float share = psvi_random_float(b);
        float r = sqrtf(hole * hole + share * (radius * radius - hole * hole));
        float angle = 6.2831853f * psvi_random_float(b);
        float y = thickness * (psvi_random_float(b) + psvi_random_float(b) - 1);
        set_position(&def, v3_make(r * cosf(angle), y, r * sinf(angle)));
        float mass = heart_mass + disc_mass * share;
        float speed = r * sqrtf(b->world.self_gravity * mass / powf(r * r + soft * soft, 1.5f));
        def.velocity[0] = -speed * sinf(angle);
        def.velocity[2] = speed * cosf(angle);
        status = psvi_add_body(b, &def);
    }
    return status;
}

// --- landscape: hills ------------------------------------------------------------------------------------------------

static float hash_height(uint64_t seed, int64_t x, int64_t z) {
    uint64_t h = psvi_mix64(seed ^ psvi_mix64((uint64_t)x * 0x632be59bd9b4e019ull + (uint64_t)z));
    return (float)(h >> 40) * (1.0f / 16777216.0f);
}

static float value_noise(uint64_t seed, float x, float z) {
    float fx = floorf(x), fz = floorf(z), u = x - fx, v = z - fz;
    int64_t ix = (int64_t)fx, iz = (int64_t)fz;
    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    float a = hash_height(seed, ix, iz), c = hash_height(seed, ix + 1, iz);
    float d = hash_height(seed, ix, iz + 1), e = hash_height(seed, ix + 1, iz + 1);
    return (a + (c - a) * u) * (1 - v) + (d + (e - d) * u) * v;
}

static psv_status run_landscape(psvi_builder *b, const psvi_node *node) {
    static const char *const keys[] = {"type", "size", "area_per_body", "samples", "height",
                                       "hill", "rim",  "friction",      NULL};
    float size = 100, area = 0, height = 10, hill = 25, rim = 0;
    uint64_t samples = 257;
    psv_shape_def def = psv_default_shape_def();
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = psvi_read_float(node, "size", 1, 1e6, &size);
    if (status == PSV_OK) status = psvi_read_float(node, "area_per_body", 0, 1e6, &area);
    if (status == PSV_OK) status = psvi_read_count(node, "samples", 2, 8193, &samples);
    if (status == PSV_OK) status = psvi_read_float(node, "height", 0, 1e5, &height);
    if (status == PSV_OK) status = psvi_read_float(node, "hill", 1e-3, 1e6, &hill);
    if (status == PSV_OK) status = psvi_read_float(node, "rim", 0, 1e5, &rim);
    if (status == PSV_OK) status = psvi_read_float(node, "friction", 0, 100, &def.friction);
    if (status != PSV_OK) return status;
    size = fmaxf(size, sqrtf(area * (float)b->wanted));
    float *heights = malloc(samples * samples * sizeof(float));
    if (heights == NULL)
        return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %llu heights",
                         (unsigned long long)(samples * samples));
    uint64_t seed = psvi_next_random(b);
    for (uint64_t row = 0; row < samples; ++row)
        for (uint64_t column = 0; column < samples; ++column) {
            float u = (float)column / (float)(samples - 1), v = (float)row / (float)(samples - 1);
            float x = u * size / hill, z = v * size / hill, h = 0, part = 0.5f;
            for (uint64_t octave = 0; octave < 4; ++octave, part *= 0.5f, x *= 2, z *= 2)
                h += part * value_noise(seed + octave, x, z);
            // a rim all around keeps what rolls inside
            float edge = fmaxf(fabsf(2 * u - 1), fabsf(2 * v - 1));
            heights[row * samples + column] = height * h + rim * fmaxf(0.0f, edge - 0.9f) * 10.0f;
        }
    def.type = PSV_SHAPE_HEIGHT_FIELD;
    def.size[0] = def.size[2] = size;
    def.heights = heights;
    def.columns = def.rows = (uint32_t)samples;
    psv_body_def body = psv_default_body_def();
    status = psvi_add_shape_def(b, &def, &body.shape);
    if (status != PSV_OK) {
        free(heights);
        return status;
    }
    b->landscape_size = size;
    return psvi_add_body(b, &body);
}

// --- all -------------------------------------------------------------------------------------------------------------

static psv_status read_type(const psvi_node *node, const char **type) {
    if (!json_is_object(node->value)) return psvi_node_fail(node, "a generator must be an object");
    *type = NULL;
    psv_status status = psvi_read_string(node, "type", type);
    if (status == PSV_OK && *type == NULL) status = psvi_node_fail(node, "a generator needs a \"type\"");
    return status;
}

// A generator's name, and its share of the bodies; 0 for generators with a fixed number of bodies.
static psv_status read_share(const psvi_node *node, const char **type, float *share) {
    *share = 1;
    psv_status status = read_type(node, type);
    if (status == PSV_OK) status = psvi_read_float(node, "share", 0, 1e6, share);
    if (status == PSV_OK && (strcmp(*type, "landscape") == 0 || strcmp(*type, "mesh_instances") == 0)) *share = 0;
    return status;
}

static psv_status run_one(psvi_builder *b, const psvi_node *node, const char *type, uint64_t count) {
    if (strcmp(type, "fill") == 0) return run_fill(b, node, count);
    if (strcmp(type, "grid") == 0) return run_grid(b, node, count);
    if (strcmp(type, "stack") == 0) return run_stack(b, node, count);
    if (strcmp(type, "spiral") == 0) return run_spiral(b, node, count);
    if (strcmp(type, "random") == 0) return run_random(b, node, count);
    if (strcmp(type, "emitter") == 0) return run_emitter(b, node, count);
    if (strcmp(type, "mesh_instances") == 0) return run_mesh_instances(b, node);
    if (strcmp(type, "galaxy") == 0) return run_galaxy(b, node, count);
    if (strcmp(type, "landscape") == 0) return run_landscape(b, node);
    psvi_node at = psvi_member(node, "type");
    return psvi_node_fail(&at,
                          "unknown generator \"%.40s\"; known are fill, grid, stack, spiral, random, emitter, "
                          "mesh_instances, galaxy, landscape",
                          type);
}

psv_status psvi_run_generators(psvi_builder *b, const psvi_node *generators) {
    psv_status status = psvi_expect_array(generators, 0, 64);
    if (status != PSV_OK) return status;
    size_t count = json_array_size(generators->value);
    double total = 0;
    for (size_t i = 0; i < count; ++i) {
        psvi_node node = psvi_element(generators, i);
        const char *type;
        float share;
        status = read_share(&node, &type, &share);
        if (status != PSV_OK) return status;
        total += (double)share;
    }
    uint64_t given = 0;
    double before = 0;
    for (size_t i = 0; i < count && status == PSV_OK; ++i) {
        psvi_node node = psvi_element(generators, i);
        const char *type;
        float share;
        status = read_share(&node, &type, &share);
        if (status != PSV_OK) return status;
        before += (double)share;
        const uint64_t upto = total > 0 ? (uint64_t)((double)b->wanted * before / total + 0.5) : 0;
        status = run_one(b, &node, type, upto - given);
        given = upto;
    }
    return status;
}
