// Pairs of mesh elements: boxes of all elements, one pair finder for each kind, and the pairs that are no neighbours.
#include "pairsieve/element_pairs.h"

#include <stdlib.h>

#include "../../../core/carver.h"
#include "../broad_phase.h"
#include "element_ops.h"
#include "element_rings.h"
#include "pairsieve/sort.h"

#define ELEMENT_DEF_COOKIE 0x70736564u    // "psed"
#define ELEMENT_FINDER_COOKIE 0x70736566u // "psef"

typedef struct kind_memory {
    psv_pair_finder *finder; // NULL: the kind is not looked for
    uint64_t room;
    psv_pair *kept;
    psv_sorter *sorter; // with def.rows
    void *order_scratch;
    uint32_t *offsets; // with def.rows; most first elements, and one more
} kind_memory;

struct psv_element_finder {
    uint32_t cookie;
    psv_context *context;
    psv_element_finder_def def;
    const psvi_element_ops *ops;
    kind_memory kinds[PSV_ELEMENT_KINDS];
    char *block; // boxes, filters, owners, counts
    uint64_t block_bytes;
    psv_aabb *boxes;
    psv_box_filter *filters; // with def.bodies
    uint32_t *owners;
    uint64_t *counts, *bad;
    bool ready, has_bodies, has_filters, apart; // elements are set
    psvi_element_set sets[PSVI_ELEMENT_SETS];
    uint32_t *ring_begins, *rings; // backend memory
    uint64_t ring_begins_bytes, rings_bytes;
};

static const struct {
    const char *name;
    int a, b;
} kinds[PSV_ELEMENT_KINDS] = {{"edge-edge", PSVI_EDGES, PSVI_EDGES},
                              {"vertex-face", PSVI_VERTICES, PSVI_FACES},
                              {"face-face", PSVI_FACES, PSVI_FACES},
                              {"edge-face", PSVI_EDGES, PSVI_FACES}};

const char *psv_element_kind_name(psv_element_kind kind) {
    return (unsigned)kind < PSV_ELEMENT_KINDS ? kinds[kind].name : "unknown kind";
}

psv_element_finder_def psv_default_element_finder_def(void) {
    return (psv_element_finder_def){.cookie = ELEMENT_DEF_COOKIE, .method = "auto"};
}

static uint64_t most_of(const psv_element_finder_def *def, int set) {
    return set == PSVI_VERTICES ? def->max_vertices : set == PSVI_EDGES ? def->max_edges : def->max_faces;
}

static psv_status check_def(psv_context *context, const psv_element_finder_def *def) {
    const uint64_t limit = (uint64_t)1 << 30;
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != ELEMENT_DEF_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_element_finder_def");
    if (def->rings > 2) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.rings is %u; it must be 0 to 2", def->rings);
    for (int set = 0; set < PSVI_ELEMENT_SETS; ++set)
        if (most_of(def, set) > limit)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_%s is %llu; it must be at most %llu",
                             set == PSVI_VERTICES ? "vertices"
                             : set == PSVI_EDGES  ? "edges"
                                                  : "faces",
                             (unsigned long long)most_of(def, set), (unsigned long long)limit);
    bool some = false;
    for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind) {
        some |= def->max_pairs[kind] > 0;
        if (def->max_pairs[kind] > UINT32_MAX && def->rows)
            return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_pairs of %s is %llu; with rows it is at most %u",
                             kinds[kind].name, (unsigned long long)def->max_pairs[kind], UINT32_MAX);
    }
    return some ? PSV_OK : psvi_fail(context, PSV_ERROR_ARGUMENT, "def.max_pairs is 0 for every kind");
}

static psv_status no_memory(psv_context *context, uint64_t bytes) {
    return psvi_fail(context, PSV_ERROR_MEMORY, "no %s memory for %llu bytes of an element finder", context->ops->name,
                     (unsigned long long)bytes);
}

static uint32_t index_bits(uint64_t count) {
    uint32_t bits = 1;
    while (bits < 32 && (uint64_t)1 << bits < count)
        ++bits;
    return bits;
}

static uint64_t order_scratch_of(const psv_element_finder *finder, uint64_t room) {
    const psvi_collision_ops *ops = psvi_collision_ops_of(finder->context->backend);
    return !finder->def.rows || ops->order_scratch_bytes == NULL ? 0 : ops->order_scratch_bytes(room);
}

