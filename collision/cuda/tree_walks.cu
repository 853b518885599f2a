// Rays and closest points through a tree on CUDA. Walks differ in length, and only some of their nodes have items to
// test. With one query a lane, lanes would mostly wait for each other. So a warp takes 128 queries, and idle lanes
// start new ones (Aila, Laine, «Understanding the efficiency of ray traversal on GPUs», 2009). A lane that reaches
// items keeps traversing until it reaches more. Items are tested once enough lanes have some (Ylitie, Karras, Laine
// 2017). This is 1.3 times as fast for random rays. It is slower for rays of one direction, as from a camera or to a
// light: these take the plain walk, 32 in a warp.
#include "../src/queries/tree_query.h"
#include "broad_phase_tuning.h"
#include "launch_cuda.h"
#include "tree_kernels.h"

#define WALK_FULL 0xffffffffu
#define WALK_BOUNDS __launch_bounds__(PSVI_SEARCH_THREADS, 7) // 72 registers, seven blocks a multiprocessor

// What a lane looks for, by kind of query: where it begins (false: nothing can be found; `some`: the tree has a root
// and items of the query's world), which slots of a node matter, what an item means (true: the walk is over), and what
// is written in the end.
template <int KIND> struct walk_task;

struct ray_task {
    psv_tree_ray ray;

    __device__ bool start(const psvi_tree_query &query, uint32_t q, bool some, float *t_max) {
        psv_ray from;
        psvi_copy_words(query.data + (uint64_t)q * query.stride, &from, 8);
        *t_max = from.t_max;
        return some && psv_make_tree_ray(&from, &query.view.nodes[0], &ray);
    }
    __device__ void push(psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots) const {
        psv_push_slots(walk, node, slots, ray.octant);
    }
};

template <> struct walk_task<PSVI_QUERY_CLOSEST_HIT> : ray_task {
    psv_ray_hit best; // with the caller's t

    __device__ bool begin(const psvi_tree_query &query, uint32_t q, bool some) {
        best = {0, PSV_NO_ITEM, 0, 0};
        return start(query, q, some, &best.t);
    }
    __device__ uint32_t look(const psv_tree_node *node) { return psv_ray_slots(node, &ray, ray.t_max); }
    __device__ bool take(const psvi_tree_query &query, uint32_t place, psv_box_filter filter) {
        psv_ray_hit hit;
        if (psv_ray_meets_item(&query.view, &ray, place, &hit) && psvi_hit_before(&hit, &best) &&
            psv_item_passes(&query.view, hit.item, filter)) {
            best = hit;
            ray.t_max = psv_limit_t(&ray, hit.t);
        }
        return false;
    }
    __device__ void finish(const psvi_tree_query &query, uint32_t q) { ((psv_ray_hit *)query.target)[q] = best; }
};

template <> struct walk_task<PSVI_QUERY_ANY_HIT> : ray_task {
    uint32_t found;

    __device__ bool begin(const psvi_tree_query &query, uint32_t q, bool some) {
        float t_max;
        found = 0;
        return start(query, q, some, &t_max);
    }
    __device__ uint32_t look(const psv_tree_node *node) { return psv_ray_slots(node, &ray, ray.t_max); }
    __device__ bool take(const psvi_tree_query &query, uint32_t place, psv_box_filter filter) {
        psv_ray_hit hit;
        found = psv_ray_meets_item(&query.view, &ray, place, &hit) && psv_item_passes(&query.view, hit.item, filter);
        return found != 0;
    }
    __device__ void finish(const psvi_tree_query &query, uint32_t q) { ((uint32_t *)query.target)[q] = found; }
};

template <> struct walk_task<PSVI_QUERY_CLOSEST_POINT> {
    psv_closest_point best;
    float centre[3], most2, sum[8];

    __device__ bool begin(const psvi_tree_query &query, uint32_t q, bool some) {
        const psv_sphere sphere = psvi_load_sphere(query.data + (uint64_t)q * query.stride);
        for (int k = 0; k < 3; ++k)
            best.point[k] = centre[k] = sphere.centre[k];
        best.distance = sphere.radius;
        best.item = PSV_NO_ITEM;
        best.u = best.v = 0;
        most2 = psv_mul(sphere.radius, sphere.radius);
        return some && psvi_sphere_is_good(&sphere);
    }
    __device__ uint32_t look(const psv_tree_node *node) { return psv_near_slots(node, centre, most2, sum); }
    __device__ void push(psv_tree_walk *walk, const psv_tree_node *node, uint32_t slots) const {
        psv_push_by_distance(walk, node, slots, sum);
    }
    __device__ bool take(const psvi_tree_query &query, uint32_t place, psv_box_filter filter) {
        // Other items of the node may have been nearer than this one's box since the node was looked at.
        if (!(psv_item_box_distance2(&query.view, centre, place) <= most2)) return false;
        psv_closest_point at;
        const float d2 = psv_item_distance2(&query.view, centre, place, &at);
        if (!(d2 < most2 || (d2 == most2 && at.item < best.item))) return false;
        if (!psv_item_passes(&query.view, at.item, filter)) return false;
        best = at;
        most2 = d2;
        return false;
    }
    __device__ void finish(const psvi_tree_query &query, uint32_t q) {
        if (best.item != PSV_NO_ITEM) best.distance = psv_root(most2);
        ((psv_closest_point *)query.target)[q] = best;
    }
};

