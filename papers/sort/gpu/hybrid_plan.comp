// Plans the sublists of `hybrid`. One group. param 6: what is done, 7: which edges are read, or how many ranges there
// are. Nothing is read back to the host, other than in the paper.
//   START:   ranges to the least and greatest field, and edges of equal parts between them; sizes and flags are cleared
//   REFINE:  Figure 5: new edges, which would divide the elements evenly if every part were uniform inside; the sizes
//            are cleared for another count
//   JUDGE:   REFINE, unless the sizes are even
//   OFFSETS: sizes to slots and ranks, padding behind each sublist (the greatest field, where the paper has values below
//            the least), and the number of merge passes
// variants: KEY_WORDS=1,2
// constants: FLOAT
#define PLAN_ACCESS coherent
layout(local_size_x = 256) in;
#include "key_order.glsl"
#include "radix_state.glsl"
#include "hybrid_plan.glsl"
#include "hybrid_range.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 4) writeonly buffer slot_field_block { uint slot_fields[]; };
layout(std430, binding = 5) writeonly buffer slot_index_block { uint slot_indices[]; };
#define START 0u
#define REFINE 1u
#define JUDGE 2u
#define OFFSETS 3u
#define UNEVEN 2u // times the mean: such a sublist is too large
shared uint sums[256];
shared uint largest;

// num / den in 32 bits behind the point, num < den <= 2^31. Exact, so that edges ascend.
uint fraction(uint num, uint den) {
    uint bits = 0u;
    for (uint k = 0u; k < 32u; ++k) {
        num *= 2u;
        bits *= 2u;
        if (num >= den) num -= den, ++bits;
    }
    return bits;
}

uint rounded_size(uint b, uint step) { return (plan[base(6) + SIZES + b] + step - 1u) / step * step; }

// The exclusive prefix sums of the sizes, each rounded up to a multiple of `step`, and their sum, from `to` on.
void scan_sizes(uint step, uint to) {
    uint thread = gl_LocalInvocationID.x, own = (SUBLISTS + 255u) / 256u, sum = 0u;
    uint first = min(thread * own, SUBLISTS), end = min(first + own, SUBLISTS);
    for (uint b = first; b < end; ++b)
        sum += rounded_size(b, step);
    sums[thread] = sum;
    barrier();
    for (uint reach = 1u; reach < 256u; reach *= 2u) {
        uint left = thread >= reach ? sums[thread - reach] : 0u;
        barrier();
        sums[thread] += left;
        barrier();
    }
    uint before = sums[thread] - sum;
    for (uint b = first; b < end; ++b) {
        plan[base(6) + to + b] = before;
        before += rounded_size(b, step);
    }
    if (thread == 255u) plan[base(6) + to + SUBLISTS] = before;
    memoryBarrierBuffer();
    barrier();
}

void clear_sizes() {
    for (uint b = gl_LocalInvocationID.x; b < SUBLISTS; b += 256u)
        plan[base(6) + SIZES + b] = 0u;
}

void start() {
    uint thread = gl_LocalInvocationID.x;
    KEY low = LAST_KEY, high = KEY(0u);
    if (thread < param(7)) {
        low = LOAD_KEY(plan, base(6) + RANGES, 2u * thread);
        high = LOAD_KEY(plan, base(6) + RANGES, 2u * thread + 1u);
    }
    reduce_range(low, high);
    if (comes_after(low, high)) low = high; // no elements
    KEY width = key_difference(high, low);
    for (uint b = thread; b <= SUBLISTS; b += 256u) {
        KEY edge = high;
        if (b < SUBLISTS) edge = key_sum(low, key_part(width, fraction(b, SUBLISTS)));
        STORE_KEY(plan, base(6) + EDGES(1u), b, edge);
    }
    clear_sizes();
    if (thread != 0u) return;
    STORE_KEY(plan, base(6) + LOW, 0u, low);
    STORE_KEY(plan, base(6) + HIGH, 0u, high);
    plan[base(6) + EVEN] = 0u;
}

void refine(uint from, uint to) {
    scan_sizes(1u, RANKS);
    uint count = plan[base(6) + RANKS + SUBLISTS], whole = count / SUBLISTS, rest = count % SUBLISTS;
    for (uint j = gl_LocalInvocationID.x; j <= SUBLISTS; j += 256u) {
        KEY edge = LOAD_KEY(plan, base(6) + from, j);
        if (j != 0u && j != SUBLISTS) {
            uint wanted = whole * j + rest * j / SUBLISTS, part = last_not_above(RANKS, wanted);
            uint before = plan[base(6) + RANKS + part], size = plan[base(6) + SIZES + part];
            KEY first = LOAD_KEY(plan, base(6) + from, part), next = LOAD_KEY(plan, base(6) + from, part + 1u);
            edge = key_sum(first, key_part(key_difference(next, first), size == 0u ? 0u : fraction(wanted - before, size)));
        }
        STORE_KEY(plan, base(6) + to, j, edge);
    }
    barrier();
    clear_sizes();
}

// False: the sizes are even, or were before.
bool judge() {
    uint thread = gl_LocalInvocationID.x, limit = UNEVEN * (state[base(0) + COUNT] / SUBLISTS + 1u);
    if (plan[base(6) + EVEN] != 0u) return false;
    largest = 0u;
    barrier();
    for (uint b = thread; b < SUBLISTS; b += 256u)
        if (plan[base(6) + SIZES + b] > limit) atomicMax(largest, 1u);
    barrier();
    if (largest == 0u && thread == 0u) plan[base(6) + EVEN] = 1u;
    return largest != 0u;
}

void find_offsets() {
    uint thread = gl_LocalInvocationID.x;
    largest = 0u;
    scan_sizes(1u, RANKS);
    scan_sizes(4u, STARTS);
    for (uint b = thread; b < SUBLISTS; b += 256u) {
        uint first = plan[base(6) + STARTS + b], end = plan[base(6) + STARTS + b + 1u];
        atomicMax(largest, end - first);
        for (uint slot = first + plan[base(6) + SIZES + b]; slot < end; ++slot) {
            STORE_KEY(slot_fields, base(4), slot, LAST_KEY);
            slot_indices[base(5) + slot] = 0xffffffffu;
        }
    }
    barrier();
    if (thread != 0u) return;
    uint passes = 0u;
    while (passes < 29u && (4u << passes) < largest)
        ++passes;
    plan[base(6) + MERGE_PASSES] = passes;
}

void main() {
    if (group_number() != 0u) return;
    if (param(6) == START)
        start();
    else if (param(6) == OFFSETS)
        find_offsets();
    else if (param(6) == REFINE || judge())
        refine(EDGES(param(7)), EDGES(1u - param(7)));
}