static void free_lists(psv_element_finder *finder, kind_memory *memory) {
    psv_destroy_sorter(memory->sorter);
    psvi_free(finder->context, memory->kept, memory->room * sizeof *memory->kept);
    psvi_free(finder->context, memory->order_scratch, order_scratch_of(finder, memory->room));
    memory->sorter = NULL;
    memory->kept = NULL;
    memory->order_scratch = NULL;
    memory->room = 0;
}

// The lists whose size follows the room of the kind's pair finder.
static psv_status take_lists(psv_element_finder *finder, int kind) {
    psv_context *context = finder->context;
    kind_memory *memory = &finder->kinds[kind];
    const uint64_t room = psv_pair_buffer(memory->finder).bytes / sizeof(psv_pair);
    if (memory->room == room) return PSV_OK;
    free_lists(finder, memory);
    memory->room = room;
    memory->kept = psvi_alloc(context, room * sizeof *memory->kept);
    if (memory->kept == NULL) return no_memory(context, room * sizeof *memory->kept);
    if (!finder->def.rows) return PSV_OK;
    const uint64_t scratch = order_scratch_of(finder, room);
    if (scratch != 0) memory->order_scratch = psvi_alloc(context, scratch);
    if (scratch != 0 && memory->order_scratch == NULL) return no_memory(context, scratch);
    const uint64_t a = most_of(&finder->def, kinds[kind].a), b = most_of(&finder->def, kinds[kind].b);
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.key_type = PSV_KEY_U64;
    sorter.value_bytes = 0;
    sorter.max_count = room;
    sorter.end_bit = 2 * index_bits(a > b ? a : b);
    return psv_create_sorter(context, &sorter, &memory->sorter);
}

static psv_status create_kind(psv_element_finder *finder, int kind) {
    const psv_element_finder_def *def = &finder->def;
    kind_memory *memory = &finder->kinds[kind];
    const uint64_t a = most_of(def, kinds[kind].a), b = most_of(def, kinds[kind].b);
    psv_pair_finder_def pairs = psv_default_pair_finder_def();
    pairs.method = def->method;
    pairs.max_boxes = kinds[kind].a == kinds[kind].b ? a : a + b;
    if (pairs.max_boxes == 0) pairs.max_boxes = 1;
    pairs.max_pairs = def->max_pairs[kind];
    pairs.grow_pairs = def->grow_pairs;
    psv_status status = psv_create_pair_finder(finder->context, &pairs, &memory->finder);
    if (status == PSV_OK) status = take_lists(finder, kind);
    if (status != PSV_OK || !def->rows) return status;
    memory->offsets = psvi_alloc(finder->context, (a + 1) * sizeof *memory->offsets);
    return memory->offsets != NULL ? PSV_OK : no_memory(finder->context, (a + 1) * sizeof *memory->offsets);
}

static void carve(psv_element_finder *finder, psvi_carver *carver) {
    const psv_element_finder_def *def = &finder->def;
    const uint64_t boxes = def->max_vertices + def->max_edges + def->max_faces;
    finder->boxes = psvi_carve(carver, boxes * sizeof *finder->boxes);
    if (def->bodies) finder->filters = psvi_carve(carver, boxes * sizeof *finder->filters);
    if (def->bodies) finder->owners = psvi_carve(carver, boxes * sizeof *finder->owners);
    finder->counts = psvi_carve(carver, PSV_ELEMENT_KINDS * sizeof *finder->counts);
    finder->bad = psvi_carve(carver, sizeof *finder->bad);
}

static psv_status fill_finder(psv_element_finder *finder) {
    psvi_carver measure = {0};
    carve(finder, &measure);
    finder->block_bytes = measure.used;
    finder->block = psvi_alloc(finder->context, measure.used);
    if (finder->block == NULL) return no_memory(finder->context, measure.used);
    psvi_carver carver = {.base = finder->block};
    carve(finder, &carver);
    psv_status status =
        finder->context->ops->fill(finder->context, finder->counts, 0, PSV_ELEMENT_KINDS * sizeof *finder->counts);
    for (int kind = 0; kind < PSV_ELEMENT_KINDS && status == PSV_OK; ++kind)
        if (finder->def.max_pairs[kind] > 0) status = create_kind(finder, kind);
    return status;
}

