// The shapes of a scene file, with their variants of size.
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLOURS 64 // of a shape

float psvi_def_radius(const psv_shape_def *def) {
    const float *s = def->size;
    if (def->type == PSV_SHAPE_BOX) return sqrtf(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
    if (def->type == PSV_SHAPE_CAPSULE) return s[0] + s[1];
    float radius = 0;
    for (uint32_t i = 0; def->type == PSV_SHAPE_HULL && i < def->vertex_count; ++i)
        radius = fmaxf(radius, v3_length(v3_of(def->vertices + 3ull * i)));
    if (def->type == PSV_SHAPE_HULL) return radius;
    if (def->type != PSV_SHAPE_COMPOUND) return s[0];
    for (uint32_t i = 0; i < def->child_count; ++i) {
        psv_shape_def part = {.type = def->children[i].type};
        memcpy(part.size, def->children[i].size, sizeof part.size);
        radius = fmaxf(radius, v3_length(v3_of(def->children[i].pose.position)) + psvi_def_radius(&part));
    }
    return radius;
}

psv_status psvi_add_shape_def(psvi_builder *b, const psv_shape_def *def, uint32_t *index) {
    if (b->shape_def_count == b->shape_def_room) {
        uint32_t room = b->shape_def_room == 0 ? 64 : 2 * b->shape_def_room;
        psv_shape_def *grown = realloc(b->shape_defs, room * sizeof *grown);
        if (grown == NULL) return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %u shapes", room);
        b->shape_defs = grown;
        b->shape_def_room = room;
    }
    *index = b->shape_def_count;
    b->shape_defs[b->shape_def_count++] = *def;
    return PSV_OK;
}

const psvi_scene_shape *psvi_find_shape(const psvi_builder *b, const char *name) {
    for (uint32_t i = 0; i < b->shape_count; ++i)
        if (strcmp(b->shapes[i].name, name) == 0) return &b->shapes[i];
    return NULL;
}

static psv_status read_type(const psvi_node *node, bool child, psv_shape_type *type) {
    static const char *const names[] = {"particle", "sphere",       "box",  "capsule", "compound",
                                        "plane",    "height_field", "mesh", "hull"};
    const char *name = NULL;
    psv_status status = psvi_read_string(node, "type", &name);
    if (status != PSV_OK) return status;
    if (name == NULL) return psvi_node_fail(node, "a shape needs a \"type\"");
    for (int i = 0; i < 9; ++i) {
        if (strcmp(names[i], name) != 0 || i == PSV_SHAPE_HEIGHT_FIELD) continue; // fields come from «landscape»
        if (child && (i < PSV_SHAPE_SPHERE || i > PSV_SHAPE_CAPSULE)) continue;
        *type = (psv_shape_type)i;
        return PSV_OK;
    }
    psvi_node at = psvi_member(node, "type");
    return psvi_node_fail(&at, "unknown shape type \"%.40s\"; possible here: %s", name,
                          child ? "sphere, box, capsule"
                                : "particle, sphere, box, capsule, compound, plane, mesh, hull");
}

static psv_status read_size(const psvi_node *node, psv_shape_type type, float size[3]) {
    const double most = 1e6;
    if (type == PSV_SHAPE_BOX) {
        psv_status status = psvi_read_floats(node, "half_extents", 3, size);
        for (int i = 0; i < 3 && status == PSV_OK; ++i)
            if (!(size[i] > 0 && (double)size[i] <= most)) {
                psvi_node at = psvi_member(node, "half_extents");
                status = psvi_node_fail(&at, "\"half_extents\" must be more than 0 and at most %g", most);
            }
        return status;
    }
    psv_status status = PSV_OK;
    if (type <= PSV_SHAPE_SPHERE || type == PSV_SHAPE_CAPSULE)
        status = psvi_read_float(node, "radius", 1e-6, most, &size[0]);
    if (status == PSV_OK && type == PSV_SHAPE_CAPSULE)
        status = psvi_read_float(node, "half_length", 1e-6, most, &size[1]);
    return status;
}

static psv_status read_pose(const psvi_node *node, psv_pose *pose) {
    *pose = (psv_pose){.rotation = {0, 0, 0, 1}};
    psv_status status = psvi_read_floats(node, "position", 3, pose->position);
    if (status == PSV_OK) status = psvi_read_floats(node, "rotation", 4, pose->rotation);
    return status;
}

static psv_status read_children(psvi_builder *b, const psvi_node *node, psv_shape_def *def) {
    static const char *const keys[] = {"type", "radius", "half_length", "half_extents", "position", "rotation", NULL};
    psvi_node list = psvi_member(node, "children");
    if (list.value == NULL) return psvi_node_fail(node, "a compound needs \"children\"");
    psv_status status = psvi_expect_array(&list, 1, PSVI_MAX_PARTS);
    if (status != PSV_OK) return status;
    uint32_t count = (uint32_t)json_array_size(list.value);
    psv_shape_child *children = calloc(count, sizeof *children);
    if (children == NULL) return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for a compound");
    def->children = children;
    def->child_count = count;
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i) {
        psvi_node child = psvi_element(&list, i);
        status = psvi_expect_object(&child, keys);
        if (status == PSV_OK) status = read_type(&child, true, &children[i].type);
        for (int k = 0; k < 3; ++k)
            children[i].size[k] = 0.5f;
        if (status == PSV_OK) status = read_size(&child, children[i].type, children[i].size);
        if (status == PSV_OK) status = read_pose(&child, &children[i].pose);
    }
    return status;
}

