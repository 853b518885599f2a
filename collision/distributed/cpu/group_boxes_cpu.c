// Boxes and pairs of a group's finder on the CPU.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../core/cpu/workers.h"
#include "../../../sort/distributed/cpu/part_lists.h"
#include "../../../sort/distributed/group_internal.h"
#include "../../src/box_test.h"
#include "../group_boxes.h"

typedef struct boxes_state {
    psvi_list_maker boxes, pairs;
    uint64_t *kept; // of each worker
} boxes_state;

static void close_boxes(psv_context *context, void *state) {
    boxes_state *own = state;
    (void)context;
    if (own == NULL) return;
    psvi_close_list_maker(&own->boxes);
    psvi_close_list_maker(&own->pairs);
    free(own->kept);
    free(own);
}

static psv_status open_boxes(psv_context *context, uint32_t size, void **state) {
    boxes_state *own = calloc(1, sizeof *own);
    *state = own;
    if (own != NULL) own->kept = malloc(psvi_workers_for(context, UINT32_MAX) * sizeof *own->kept);
    if (own != NULL && own->kept != NULL && psvi_open_list_maker(context, &own->boxes, psvi_box_list_count(size)) &&
        psvi_open_list_maker(context, &own->pairs, size))
        return PSV_OK;
    return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a finder of %u ranks", size);
}

// --- boxes -----------------------------------------------------------------------------------------------------------

static const float *min_of(const psvi_box_view *view, uint64_t i) {
    return (const float *)(const void *)(view->min + i * view->min_stride);
}

static const float *max_of(const psvi_box_view *view, uint64_t i) {
    return (const float *)(const void *)(view->max + i * view->max_stride);
}

static uint32_t world_of(const psvi_box_view *view, uint64_t i) { return view->worlds == NULL ? 0 : view->worlds[i]; }

static bool is_disabled(const psvi_box_view *view, uint64_t i) {
    return view->flags != NULL && (view->flags[i] & PSV_BOX_DISABLED) != 0;
}

static bool is_bad(const psvi_group_boxes *boxes, uint64_t i) {
    return psvi_box_is_bad(min_of(boxes->view, i), max_of(boxes->view, i)) ||
           world_of(boxes->view, i) >= (boxes->world_count < 1 ? 1 : boxes->world_count);
}

static void copy_box(const psvi_box_view *view, uint64_t i, psv_aabb *box) {
    for (int axis = 0; axis < 3; ++axis) {
        box->min[axis] = min_of(view, i)[axis];
        box->max[axis] = max_of(view, i)[axis];
    }
}

static psv_status sample_boxes(psv_context *context, void *state, const psvi_group_boxes *boxes,
                               psvi_box_sample *samples, uint64_t sample_count) {
    (void)context, (void)state;
    for (uint64_t s = 0; s < sample_count; ++s) {
        const uint64_t i = psvi_sample_place(s, sample_count, boxes->view->count);
        samples[s] = (psvi_box_sample){.world = world_of(boxes->view, i)};
        if (is_disabled(boxes->view, i) || is_bad(boxes, i)) continue;
        copy_box(boxes->view, i, &samples[s].box);
        samples[s].weight = 1;
    }
    return PSV_OK;
}

static uint32_t choose_regions(const void *data, uint64_t item, uint32_t *lists) {
    const psvi_group_boxes *boxes = data;
    if (boxes->some != NULL) item = boxes->some[item];
    if (is_disabled(boxes->view, item)) return 0;
    if (is_bad(boxes, item)) {
        lists[0] = 2 * boxes->regions.size;
        return 1;
    }
    const float *min = min_of(boxes->view, item), *max = max_of(boxes->view, item);
    uint32_t count = 0;
    for (uint32_t rank = 0; psvi_next_region(boxes->regions, min, max, world_of(boxes->view, item), &rank); ++rank)
        lists[count++] = rank;
    for (uint32_t i = 0; i < count; ++i)
        lists[i] = 2 * lists[i] + (count > 1);
    return count;
}

static psv_status count_lists(psv_context *context, void *state, const psvi_group_boxes *boxes, uint64_t *counts) {
    psvi_list_maker *maker = &((boxes_state *)state)->boxes;
    maker->choose = choose_regions;
    maker->data = boxes;
    maker->count = boxes->some != NULL ? boxes->some_count : boxes->view->count;
    psvi_cpu_count_lists(context, maker, counts);
    return PSV_OK;
}