psv_status psv_create_element_finder(psv_context *context, const psv_element_finder_def *def,
                                     psv_element_finder **finder) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (finder == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "finder is NULL");
    *finder = NULL;
    status = check_def(context, def);
    if (status != PSV_OK) return status;
    const psvi_collision_module *module = psvi_collision_module_of(context->backend);
    if (module == NULL || module->elements == NULL)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "the %s backend of this build has no pairs of mesh elements",
                         psv_backend_name(context->backend));
    psv_element_finder *made = calloc(1, sizeof *made);
    if (made == NULL) return no_memory(context, sizeof *made);
    *made =
        (psv_element_finder){.cookie = ELEMENT_FINDER_COOKIE, .context = context, .def = *def, .ops = module->elements};
    status = fill_finder(made);
    if (status == PSV_OK)
        *finder = made;
    else
        psv_destroy_element_finder(made);
    return status;
}

static void free_rings(psv_element_finder *finder) {
    psvi_free(finder->context, finder->ring_begins, finder->ring_begins_bytes);
    psvi_free(finder->context, finder->rings, finder->rings_bytes);
    finder->ring_begins = finder->rings = NULL;
}

void psv_destroy_element_finder(psv_element_finder *finder) {
    if (finder == NULL || finder->cookie != ELEMENT_FINDER_COOKIE) return;
    for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind) {
        kind_memory *memory = &finder->kinds[kind];
        if (memory->finder == NULL) continue;
        free_lists(finder, memory);
        psv_destroy_pair_finder(memory->finder);
        psvi_free(finder->context, memory->offsets,
                  (most_of(&finder->def, kinds[kind].a) + 1) * sizeof *memory->offsets);
    }
    free_rings(finder);
    psvi_free(finder->context, finder->block, finder->block_bytes);
    finder->cookie = 0;
    free(finder);
}

static psv_status check_finder(const psv_element_finder *finder) {
    if (finder == NULL) return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is NULL");
    if (finder->cookie != ELEMENT_FINDER_COOKIE)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "finder is not a living element finder");
    return PSV_OK;
}

static psv_status check_elements(psv_element_finder *finder, const psv_elements *elements) {
    psv_context *context = finder->context;
    const psv_element_finder_def *def = &finder->def;
    if (elements == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "elements is NULL");
    if (elements->vertices > def->max_vertices || elements->edges > def->max_edges || elements->faces > def->max_faces)
        return psvi_fail(context, PSV_ERROR_CAPACITY,
                         "%llu vertices, %llu edges, %llu faces; the finder has room for %llu, %llu, %llu",
                         (unsigned long long)elements->vertices, (unsigned long long)elements->edges,
                         (unsigned long long)elements->faces, (unsigned long long)def->max_vertices,
                         (unsigned long long)def->max_edges, (unsigned long long)def->max_faces);
    psv_status status =
        psvi_check_buffer(context, elements->edge_vertices, elements->edges * 8, 4, "elements.edge_vertices");
    if (status == PSV_OK)
        status = psvi_check_buffer(context, elements->face_vertices, elements->faces * 12, 4, "elements.face_vertices");
    const bool bodies = elements->bodies.address != NULL, filters = elements->body_filters.address != NULL;
    if (status == PSV_OK && bodies && !def->bodies)
        status = psvi_fail(context, PSV_ERROR_ARGUMENT, "elements.bodies needs a finder with def.bodies");
    if (status == PSV_OK && !bodies && (filters || elements->apart))
        status = psvi_fail(context, PSV_ERROR_ARGUMENT, "elements.%s needs elements.bodies",
                           filters ? "body_filters" : "apart");
    if (status == PSV_OK && bodies)
        status = psvi_check_buffer(context, elements->bodies, elements->vertices * 4, 4, "elements.bodies");
    if (status == PSV_OK && filters)
        status = psvi_check_buffer(context, elements->body_filters, elements->body_count * sizeof(psv_box_filter), 4,
                                   "elements.body_filters");
    return status;
}