__device__ __forceinline__ uint64_t query_count(const psvi_tree_query &query) {
    const uint64_t count = query.count;
    return query.count_device != NULL && *query.count_device < count ? *query.count_device : count;
}

// Whether a group of 32 rays goes the same way is told by eight of them, of which this is the place of one; `rays` are
// there. Both kernels ask; each group is of one of them. With four one random group in 7,000 is taken for alike, and a
// call waits for that.
__device__ __forceinline__ uint32_t telling_ray(uint64_t rays, uint32_t part) {
    return (rays < 32 ? (uint32_t)rays - 1 : 31u) * part / 7;
}

__device__ __forceinline__ void load_direction(const psvi_tree_query &query, uint64_t i, float d[3]) {
    const uint32_t q = query.order == NULL ? (uint32_t)i : query.order[i];
    psvi_load3(query.data + (uint64_t)q * query.stride + 16, d);
}

// Whether a lane's direction is about that of another lane.
__device__ __forceinline__ bool is_along(const float d[3], uint32_t lane) {
    float from[3];
    for (int k = 0; k < 3; ++k)
        from[k] = __shfl_sync(WALK_FULL, d[k], (int)lane);
    const float along = d[0] * from[0] + d[1] * from[1] + d[2] * from[2];
    const float most =
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * (from[0] * from[0] + from[1] * from[1] + from[2] * from[2]);
    return along > 0 && along * along > 0.8f * most;
}

// The warp's own 32 rays from `first` on.
__device__ __forceinline__ bool group_is_alike(const psvi_tree_query &query, uint64_t first, uint64_t count) {
    const uint64_t i = first + (threadIdx.x & 31);
    float d[3];
    load_direction(query, i < count ? i : first, d);
    unsigned telling = 0;
    for (uint32_t part = 0; part < 8; ++part)
        telling |= 1u << telling_ray(count - first, part);
    return (~__ballot_sync(WALK_FULL, is_along(d, 0)) & telling) == 0;
}

// Which groups, of the TREE_WALK_QUERIES rays from `first` on, go different ways, a bit each.
__device__ __forceinline__ uint32_t groups_apart(const psvi_tree_query &query, uint64_t first, uint64_t count) {
    static_assert(TREE_WALK_QUERIES == 128, "a lane for each ray that tells");
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t begin = first + 32 * (lane >> 3);
    float d[3] = {0, 0, 0};
    if (begin < count) load_direction(query, begin + telling_ray(count - begin, lane & 7u), d);
    const unsigned apart = __ballot_sync(WALK_FULL, !is_along(d, lane & 24u));
    uint32_t found = 0;
    for (uint32_t g = 0; g < TREE_WALK_QUERIES / 32; ++g)
        found |= (uint32_t)(first + 32 * g < count && (apart >> (8 * g) & 255u) != 0) << g;
    return found;
}

// Groups of 32 queries from `first` on that there are, of TREE_WALK_QUERIES.
__device__ __forceinline__ uint32_t groups_there(uint64_t first, uint64_t count) {
    uint32_t found = 0;
    for (uint32_t g = 0; g < TREE_WALK_QUERIES / 32; ++g)
        found |= (uint32_t)(first + 32 * g < count) << g;
    return found;
}

// One thread a ray. `all`: also those of groups that go different ways.
template <int KIND>
__global__ void WALK_BOUNDS psvk_tree_rays(const __grid_constant__ psvi_tree_query query, bool all) {
    const uint64_t i = (uint64_t)blockIdx.x * PSVI_SEARCH_THREADS + threadIdx.x, count = query_count(query);
    const uint64_t first = i & ~(uint64_t)31;
    if (first >= count || (!all && !group_is_alike(query, first, count)) || i >= count) return;
    psvi_answer(&query, (psvi_query_kind)KIND, query.order == NULL ? (uint32_t)i : query.order[i]);
}