// "file" of a mesh, beside the scene file; "scale" makes it larger.
static psv_status read_mesh(psvi_builder *b, const psvi_node *node, psv_shape_def *def) {
    const char *file = NULL;
    float scale = 1;
    psv_status status = psvi_read_string(node, "file", &file);
    if (status == PSV_OK) status = psvi_read_float(node, "scale", 1e-6, 1e6, &scale);
    if (status != PSV_OK) return status;
    if (file == NULL) return psvi_node_fail(node, "a mesh needs a \"file\"");
    char path[1024];
    bool absolute = file[0] == '/' || b->folder == NULL;
    int length = snprintf(path, sizeof path, "%s%s%s", absolute ? "" : b->folder, absolute ? "" : "/", file);
    psvi_node at = psvi_member(node, "file");
    if (length < 0 || (size_t)length >= sizeof path) return psvi_node_fail(&at, "the path of the mesh is too long");
    psv_mesh mesh = {0};
    status = psv_load_mesh(b->scene->context, path, &mesh);
    if (status != PSV_OK) return status;
    bool finite = true;
    for (uint64_t i = 0; i < 3ull * mesh.vertex_count; ++i) {
        mesh.positions[i] *= scale;
        finite &= isfinite(mesh.positions[i]) != 0;
    }
    if (mesh.triangle_count == 0 || !finite) {
        psv_free_mesh(&mesh);
        return psvi_node_fail(
            &at, finite ? "the mesh %s has no triangles" : "the mesh %s has positions that are not finite", file);
    }
    float *vertices = malloc(12ull * mesh.vertex_count + 1);
    uint32_t *indices = malloc(12ull * mesh.triangle_count + 1);
    def->vertices = vertices;
    def->indices = indices;
    if (vertices != NULL && indices != NULL) {
        memcpy(vertices, mesh.positions, 12ull * mesh.vertex_count);
        memcpy(indices, mesh.triangles, 12ull * mesh.triangle_count);
    } else {
        status = psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for the mesh %s", path);
    }
    def->vertex_count = mesh.vertex_count;
    def->triangle_count = mesh.triangle_count;
    psv_free_mesh(&mesh);
    return status;
}

// "points" of a hull, or those of a "file" as of a mesh; "scale" makes it larger.
static psv_status read_hull(psvi_builder *b, const psvi_node *node, psv_shape_def *def) {
    psvi_node list = psvi_member(node, "points");
    if (list.value == NULL) {
        if (psvi_member(node, "file").value == NULL)
            return psvi_node_fail(node, "a hull needs \"points\" or a \"file\"");
        psv_status status = read_mesh(b, node, def);
        free((void *)(uintptr_t)def->indices);
        def->indices = NULL;
        def->triangle_count = 0;
        return status;
    }
    float scale = 1;
    psv_status status = psvi_read_float(node, "scale", 1e-6, 1e6, &scale);
    if (status == PSV_OK) status = psvi_expect_array(&list, 4, PSV_MAX_HULL_POINTS);
    if (status != PSV_OK) return status;
    const uint32_t count = (uint32_t)json_array_size(list.value);
    float *points = calloc(count, 3 * sizeof *points);
    if (points == NULL) return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %u points", count);
    def->vertices = points;
    def->vertex_count = count;
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i) {
        psvi_node item = psvi_element(&list, i);
        status = psvi_expect_array(&item, 3, 3);
        for (uint32_t k = 0; k < 3 && status == PSV_OK; ++k) {
            psvi_node number = psvi_element(&item, k);
            const double x = json_number_value(number.value);
            if (!json_is_number(number.value) || !(x >= -1e6 && x <= 1e6))
                status = psvi_node_fail(&number, "a number from -1e6 to 1e6 is expected here");
            points[3 * i + k] = (float)x * scale;
        }
    }
    return status;
}