// Every index names something that is there. Waits.
static psv_status check_indices(psv_element_finder *finder, const uint32_t *indices, uint64_t count, uint64_t limit,
                                uint32_t size, const char *element, const char *named) {
    psv_context *context = finder->context;
    const psvi_index_check check = {indices, count, limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit};
    uint64_t bad = UINT64_MAX;
    psv_status status = finder->ops->check_indices(context, &check, finder->bad);
    if (status == PSV_OK) status = context->ops->copy(context, &bad, finder->bad, sizeof bad, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    if (status != PSV_OK || bad == UINT64_MAX) return status;
    return psvi_fail(context, PSV_ERROR_ARGUMENT, "%s %llu names a %s that is not there; there are %llu", element,
                     (unsigned long long)(bad / size), named, (unsigned long long)limit);
}

static psv_status name_bodies(psv_element_finder *finder, const psv_elements *elements) {
    psvi_element_bodies_job job = {.bodies = psvi_buffer_address(elements->bodies),
                                   .body_filters = psvi_buffer_address(elements->body_filters),
                                   .filters = finder->filters,
                                   .owners = finder->owners};
    psv_status status = PSV_OK;
    finder->has_bodies = job.bodies != NULL;
    finder->has_filters = job.body_filters != NULL;
    finder->apart = elements->apart;
    if (!finder->has_bodies) return PSV_OK;
    if (finder->has_filters)
        status = check_indices(finder, job.bodies, elements->vertices, elements->body_count, 1, "vertex", "body");
    for (int set = 0; set < PSVI_ELEMENT_SETS; ++set)
        job.sets[set] = finder->sets[set];
    return status == PSV_OK ? finder->ops->name_bodies(finder->context, &job) : status;
}

static psv_status upload_list(psv_element_finder *finder, const uint32_t *list, uint64_t count, uint32_t **target,
                              uint64_t *bytes) {
    psv_context *context = finder->context;
    *bytes = (count + 1) * sizeof *list;
    *target = psvi_alloc(context, *bytes);
    if (*target == NULL) return no_memory(context, *bytes);
    return context->ops->copy(context, *target, list, count * sizeof *list, PSVI_COPY_UPLOAD);
}

static psv_status download_list(psv_context *context, psv_buffer buffer, uint64_t count, uint32_t **list) {
    *list = malloc((count + 1) * sizeof **list);
    if (*list == NULL) return no_memory(context, count * sizeof **list);
    if (count == 0) return PSV_OK;
    psv_status status =
        context->ops->copy(context, *list, psvi_buffer_address(buffer), count * sizeof **list, PSVI_COPY_DOWNLOAD);
    return status == PSV_OK ? context->ops->synchronize(context) : status;
}

// Rings are made by the host, once for these elements.
static psv_status set_rings(psv_element_finder *finder, const psv_elements *elements) {
    psv_context *context = finder->context;
    free_rings(finder);
    if (finder->def.rings == 0) return PSV_OK;
    uint32_t *edges = NULL, *faces = NULL;
    psvi_rings rings = {0};
    psv_status status = download_list(context, elements->edge_vertices, elements->edges * 2, &edges);
    if (status == PSV_OK) status = download_list(context, elements->face_vertices, elements->faces * 3, &faces);
    if (status == PSV_OK &&
        !psvi_make_rings(&rings, finder->def.rings, elements->vertices, edges, elements->edges, faces, elements->faces))
        status = no_memory(context, (elements->edges + elements->faces) * 24);
    if (status == PSV_OK)
        status =
            upload_list(finder, rings.begins, elements->vertices + 1, &finder->ring_begins, &finder->ring_begins_bytes);
    if (status == PSV_OK) status = upload_list(finder, rings.near, rings.count, &finder->rings, &finder->rings_bytes);
    psvi_free_rings(&rings);
    free(edges);
    free(faces);
    return status;
}

psv_status psv_set_elements(psv_element_finder *finder, const psv_elements *elements) {
    psv_status status = check_finder(finder);
    if (status == PSV_OK) status = check_elements(finder, elements);
    if (status != PSV_OK) return status;
    const uint32_t *edges = psvi_buffer_address(elements->edge_vertices);
    const uint32_t *faces = psvi_buffer_address(elements->face_vertices);
    finder->ready = false;
    finder->sets[PSVI_VERTICES] = (psvi_element_set){NULL, 1, elements->vertices, 0};
    finder->sets[PSVI_EDGES] = (psvi_element_set){edges, 2, elements->edges, elements->vertices};
    finder->sets[PSVI_FACES] = (psvi_element_set){faces, 3, elements->faces, elements->vertices + elements->edges};
    status = check_indices(finder, edges, elements->edges * 2, elements->vertices, 2, "edge", "vertex");
    if (status == PSV_OK)
        status = check_indices(finder, faces, elements->faces * 3, elements->vertices, 3, "face", "vertex");
    if (status == PSV_OK) status = name_bodies(finder, elements);
    if (status == PSV_OK) status = set_rings(finder, elements);
    finder->ready = status == PSV_OK;
    return status;
}

static psv_status check_positions(psv_element_finder *finder, const psv_element_positions *positions,
                                  uint32_t *stride) {
    psv_context *context = finder->context;
    if (!finder->ready) return psvi_fail(context, PSV_ERROR_ARGUMENT, "the finder has no elements: psv_set_elements");
    if (positions == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "positions is NULL");
    const uint32_t word = positions->doubles ? 8 : 4;
    *stride = positions->stride != 0 ? positions->stride : 3 * word;
    if (*stride < 3 * word || *stride % word != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "positions.stride is %u; it must be a multiple of %u, from %u on",
                         positions->stride, word, 3 * word);
    if (!(positions->radius >= 0) || positions->radius > 1e300)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "positions.radius is %g; it must be finite and not negative",
                         positions->radius);
    const uint64_t count = finder->sets[PSVI_VERTICES].count;
    const uint64_t bytes = count == 0 ? 0 : (count - 1) * *stride + 3 * word;
    psv_status status = psvi_check_buffer(context, positions->start, bytes, word, "positions.start");
    if (status == PSV_OK && positions->end.address != NULL)
        status = psvi_check_buffer(context, positions->end, bytes, word, "positions.end");
    return status;
}