// A warp: TREE_WALK_QUERIES queries, in their order. Reads nodes of 80 and items of 32 or 48 bytes, mostly from the
// caches, and writes one answer a query. No memory is shared between lanes; votes alone decide what the warp does.
template <int KIND> __global__ void WALK_BOUNDS psvk_tree_walks(const __grid_constant__ psvi_tree_query query) {
    const uint64_t count = query_count(query);
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t first = ((uint64_t)blockIdx.x * PSVI_SEARCH_THREADS + threadIdx.x) / 32 * TREE_WALK_QUERIES;
    // Groups that are this kernel's; the queries that are left of the lowest.
    uint32_t groups = groups_there(first, count), next = 0;
    if (KIND != PSVI_QUERY_CLOSEST_POINT) groups &= groups_apart(query, first, count);
    walk_task<KIND> task;
    psv_tree_stack stack;
    psv_tree_walk walk;
    psv_box_filter filter = {~0u, ~0u};
    // Items that wait, as in the upper bits of a node's order; those of the next node, where the lane went on.
    uint32_t q = 0, first_item = 0, items = 0, later_item = 0, later = 0;
    bool live = false;
    for (;;) {
        const unsigned idle = __ballot_sync(WALK_FULL, !live);
        if (groups != 0 && __popc(idle) >= TREE_WALK_REFILL) {
            const uint32_t at = next + (uint32_t)__popc(idle & ((1u << lane) - 1));
            const uint64_t i = first + 32 * psv_low_bit(groups) + at;
            if (!live && at < 32 && i < count) {
                q = query.order == NULL ? (uint32_t)i : query.order[i];
                const psvi_asker asker = psvi_asker_of(&query, q);
                filter = asker.filter;
                items = later = 0;
                psv_begin_walk(&walk, &stack, &query.view, asker.world);
                live = task.begin(query, q, walk.group != 0);
                if (!live) task.finish(query, q);
            }
            next += (uint32_t)__popc(idle);
            if (next >= 32) {
                next = 0;
                groups &= groups - 1;
            }
            continue;
        }
        if (idle == WALK_FULL) return;
        const bool walks = walk.group >> 24 != 0 || walk.depth != 0;
        const bool goes = live && walks && later >> 24 == 0;
        const unsigned waiting = __ballot_sync(WALK_FULL, live && items >> 24 != 0);
        const unsigned going = __ballot_sync(WALK_FULL, goes);
        bool done = false;
        if (going == 0 || TREE_WALK_WAITING * __popc(waiting) >= __popc(~idle)) {
            if (live && items >> 24 != 0) {
                const uint32_t slot = psv_low_bit(items >> 24);
                items ^= 1u << (24 + slot);
                done = task.take(query, psv_slot_child(first_item, items, slot), filter);
            }
        } else if (goes) {
            uint32_t number;
            (void)psv_next_node(&walk, &number);
            const psv_tree_node node = psv_load_node(&query.view, number);
            const uint32_t slots = task.look(&node) & psv_world_slots(&walk, number, node.order);
            task.push(&walk, &node, slots);
            later = (slots & ~psv_node_inner(&node)) << 24 | (node.order & 0xffffffu);
            later_item = node.first_item;
        }
        if (items >> 24 == 0) {
            items = later;
            first_item = later_item;
            later = 0;
        }
        if (live && (done || (items >> 24 == 0 && walk.group >> 24 == 0 && walk.depth == 0))) {
            task.finish(query, q);
            live = false;
        }
    }
}

template <int KIND> static void launch_walks(const psvi_tree_query *query, cudaStream_t stream) {
    const uint32_t blocks = psvi_block_count(query->count, TREE_WALK_QUERIES * (PSVI_SEARCH_THREADS / 32));
    psvk_tree_walks<KIND><<<blocks, PSVI_SEARCH_THREADS, 0, stream>>>(*query);
}

template <int KIND> static void launch_rays(const psvi_tree_query *query, cudaStream_t stream) {
    const bool all = query->count < TREE_WALK_FROM;
    psvk_tree_rays<KIND>
        <<<psvi_block_count(query->count, PSVI_SEARCH_THREADS), PSVI_SEARCH_THREADS, 0, stream>>>(*query, all);
    if (!all) launch_walks<KIND>(query, stream);
}

extern "C" cudaError_t psvi_launch_walks(const psvi_tree_query *query, cudaStream_t stream) {
    switch (query->kind) {
    case PSVI_QUERY_CLOSEST_HIT: launch_rays<PSVI_QUERY_CLOSEST_HIT>(query, stream); break;
    case PSVI_QUERY_ANY_HIT: launch_rays<PSVI_QUERY_ANY_HIT>(query, stream); break;
    default: launch_walks<PSVI_QUERY_CLOSEST_POINT>(query, stream);
    }
    return cudaGetLastError();
}