// How a shape of the file varies: its sizes, and the colours that each of them comes in.
typedef struct variants {
    bool scaled, sided; // «sizes», «sides»
    float from, to, power;
    uint64_t sizes;
    uint32_t colours[MOST_COLOURS], colour_count;
} variants;

// "sizes" scales the shape from `from` to `to` times, evenly in the logarithm; the smaller the more often, by the
// power. "sides" gives boxes with random sides.
static psv_status read_sizes(const psvi_node *node, psv_shape_type type, variants *v) {
    static const char *const size_keys[] = {"from", "to", "count", "power", NULL};
    static const char *const side_keys[] = {"from", "to", "count", NULL};
    psvi_node sizes = psvi_member(node, "sizes"), sides = psvi_member(node, "sides");
    v->from = v->to = 1;
    v->sizes = 1;
    v->scaled = sizes.value != NULL;
    v->sided = !v->scaled && sides.value != NULL;
    if (!v->scaled && !v->sided) return PSV_OK;
    const psvi_node *given = v->scaled ? &sizes : &sides;
    v->sizes = 16;
    psv_status status = psvi_expect_object(given, v->scaled ? size_keys : side_keys);
    if (status == PSV_OK) status = psvi_read_float(given, "from", 1e-6, 1e6, &v->from);
    if (status == PSV_OK) status = psvi_read_float(given, "to", 1e-6, 1e6, &v->to);
    if (status == PSV_OK) status = psvi_read_count(given, "count", 1, 1024, &v->sizes);
    if (status == PSV_OK && v->scaled) status = psvi_read_float(given, "power", -10, 10, &v->power);
    if (status == PSV_OK && type > PSV_SHAPE_CAPSULE)
        status = psvi_node_fail(given, "only particles, spheres, boxes and capsules come in several sizes");
    if (status == PSV_OK && v->sided && type != PSV_SHAPE_BOX) status = psvi_node_fail(given, "only boxes have sides");
    return status;
}

// "#rrggbb", or "#rrggbbaa" with the opacity.
static psv_status read_one_colour(const psvi_node *node, uint32_t *colour) {
    const char *text = json_string_value(node->value);
    const size_t length = text != NULL ? strlen(text) : 0;
    bool good = (length == 7 || length == 9) && text[0] == '#';
    uint8_t bytes[4] = {0, 0, 0, 255};
    for (size_t i = 1; good && i < length; ++i) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = strchr(digits, text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a' : text[i]);
        good = digit != NULL;
        if (good) bytes[(i - 1) / 2] = (uint8_t)((i % 2 == 1 ? 0 : 16 * bytes[(i - 1) / 2]) + (digit - digits));
    }
    if (!good || bytes[3] == 0)
        return psvi_node_fail(node, "a colour is \"#rrggbb\", or \"#rrggbbaa\" with an opacity from 01 to ff");
    *colour = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return PSV_OK;
}

// "colour": one, or a list that the bodies are drawn from evenly.
static psv_status read_colours(const psvi_node *node, variants *v) {
    psvi_node given = psvi_member(node, "colour");
    v->colour_count = 1;
    if (given.value == NULL) return PSV_OK;
    if (!json_is_array(given.value)) return read_one_colour(&given, &v->colours[0]);
    psv_status status = psvi_expect_array(&given, 1, MOST_COLOURS);
    if (status == PSV_OK) v->colour_count = (uint32_t)json_array_size(given.value);
    for (uint32_t i = 0; i < v->colour_count && status == PSV_OK; ++i) {
        psvi_node one = psvi_element(&given, i);
        status = read_one_colour(&one, &v->colours[i]);
    }
    return status;
}