static psv_box_set boxes_of_set(const psv_element_finder *finder, int number) {
    const psvi_element_set *set = &finder->sets[number];
    psv_context *context = finder->context;
    psv_box_set boxes =
        psv_boxes_of(psvi_buffer_at(context, finder->boxes + set->first_box, set->count * sizeof *finder->boxes),
                     sizeof *finder->boxes, set->count);
    if (finder->has_filters)
        boxes.filters = psvi_buffer_at(context, finder->filters + set->first_box, set->count * sizeof *finder->filters);
    if (finder->apart)
        boxes.owners = psvi_buffer_at(context, finder->owners + set->first_box, set->count * sizeof *finder->owners);
    return boxes;
}

static psv_status order_rows(psv_element_finder *finder, int kind) {
    psv_context *context = finder->context;
    kind_memory *memory = &finder->kinds[kind];
    const psvi_collision_ops *ops = psvi_collision_ops_of(context->backend);
    psv_status status = ops->order_pairs(context, memory->sorter, memory->kept, &finder->counts[kind], memory->room,
                                         memory->order_scratch);
    if (status == PSV_OK)
        status = finder->ops->begin_rows(context, memory->kept, &finder->counts[kind], memory->room, memory->offsets,
                                         finder->sets[kinds[kind].a].count);
    return status;
}

// PSV_ERROR_CAPACITY is returned after the pairs that are there have been filtered.
static psv_status find_kind(psv_element_finder *finder, int kind) {
    kind_memory *memory = &finder->kinds[kind];
    const psv_box_set a = boxes_of_set(finder, kinds[kind].a), b = boxes_of_set(finder, kinds[kind].b);
    const psv_status found = kinds[kind].a == kinds[kind].b ? psv_find_pairs(memory->finder, &a)
                                                            : psv_find_pairs_between(memory->finder, &a, &b);
    if (found != PSV_OK && found != PSV_ERROR_CAPACITY) return found;
    psv_status status = take_lists(finder, kind);
    if (status != PSV_OK) return status;
    const psvi_element_filter_job job = {.pairs = psvi_buffer_address(psv_pair_buffer(memory->finder)),
                                         .count = psvi_buffer_address(psv_pair_count_buffer(memory->finder)),
                                         .room = memory->room,
                                         .a = finder->sets[kinds[kind].a],
                                         .b = finder->sets[kinds[kind].b],
                                         .ring_begins = finder->ring_begins,
                                         .rings = finder->rings,
                                         .kept = memory->kept,
                                         .kept_count = &finder->counts[kind]};
    status = finder->ops->filter_pairs(finder->context, &job);
    if (status == PSV_OK && finder->def.rows) status = order_rows(finder, kind);
    return status == PSV_OK ? found : status;
}