static psv_status write_lists(psv_context *context, void *state, const psvi_group_boxes *boxes, uint32_t *index) {
    psvi_list_maker *maker = &((boxes_state *)state)->boxes;
    maker->data = boxes;
    psvi_cpu_write_lists(context, maker, index);
    for (uint64_t i = 0; boxes->some != NULL && i < maker->written; ++i)
        index[i] = boxes->some[index[i]];
    return PSV_OK;
}

typedef struct pack_task {
    const psvi_box_view *view;
    const uint32_t *index;
    psv_aabb *packed;
} pack_task;

static void pack_range(void *data, uint64_t first, uint64_t end) {
    const pack_task *task = data;
    for (uint64_t i = first; i < end; ++i)
        copy_box(task->view, task->index[i], &task->packed[i]);
}

static psv_status pack_boxes(psv_context *context, const psvi_box_view *view, const uint32_t *index, uint64_t count,
                             psv_aabb *packed) {
    psvi_run_ranges(context, count, 1 << 14, pack_range, &(pack_task){view, index, packed});
    return PSV_OK;
}

typedef struct corners_task {
    const psvi_rule_side *side;
    const uint32_t *index;
    psv_aabb64 *packed;
} corners_task;

static void pack_some_corners(void *data, uint64_t first, uint64_t end) {
    const corners_task *task = data;
    const psvi_rule_side *side = task->side;
    for (uint64_t i = first; i < end; ++i) {
        const uint64_t box = task->index[i];
        memcpy(task->packed[i].min, side->min + box * side->min_stride, sizeof task->packed[i].min);
        memcpy(task->packed[i].max, side->max + box * side->max_stride, sizeof task->packed[i].max);
    }
}

static psv_status pack_corners(psv_context *context, const psvi_rule_side *side, const uint32_t *index, uint64_t count,
                               psv_aabb64 *packed) {
    psvi_run_ranges(context, count, 1 << 14, pack_some_corners, &(corners_task){side, index, packed});
    return PSV_OK;
}

// --- boxes that are not copied ---------------------------------------------------------------------------------------

typedef struct sift_task {
    const psvi_sifting *sifting;
    psvi_sifted *sifted; // atomic
} sift_task;

static void note_box(uint32_t *list, uint64_t *count, uint64_t room, uint64_t box) {
    const uint64_t place = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    if (place < room) list[place] = (uint32_t)box;
}

// Words of 32 boxes.
static void sift_range(void *data, uint64_t first, uint64_t end) {
    const sift_task *task = data;
    const psvi_sifting *sifting = task->sifting;
    const psvi_group_boxes *boxes = sifting->boxes;
    const psvi_box_view *view = boxes->view;
    for (uint64_t word = first; word < end; ++word) {
        uint32_t bits = 0;
        for (uint64_t i = word * 32; i < (word + 1) * 32 && i < view->count; ++i) {
            if (is_disabled(view, i)) {
                __atomic_fetch_add(&task->sifted->disabled, 1, __ATOMIC_RELAXED);
                continue;
            }
            const float *min = min_of(view, i), *max = max_of(view, i);
            const bool bad = is_bad(boxes, i);
            if (bad || !psvi_is_inner(&sifting->inner, min, max, world_of(view, i))) {
                bits |= 1u << (i & 31);
                if (sifting->away != NULL) note_box(sifting->away, &task->sifted->away, sifting->room, i);
            }
            if (!bad && psvi_is_near(sifting->reaches, sifting->reach_count, min, max))
                note_box(sifting->near, &task->sifted->near, sifting->room, i);
        }
        if (sifting->away_bits != NULL) sifting->away_bits[word] = bits;
    }
}

static psv_status sift_boxes(psv_context *context, void *state, const psvi_sifting *sifting, psvi_sifted *sifted) {
    (void)state;
    *sifted = (psvi_sifted){0};
    psvi_run_ranges(context, (sifting->boxes->view->count + 31) / 32, 512, sift_range, &(sift_task){sifting, sifted});
    return PSV_OK;
}

