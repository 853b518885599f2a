// glTF: shapes become meshes, one for each colour that its bodies have; bodies become nodes with animated poses, or, of
// one frame, instances.
#include "replay_gltf.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay_shapes.h"
#include "replay_tables.h"

#define COLOURS 10u // eight of moving bodies, fixed bodies, ground
#define FIXED_COLOUR 8u
#define GROUND_COLOUR 9u
#define GROUND_REACH 40.0f // scene sizes
#define MOST_POSES (UINT64_C(1) << 28)
#define WINDOW 120u // frames between two keys at most
#define TURN_SLACK 5.0e-4
#define FLOAT 5126
#define UNSIGNED_INT 5125

// As the viewer's (colour.glsl).
static const float palette[COLOURS][3] = {
    {0.76f, 0.18f, 0.11f}, {0.90f, 0.52f, 0.09f}, {0.84f, 0.72f, 0.48f}, {0.62f, 0.31f, 0.20f}, {0.09f, 0.33f, 0.60f},
    {0.10f, 0.48f, 0.42f}, {0.30f, 0.60f, 0.74f}, {0.36f, 0.24f, 0.56f}, {0.42f, 0.43f, 0.45f}, {0.40f, 0.41f, 0.43f}};

// Parts of the JSON text, and of the binary part: one buffer view each.
typedef enum part { PART_POINTS, PART_INDICES, PART_KEYS, PARTS } part;

typedef struct gltf {
    replay_reader *reader;
    replay_bytes materials, meshes, nodes, roots, accessors, samplers, channels;
    uint32_t material_count, mesh_count, node_count, accessor_count, sampler_count;
    replay_bytes binary[PARTS];
    uint32_t *colour_of; // by body: number of its material
    uint32_t *mesh_of;   // by shape and material + 1; 0: not made yet
    uint32_t *colours;   // 0xAABBGGRR of materials behind the palette's
    float *times;        // by frame
    float (*poses)[7];   // of one body by frame, or of bodies by body
} gltf;