psv_status psv_find_element_pairs(psv_element_finder *finder, const psv_element_positions *positions) {
    psvi_element_boxes_job job = {0};
    psv_status status = check_finder(finder);
    if (status == PSV_OK) status = check_positions(finder, positions, &job.stride);
    if (status != PSV_OK) return status;
    job.times[0] = psvi_buffer_address(positions->start);
    job.times[1] = psvi_buffer_address(positions->end);
    job.doubles = positions->doubles;
    job.radius = positions->radius;
    job.boxes = finder->boxes;
    for (int set = 0; set < PSVI_ELEMENT_SETS; ++set)
        job.sets[set] = finder->sets[set];
    for (int kind = 0; kind < PSV_ELEMENT_KINDS; ++kind)
        if (finder->kinds[kind].finder != NULL) job.wanted[kinds[kind].a] = job.wanted[kinds[kind].b] = true;
    psvi_frame_begin(finder->context);
    psvi_phase_begin(finder->context, PSV_PHASE_BOUNDS);
    status = finder->ops->compute_boxes(finder->context, &job);
    psvi_phase_end(finder->context, PSV_PHASE_BOUNDS);
    psv_status capacity = PSV_OK;
    for (int kind = 0; kind < PSV_ELEMENT_KINDS && status == PSV_OK; ++kind) {
        if (finder->kinds[kind].finder == NULL) continue;
        status = find_kind(finder, kind);
        if (status != PSV_ERROR_CAPACITY) continue;
        capacity = status;
        status = PSV_OK;
    }
    psvi_frame_end(finder->context);
    return status == PSV_OK ? capacity : status;
}

static const kind_memory *memory_of(const psv_element_finder *finder, psv_element_kind kind) {
    if (check_finder(finder) != PSV_OK || (unsigned)kind >= PSV_ELEMENT_KINDS) return NULL;
    return finder->kinds[kind].finder == NULL ? NULL : &finder->kinds[kind];
}

psv_buffer psv_element_pair_buffer(const psv_element_finder *finder, psv_element_kind kind) {
    const kind_memory *memory = memory_of(finder, kind);
    if (memory == NULL) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, memory->kept, memory->room * sizeof *memory->kept);
}

psv_buffer psv_element_count_buffer(const psv_element_finder *finder, psv_element_kind kind) {
    if (memory_of(finder, kind) == NULL) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, &finder->counts[kind], sizeof *finder->counts);
}

psv_buffer psv_element_row_buffer(const psv_element_finder *finder, psv_element_kind kind) {
    const kind_memory *memory = memory_of(finder, kind);
    if (memory == NULL || memory->offsets == NULL) return (psv_buffer){0};
    return psvi_buffer_at(finder->context, memory->offsets,
                          (finder->sets[kinds[kind].a].count + 1) * sizeof *memory->offsets);
}

psv_status psv_read_element_pairs(psv_element_finder *finder, psv_element_kind kind, psv_pair *pairs, uint64_t capacity,
                                  uint64_t *count) {
    psv_status status = check_finder(finder);
    if (status != PSV_OK) return status;
    psv_context *context = finder->context;
    const kind_memory *memory = memory_of(finder, kind);
    if (memory == NULL)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "the finder does not look for %s pairs",
                         psv_element_kind_name(kind));
    if (pairs == NULL && capacity > 0) return psvi_fail(context, PSV_ERROR_ARGUMENT, "pairs is NULL");
    uint64_t kept = 0;
    status = context->ops->copy(context, &kept, &finder->counts[kind], sizeof kept, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    const uint64_t copied = kept < capacity ? kept : capacity;
    if (status == PSV_OK && copied > 0)
        status = context->ops->copy(context, pairs, memory->kept, copied * sizeof *pairs, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK && copied > 0) status = context->ops->synchronize(context);
    if (status != PSV_OK) return status;
    if (count != NULL) *count = kept;
    status = psv_finish_pairs(memory->finder, NULL);
    if (status == PSV_OK && kept > capacity)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "capacity is %llu; there are %llu %s pairs",
                         (unsigned long long)capacity, (unsigned long long)kept, kinds[kind].name);
    return status;
}