// The colours of one size stand one behind the other and share its weight: colours change no body's size.
static psv_status add_variants(psvi_builder *b, const psvi_node *node, const psv_shape_def *def,
                               psvi_scene_shape *shape) {
    variants v = {.power = 0};
    psv_status status = read_sizes(node, def->type, &v);
    if (status == PSV_OK) status = read_colours(node, &v);
    if (status != PSV_OK) return status;
    shape->count = (uint32_t)v.sizes * v.colour_count;
    shape->colours = v.colour_count;
    shape->radius = calloc(shape->count, sizeof(float));
    shape->weight = calloc(shape->count, sizeof(float));
    if (shape->radius == NULL || shape->weight == NULL)
        return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for %u shapes", shape->count);
    float sum = 0;
    psv_shape_def variant = *def;
    for (uint32_t i = 0; i < shape->count && status == PSV_OK; ++i) {
        const uint64_t size = i / v.colour_count;
        const float factor = v.from * powf(v.to / v.from, v.sizes > 1 ? (float)size / (float)(v.sizes - 1) : 0);
        for (int k = 0; k < 3 && i % v.colour_count == 0; ++k) {
            if (v.scaled) variant.size[k] = def->size[k] * factor;
            if (v.sided) variant.size[k] = 0.5f * (v.from + (v.to - v.from) * psvi_random_float(b));
        }
        variant.colour = v.colours[i % v.colour_count];
        uint32_t index = 0;
        status = psvi_add_shape_def(b, &variant, &index);
        if (i == 0) shape->first = index;
        shape->radius[i] = psvi_def_radius(&variant);
        shape->weight[i] = v.scaled ? powf(factor, v.power) : 1.0f;
        sum += shape->weight[i];
    }
    for (uint32_t i = 0; i < shape->count; ++i)
        shape->weight[i] /= sum;
    return status;
}

static psv_status read_shape(psvi_builder *b, const psvi_node *node, const char *name) {
    static const char *const keys[] = {"type",
                                       "radius",
                                       "half_length",
                                       "half_extents",
                                       "density",
                                       "friction",
                                       "restitution",
                                       "children",
                                       "points",
                                       "file",
                                       "scale",
                                       "sizes",
                                       "sides",
                                       "rolling_friction",
                                       "spinning_friction",
                                       "weld_angle",
                                       "one_sided",
                                       "colour",
                                       NULL};
    psv_shape_def def = psv_default_shape_def();
    psv_status status = psvi_expect_object(node, keys);
    if (status == PSV_OK) status = read_type(node, false, &def.type);
    if (status == PSV_OK) status = read_size(node, def.type, def.size);
    if (status == PSV_OK) status = psvi_read_float(node, "density", 1e-6, 1e9, &def.density);
    if (status == PSV_OK) status = psvi_read_float(node, "friction", 0, 100, &def.friction);
    if (status == PSV_OK) status = psvi_read_float(node, "restitution", 0, 1, &def.restitution);
    if (status == PSV_OK) status = psvi_read_float(node, "rolling_friction", 0, 100, &def.rolling_friction);
    if (status == PSV_OK) status = psvi_read_float(node, "spinning_friction", 0, 100, &def.spinning_friction);
    if (status == PSV_OK) status = psvi_read_float(node, "weld_angle", 0, 1.5, &def.weld_angle);
    if (status == PSV_OK) status = psvi_read_bool(node, "one_sided", &def.one_sided);
    if (status == PSV_OK && strlen(name) >= sizeof b->shapes->name)
        status = psvi_node_fail(node, "the shape's name has %zu letters; 47 are possible", strlen(name));
    psvi_scene_shape *shape = &b->shapes[b->shape_count];
    if (status == PSV_OK && def.type == PSV_SHAPE_COMPOUND) status = read_children(b, node, &def);
    if (status == PSV_OK && def.type == PSV_SHAPE_MESH) status = read_mesh(b, node, &def);
    if (status == PSV_OK && def.type == PSV_SHAPE_HULL) status = read_hull(b, node, &def);
    if (status == PSV_OK) {
        (void)snprintf(shape->name, sizeof shape->name, "%s", name);
        ++b->shape_count;
        const uint32_t before = b->shape_def_count;
        status = add_variants(b, node, &def, shape);
        if (b->shape_def_count > before) return status; // the def's arrays are the builder's now
    }
    free((void *)(uintptr_t)def.children);
    free((void *)(uintptr_t)def.vertices);
    free((void *)(uintptr_t)def.indices);
    return status;
}

psv_status psvi_read_shapes(psvi_builder *b, const psvi_node *shapes) {
    if (!json_is_object(shapes->value)) return psvi_node_fail(shapes, "\"shapes\" must be an object");
    b->shapes = calloc(json_object_size(shapes->value) + 1, sizeof *b->shapes);
    if (b->shapes == NULL) return psvi_fail(b->scene->context, PSV_ERROR_MEMORY, "no host memory for the shapes");
    const char *key;
    json_t *value;
    json_object_foreach(shapes->value, key, value) {
        if (strncmp(key, "//", 2) == 0) continue;
        psvi_node node = psvi_member(shapes, key);
        psv_status status = read_shape(b, &node, key);
        if (status != PSV_OK) return status;
    }
    return PSV_OK;
}