static void say(replay_bytes *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(replay_bytes *text, const char *format, ...) {
    char line[640];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    replay_put_bytes(text, line, (uint64_t)length);
}

// A comma in front of all elements but the first.
static void separate(replay_bytes *text) {
    if (text->count > 0) say(text, ",\n");
}

// --- accessors ------------------------------------------------------------------------------------------------------

// Floats, `width` of them an element, appended to a part. The number of the accessor.
static uint32_t add_floats(gltf *to, part where, const float *values, uint32_t count, uint32_t width, bool bounds) {
    static const char *const kinds[5] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
    separate(&to->accessors);
    say(&to->accessors,
        "{\"bufferView\":%d,\"byteOffset\":%" PRIu64 ",\"componentType\":%d,\"count\":%u,\"type\":\"%s\"", (int)where,
        to->binary[where].count, FLOAT, count, kinds[width]);
    for (int most = 0; bounds && most < 2; ++most) {
        say(&to->accessors, ",\"%s\":[", most ? "max" : "min");
        for (uint32_t axis = 0; axis < width; ++axis) {
            float bound = values[axis];
            for (uint64_t i = 1; i < count; ++i)
                bound = most ? fmaxf(bound, values[i * width + axis]) : fminf(bound, values[i * width + axis]);
            say(&to->accessors, "%s%.9g", axis > 0 ? "," : "", (double)bound);
        }
        say(&to->accessors, "]");
    }
    say(&to->accessors, "}");
    replay_put_floats(&to->binary[where], values, (uint64_t)count * width);
    return to->accessor_count++;
}

static uint32_t add_indices(gltf *to, const replay_bytes *indices) {
    separate(&to->accessors);
    say(&to->accessors,
        "{\"bufferView\":%d,\"byteOffset\":%" PRIu64 ",\"componentType\":%d,\"count\":%" PRIu64 ",\"type\":\"SCALAR\"}",
        (int)PART_INDICES, to->binary[PART_INDICES].count, UNSIGNED_INT, indices->count / 4);
    replay_put_bytes(&to->binary[PART_INDICES], indices->data, indices->count);
    return to->accessor_count++;
}

// --- materials and meshes -------------------------------------------------------------------------------------------

static uint32_t hash_slot(uint32_t x) {
    x = (x ^ x >> 16) * UINT32_C(0x7feb352d);
    x = (x ^ x >> 15) * UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

static void add_material(gltf *to, const float colour[3], float alpha) {
    separate(&to->materials);
    say(&to->materials,
        "{\"pbrMetallicRoughness\":{\"baseColorFactor\":[%.4f,%.4f,%.4f,%.4f],\"metallicFactor\":0,"
        "\"roughnessFactor\":0.6}%s}",
        (double)colour[0], (double)colour[1], (double)colour[2], (double)alpha,
        alpha < 1 ? ",\"alphaMode\":\"BLEND\"" : "");
    to->material_count += 1;
}

static uint32_t own_colour(gltf *to, uint32_t colour) {
    for (uint32_t i = COLOURS; i < to->material_count; ++i)
        if (to->colours[i - COLOURS] == colour) return i;
    float linear[3];
    for (int i = 0; i < 3; ++i)
        linear[i] = powf((float)(colour >> 8 * i & 255) / 255.0f, 2.2f);
    to->colours[to->material_count - COLOURS] = colour;
    add_material(to, linear, (float)(colour >> 24) / 255.0f);
    return to->material_count - 1;
}

static bool is_ground(psv_shape_type type) { return type >= PSV_SHAPE_PLANE && type <= PSV_SHAPE_MESH; }

static void choose_colours(gltf *to) {
    for (uint32_t i = 0; i < COLOURS; ++i)
        add_material(to, palette[i], 1.0f);
    for (uint32_t i = 0; i < replay_body_count(to->reader); ++i) {
        const replay_body *body = replay_get_body(to->reader, i);
        const bool fixed = !(body->inverse_mass > 0);
        to->colour_of[i] = (body->shape & 1) * 4 + (hash_slot(body->slot + 1) >> 8 & 3);
        if (fixed) to->colour_of[i] = FIXED_COLOUR;
        if (is_ground(replay_get_shape(to->reader, body->shape)->type)) to->colour_of[i] = GROUND_COLOUR;
        if (body->colour != 0) to->colour_of[i] = own_colour(to, body->colour);
    }
}

// Spread of the bodies that move, by their first poses: of a plane some of it is shown.
static float scene_size(const replay_reader *reader) {
    float low[3] = {0, 0, 0}, high[3] = {0, 0, 0}, size = 1;
    bool any = false;
    for (uint32_t i = 0; i < replay_body_count(reader); ++i) {
        const replay_body *body = replay_get_body(reader, i);
        if (!(body->inverse_mass > 0)) continue;
        for (int axis = 0; axis < 3; ++axis) {
            low[axis] = any ? fminf(low[axis], body->position[axis]) : body->position[axis];
            high[axis] = any ? fmaxf(high[axis], body->position[axis]) : body->position[axis];
            size = fmaxf(size, high[axis] - low[axis]);
        }
        any = true;
    }
    return size;
}

// The accessors of each shape are made once; meshes share them.
static bool add_shape(gltf *to, uint32_t number, float reach, uint32_t first[3]) {
    replay_triangles triangles;
    const psv_shape_def *shape = replay_get_shape(to->reader, number);
    const bool good = replay_make_triangles(shape, reach, &triangles);
    if (good) {
        first[0] = add_floats(to, PART_POINTS, (const float *)(const void *)triangles.points.data,
                              triangles.point_count, 3, true);
        first[1] = add_floats(to, PART_POINTS, (const float *)(const void *)triangles.normals.data,
                              triangles.point_count, 3, false);
        first[2] = add_indices(to, &triangles.indices);
    }
    replay_free_triangles(&triangles);
    return good;
}

static bool add_meshes(gltf *to) {
    const uint32_t shapes = replay_shape_count(to->reader), bodies = replay_body_count(to->reader);
    uint32_t(*accessors)[3] = calloc((size_t)shapes + 1, sizeof *accessors);
    bool *made = calloc((size_t)shapes + 1, sizeof *made);
    bool good = accessors != NULL && made != NULL;
    const float reach = GROUND_REACH * scene_size(to->reader) / 4;
    for (uint32_t i = 0; good && i < bodies; ++i) {
        const uint32_t shape = replay_get_body(to->reader, i)->shape;
        uint32_t *mesh = &to->mesh_of[(size_t)shape * to->material_count + to->colour_of[i]];
        if (*mesh != 0) continue;
        if (!made[shape]) good = add_shape(to, shape, reach, accessors[shape]);
        made[shape] = true;
        separate(&to->meshes);
        say(&to->meshes,
            "{\"primitives\":[{\"attributes\":{\"POSITION\":%u,\"NORMAL\":%u},\"indices\":%u,\"material\":%u}]}",
            accessors[shape][0], accessors[shape][1], accessors[shape][2], to->colour_of[i]);
        *mesh = ++to->mesh_count;
    }
    free(accessors);
    free(made);
    return good;
}

static uint32_t mesh_of(const gltf *to, uint32_t body) {
    const uint32_t shape = replay_get_body(to->reader, body)->shape;
    return to->mesh_of[(size_t)shape * to->material_count + to->colour_of[body]] - 1;
}

static void begin_node(gltf *to) {
    separate(&to->nodes);
    say(&to->roots, "%s%u", to->node_count > 0 ? "," : "", to->node_count);
    to->node_count += 1;
}

// --- one frame: instances -------------------------------------------------------------------------------------------

static bool add_instances(gltf *to, uint32_t shape, uint32_t material) {
    const uint32_t bodies = replay_body_count(to->reader);
    float(*places)[3] = calloc((size_t)bodies + 1, sizeof *places),
    (*turns)[4] = calloc((size_t)bodies + 1, sizeof *turns);
    const bool good = places != NULL && turns != NULL;
    uint32_t count = 0, any = 0;
    for (uint32_t i = 0; good && i < bodies; ++i) {
        if (replay_get_body(to->reader, i)->shape != shape || to->colour_of[i] != material) continue;
        if (!replay_get_pose(to->reader, i, places[count], turns[count], NULL)) continue;
        any = i;
        count += 1;
    }
    if (good && count > 0) {
        const uint32_t place = add_floats(to, PART_KEYS, &places[0][0], count, 3, false);
        const uint32_t turn = add_floats(to, PART_KEYS, &turns[0][0], count, 4, false);
        begin_node(to);
        say(&to->nodes,
            "{\"mesh\":%u,\"extensions\":{\"EXT_mesh_gpu_instancing\":{\"attributes\":{\"TRANSLATION\":%u,\"ROTATION\":"
            "%u}}}}",
            mesh_of(to, any), place, turn);
    }
    free(places);
    free(turns);
    return good;
}

static bool add_frame(gltf *to, uint32_t frame, replay_error *error) {
    if (!replay_seek(to->reader, frame, error)) return false;
    for (uint32_t shape = 0; shape < replay_shape_count(to->reader); ++shape)
        for (uint32_t material = 0; material < to->material_count; ++material)
            if (to->mesh_of[(size_t)shape * to->material_count + material] != 0 && !add_instances(to, shape, material))
                return replay_fail(error, "no memory for the bodies of a frame");
    return true;
}

// --- a run: nodes with keys -----------------------------------------------------------------------------------------

// Whether a straight way from frame `a` to frame `b` stays near the poses between: three numbers of a position, or four
// of a rotation, from `first` on.
static bool is_straight(const gltf *to, uint32_t a, uint32_t b, uint32_t first, uint32_t width, double slack) {
    for (uint32_t f = a + 1; f < b; ++f) {
        const double share = (double)(to->times[f] - to->times[a]) / (double)(to->times[b] - to->times[a]);
        for (uint32_t i = first; i < first + width; ++i) {
            const double way = (1 - share) * (double)to->poses[a][i] + share * (double)to->poses[b][i];
            if (!(fabs(way - (double)to->poses[f][i]) <= slack)) return false;
        }
    }
    return true;
}

// Keys of frames [begin, end) of the body whose poses are in to->poses, and the animation's channel. None where it
// stays.
static void add_keys(gltf *to, uint32_t node, uint32_t begin, uint32_t end, bool turns, double slack, uint32_t *frames,
                     float (*values)[4]) {
    const uint32_t first = turns ? 3 : 0, width = turns ? 4 : 3;
    uint32_t count = 0;
    bool still = true;
    for (uint32_t f = begin; f < end; ++f) {
        still = still && memcmp(&to->poses[f][first], &to->poses[begin][first], width * sizeof(float)) == 0;
        const bool goes_on = f + 1 < end && count > 0 && f - frames[count - 1] < WINDOW;
        if (goes_on && is_straight(to, frames[count - 1], f + 1, first, width, slack)) continue;
        frames[count++] = f;
    }
    if (still || count < 2) return;
    float *times = &values[end][0]; // behind the values
    for (uint32_t k = 0; k < count; ++k) {
        times[k] = to->times[frames[k]];
        memcpy((float *)values + (size_t)k * width, &to->poses[frames[k]][first], width * sizeof(float));
    }
    const uint32_t input = add_floats(to, PART_KEYS, times, count, 1, true);
    const uint32_t output = add_floats(to, PART_KEYS, (float *)values, count, width, false);
    separate(&to->samplers);
    say(&to->samplers, "{\"input\":%u,\"output\":%u}", input, output);
    separate(&to->channels);
    say(&to->channels, "{\"sampler\":%u,\"target\":{\"node\":%u,\"path\":\"%s\"}}", to->sampler_count++, node,
        turns ? "rotation" : "translation");
}

// A body that is not there in all frames has no size while it is not.
static void add_presence(gltf *to, uint32_t node, const replay_body *body, uint32_t frames) {
    float times[3] = {0}, sizes[3][3] = {{0}};
    uint32_t count = 0;
    const uint32_t changes[3] = {0, body->first_frame, body->end_frame};
    for (int i = 0; i < 3; ++i) {
        if (changes[i] >= frames || (i == 1 && changes[i] == 0)) continue;
        const bool there = changes[i] >= body->first_frame && changes[i] < body->end_frame;
        times[count] = to->times[changes[i]];
        for (int axis = 0; axis < 3; ++axis)
            sizes[count][axis] = there ? 1.0f : 0.0f;
        count += 1;
    }
    if (count < 2) return;
    const uint32_t input = add_floats(to, PART_KEYS, times, count, 1, true);
    const uint32_t output = add_floats(to, PART_KEYS, &sizes[0][0], count, 3, false);
    separate(&to->samplers);
    say(&to->samplers, "{\"input\":%u,\"output\":%u,\"interpolation\":\"STEP\"}", input, output);
    separate(&to->channels);
    say(&to->channels, "{\"sampler\":%u,\"target\":{\"node\":%u,\"path\":\"scale\"}}", to->sampler_count++, node);
}

// The poses of all bodies, frame by frame, and then put in order by body.
static float (*read_poses(gltf *to, replay_error *error))[7] {
    const uint32_t frames = replay_frame_count(to->reader), bodies = replay_body_count(to->reader);
    const uint64_t count = (uint64_t)frames * bodies;
    float(*poses)[7] = count <= MOST_POSES ? calloc(count + 1, sizeof *poses) : NULL;
    if (poses == NULL) {
        (void)replay_fail(error, "an animation of %u bodies in %u frames does not fit; one frame does (--gltf-frame)",
                          bodies, frames);
        return NULL;
    }
    for (uint32_t f = 0; f < frames; ++f) {
        if (!replay_seek(to->reader, f, error)) {
            free(poses);
            return NULL;
        }
        for (uint32_t i = 0; i < bodies; ++i) {
            float(*pose)[7] = &poses[(uint64_t)i * frames + f];
            if (!replay_get_pose(to->reader, i, *pose, *pose + 3, NULL)) continue;
            float dot = 0; // the shorter turn: a quaternion and its negative are the same rotation
            for (int k = 3; f > replay_get_body(to->reader, i)->first_frame && k < 7; ++k)
                dot += (*pose)[k] * pose[-1][k];
            for (int k = 3; dot < 0 && k < 7; ++k)
                (*pose)[k] = -(*pose)[k];
        }
    }
    return poses;
}

static void add_body(gltf *to, uint32_t number, uint32_t *frames, float (*values)[4]) {
    const replay_body *body = replay_get_body(to->reader, number);
    const uint32_t all = replay_frame_count(to->reader), end = body->end_frame < all ? body->end_frame : all;
    const uint32_t begin = body->first_frame, node = to->node_count;
    if (begin >= end) return;
    const float *pose = to->poses[begin];
    begin_node(to);
    say(&to->nodes, "{\"mesh\":%u,\"translation\":[%.9g,%.9g,%.9g],\"rotation\":[%.9g,%.9g,%.9g,%.9g]}",
        mesh_of(to, number), (double)pose[0], (double)pose[1], (double)pose[2], (double)pose[3], (double)pose[4],
        (double)pose[5], (double)pose[6]);
    add_keys(to, node, begin, end, false, replay_position_bound(body->exponent), frames, values);
    add_keys(to, node, begin, end, true, TURN_SLACK, frames, values);
    add_presence(to, node, body, all);
}

static bool add_run(gltf *to, replay_error *error) {
    const uint32_t frames = replay_frame_count(to->reader);
    float(*poses)[7] = read_poses(to, error);
    uint32_t *keys = calloc((size_t)frames + 1, sizeof *keys);
    float(*values)[4] = calloc((size_t)2 * frames + 1, sizeof *values);
    const bool good = poses != NULL && keys != NULL && values != NULL;
    for (uint32_t i = 0; good && i < replay_body_count(to->reader); ++i) {
        to->poses = poses + (uint64_t)i * frames;
        add_body(to, i, keys, values);
    }
    if (poses != NULL && !good) (void)replay_fail(error, "no memory for an animation");
    free(poses);
    free(keys);
    free(values);
    return good;
}

// --- the file -------------------------------------------------------------------------------------------------------

// A camera looks along its own -z, with y up.
static void add_camera(gltf *to) {
    const replay_head *head = replay_get_head(to->reader);
    float away[3];
    for (int i = 0; i < 3; ++i)
        away[i] = head->eye[i] - head->target[i];
    const float flat = hypotf(away[0], away[2]), length = hypotf(flat, away[1]);
    if (!(length > 0)) return;
    const float yaw = atan2f(away[0], away[2]) / 2, pitch = -atan2f(away[1], flat) / 2;
    begin_node(to);
    say(&to->nodes, "{\"camera\":0,\"translation\":[%.9g,%.9g,%.9g],\"rotation\":[%.9g,%.9g,%.9g,%.9g]}",
        (double)head->eye[0], (double)head->eye[1], (double)head->eye[2], (double)(cosf(yaw) * sinf(pitch)),
        (double)(sinf(yaw) * cosf(pitch)), (double)(-sinf(yaw) * sinf(pitch)), (double)(cosf(yaw) * cosf(pitch)));
}

static void put_list(replay_bytes *json, const char *name, const replay_bytes *elements) {
    if (elements->count == 0) return;
    say(json, ",\n\"%s\":[\n", name);
    replay_put_bytes(json, elements->data, elements->count);
    say(json, "]");
}

static void put_json(const gltf *to, bool instanced, replay_bytes *json) {
    static const char *const targets[PARTS] = {",\"byteStride\":12,\"target\":34962", ",\"target\":34963", ""};
    uint64_t offset = 0;
    replay_bytes views = {0};
    for (int p = 0; p < PARTS; ++p) {
        const uint64_t bytes = to->binary[p].count;
        if (bytes > 0)
            say(&views, "%s{\"buffer\":0,\"byteOffset\":%" PRIu64 ",\"byteLength\":%" PRIu64 "%s}",
                views.count > 0 ? "," : "", offset, bytes, targets[p]);
        offset += bytes;
    }
    say(json, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"pairsieve\"},\"scene\":0,\"scenes\":[{\"nodes\":[");
    replay_put_bytes(json, to->roots.data, to->roots.count);
    say(json, "]}]");
    if (instanced)
        say(json,
            ",\"extensionsUsed\":[\"EXT_mesh_gpu_instancing\"],\"extensionsRequired\":[\"EXT_mesh_gpu_instancing\"]");
    const replay_head *head = replay_get_head(to->reader);
    if (memcmp(head->eye, head->target, sizeof head->eye) != 0)
        say(json, ",\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.785398,\"znear\":0.05}}]");
    say(json, ",\"buffers\":[{\"byteLength\":%" PRIu64 "}]", offset);
    put_list(json, "bufferViews", &views);
    put_list(json, "materials", &to->materials);
    put_list(json, "meshes", &to->meshes);
    put_list(json, "nodes", &to->nodes);
    put_list(json, "accessors", &to->accessors);
    if (to->channels.count > 0) {
        say(json, ",\n\"animations\":[{\"samplers\":[\n");
        replay_put_bytes(json, to->samplers.data, to->samplers.count);
        say(json, "],\"channels\":[\n");
        replay_put_bytes(json, to->channels.data, to->channels.count);
        say(json, "]}]");
    }
    say(json, "}");
    while (json->count % 4 != 0)
        say(json, " ");
    free(views.data);
}

static bool put_file(gltf *to, FILE *stream, bool instanced, replay_error *error) {
    replay_bytes json = {0}, head = {0};
    uint64_t bytes = 0;
    bool failed = to->materials.failed || to->meshes.failed || to->nodes.failed || to->roots.failed ||
                  to->accessors.failed || to->samplers.failed || to->channels.failed;
    for (int p = 0; p < PARTS; ++p) {
        bytes += to->binary[p].count;
        failed = failed || to->binary[p].failed;
    }
    put_json(to, instanced, &json);
    const uint64_t all = 12 + 8 + json.count + 8 + bytes;
    replay_put_bytes(&head, "glTF", 4);
    replay_put_u32(&head, 2);
    replay_put_u32(&head, (uint32_t)all);
    replay_put_u32(&head, (uint32_t)json.count);
    replay_put_bytes(&head, "JSON", 4);
    bool good = !failed && !json.failed && !head.failed && all <= UINT32_MAX;
    if (!good) (void)replay_fail(error, "the glTF file needs %" PRIu64 " bytes, more than there can be", all);
    if (good) {
        good = fwrite(head.data, 1, head.count, stream) == head.count;
        good = good && fwrite(json.data, 1, json.count, stream) == json.count;
        head.count = 0;
        replay_put_u32(&head, (uint32_t)bytes);
        replay_put_bytes(&head, "BIN", 4);
        good = good && fwrite(head.data, 1, head.count, stream) == head.count;
        for (int p = 0; good && p < PARTS; ++p)
            good = fwrite(to->binary[p].data, 1, to->binary[p].count, stream) == to->binary[p].count;
        if (!good) (void)replay_fail(error, "the glTF file could not be written: %s", strerror(errno));
    }
    free(json.data);
    free(head.data);
    return good;
}

static bool prepare(gltf *to) {
    const size_t bodies = (size_t)replay_body_count(to->reader) + 1, frames = replay_frame_count(to->reader);
    to->colour_of = calloc(bodies, sizeof *to->colour_of);
    to->colours = calloc(bodies, sizeof *to->colours);
    to->times = calloc(frames, sizeof *to->times);
    if (to->colour_of == NULL || to->colours == NULL || to->times == NULL) return false;
    double seconds = 0;
    for (uint32_t f = 0; f < frames; ++f) {
        const float step = replay_get_frame(to->reader, f)->seconds;
        if (f > 0) seconds += (double)(step > 0 ? step : replay_get_head(to->reader)->frame_seconds); // times must grow
        to->times[f] = (float)seconds;
    }
    choose_colours(to);
    to->mesh_of = calloc((size_t)replay_shape_count(to->reader) * to->material_count + 1, sizeof *to->mesh_of);
    return to->mesh_of != NULL && add_meshes(to);
}

static void release(gltf *to) {
    replay_bytes *texts[7] = {&to->materials, &to->meshes,   &to->nodes,   &to->roots,
                              &to->accessors, &to->samplers, &to->channels};
    for (int i = 0; i < 7; ++i)
        free(texts[i]->data);
    for (int p = 0; p < PARTS; ++p)
        free(to->binary[p].data);
    free(to->colour_of);
    free(to->mesh_of);
    free(to->colours);
    free(to->times);
}

bool replay_write_gltf(FILE *stream, replay_reader *reader, uint64_t frame, replay_error *error) {
    gltf to = {.reader = reader};
    const bool instanced = frame != REPLAY_WHOLE_RUN;
    bool good = prepare(&to) || replay_fail(error, "no memory for a glTF file");
    if (good) good = instanced ? add_frame(&to, (uint32_t)frame, error) : add_run(&to, error);
    if (good) add_camera(&to);
    good = good && put_file(&to, stream, instanced, error);
    release(&to);
    return good;
}