static psv_status bound_boxes(psv_context *context, void *state, const psv_aabb *boxes, uint32_t size,
                              uint64_t *const firsts[2], uint64_t *const counts[2], psv_aabb *bounds) {
    (void)context, (void)state;
    for (uint32_t r = 0; r < size; ++r) {
        bounds[r] = (psv_aabb){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
        for (int kind = 0; kind < 2; ++kind)
            for (uint64_t i = firsts[kind][r]; i < firsts[kind][r] + counts[kind][r]; ++i)
                for (int axis = 0; axis < 3; ++axis) {
                    bounds[r].min[axis] = fminf(bounds[r].min[axis], boxes[i].min[axis]);
                    bounds[r].max[axis] = fmaxf(bounds[r].max[axis], boxes[i].max[axis]);
                }
    }
    return PSV_OK;
}

// --- pairs -----------------------------------------------------------------------------------------------------------

typedef struct keep_task {
    const psvi_seen_pairs *seen;
    psv_pair *kept; // NULL: only count
    uint64_t *counts;
    uint32_t workers;
} keep_task;

static void keep_share(void *data, uint32_t worker) {
    const keep_task *task = data;
    const psvi_seen_pairs *seen = task->seen;
    const uint64_t begin = seen->count * worker / task->workers, end = seen->count * (worker + 1) / task->workers;
    uint64_t place = task->counts[worker];
    for (uint64_t i = begin; i < end; ++i) {
        if (!psvi_reports_pair(seen, seen->pairs[i])) continue;
        if (task->kept != NULL) {
            task->kept[place] = psvi_named_pair(seen, seen->pairs[i]);
            uint64_t *counts = seen->world_pairs;
            const uint32_t world = seen->worlds == NULL ? 0 : seen->worlds[seen->pairs[i].a];
            if (counts != NULL) __atomic_fetch_add(&counts[world], 1, __ATOMIC_RELAXED);
        }
        ++place;
    }
    task->counts[worker] = place;
}

static psv_status keep_pairs(psv_context *context, void *state, const psvi_seen_pairs *seen, uint32_t parts,
                             psv_pair *kept, uint64_t *kept_count) {
    uint64_t first = 0;
    for (uint32_t p = 0; p < parts; ++p) {
        keep_task task = {&seen[p], NULL, ((boxes_state *)state)->kept, psvi_workers_for(context, seen[p].count)};
        for (uint32_t w = 0; w < task.workers; ++w)
            task.counts[w] = 0;
        psvi_run_tasks(context, task.workers, keep_share, &task);
        for (uint32_t w = 0; w < task.workers; ++w) {
            const uint64_t length = task.counts[w];
            task.counts[w] = first;
            first += length;
        }
        task.kept = kept;
        psvi_run_tasks(context, task.workers, keep_share, &task);
    }
    *kept_count = first;
    return PSV_OK;
}

static void swap_range(void *data, uint64_t first, uint64_t end) {
    psv_pair *pairs = data;
    for (uint64_t i = first; i < end; ++i)
        pairs[i] = (psv_pair){pairs[i].b, pairs[i].a};
}

static psv_status swap_pairs(psv_context *context, psv_pair *pairs, uint64_t count) {
    psvi_run_ranges(context, count, 1 << 14, swap_range, pairs);
    return PSV_OK;
}

typedef struct listed_pairs {
    const psv_pair *pairs;
    uint32_t size;
} listed_pairs;

static uint32_t choose_home(const void *data, uint64_t item, uint32_t *lists) {
    const listed_pairs *listed = data;
    lists[0] = psvi_pair_home(listed->pairs[item], listed->size);
    return 1;
}

static psv_status list_pairs(psv_context *context, void *state, const psv_pair *pairs, uint64_t count, uint32_t size,
                             uint32_t *index, uint64_t *counts) {
    psvi_list_maker *maker = &((boxes_state *)state)->pairs;
    const listed_pairs listed = {pairs, size};
    maker->choose = choose_home;
    maker->data = &listed;
    maker->count = count;
    psvi_cpu_count_lists(context, maker, counts);
    psvi_cpu_write_lists(context, maker, index);
    return PSV_OK;
}

const psvi_group_box_ops psvi_cpu_group_box_ops = {
    open_boxes, close_boxes, sample_boxes, count_lists, write_lists, pack_boxes, pack_corners, keep_pairs,
    swap_pairs, list_pairs,  sift_boxes,   bound_boxes, NULL,        NULL,       NULL,
};
