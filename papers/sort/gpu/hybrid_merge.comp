// Section III of Sintorn & Assarsson: vector merge sort within sublists, four elements at a time.
// VECTORS 1: each group of four slots is sorted in place. One thread a vector.
// VECTORS 0: runs of param(6) sorted slots are merged two by two into the other arrays, in pass param(7). A thread owns a
// window of slots and merges the parts that begin in it: one, but for short sublists. Several threads share a
// pair of runs longer than a window. Each finds its beginning by a search along a diagonal (merge path). The paper has
// one thread a pair, which leaves most of a device idle in the last passes. No barrier; reads and writes every slot once.
// variants: KEY_WORDS=1,2 VECTORS=0,1
// constants: FLOAT
#define PLAN_ACCESS readonly
layout(local_size_x = 128) in;
#include "key_order.glsl"
#include "element_order.glsl"
#include "hybrid_plan.glsl"
layout(std430, binding = 4) writeonly buffer field_out_block { uint fields_out[]; };
layout(std430, binding = 5) writeonly buffer index_out_block { uint indices_out[]; };
#define RUN param(6)
#define WINDOW 16u // slots that a thread writes at most for a part

struct element {
    KEY field;
    uint number;
};

// Sorted slots [at, end). What follows the end counts as greatest.
struct list {
    uint at, end;
};

bool before(element a, element b) { return element_after(b.field, b.number, a.field, a.number); }

void put_in_order(inout element a, inout element b) {
    if (!before(b, a)) return;
    element greater = a;
    a = b;
    b = greater;
}

// sortElements of the paper: three vector steps, five comparators.
void sort4(inout element v[4]) {
    put_in_order(v[0], v[1]);
    put_in_order(v[2], v[3]);
    put_in_order(v[0], v[2]);
    put_in_order(v[1], v[3]);
    put_in_order(v[1], v[2]);
}

// Figure 1: the four lowest of two sorted vectors to a, the four highest to b, both sorted again.
void split_low_high(inout element a[4], inout element b[4]) {
    put_in_order(a[0], b[3]);
    put_in_order(a[1], b[2]);
    put_in_order(a[2], b[1]);
    put_in_order(a[3], b[0]);
    sort4(a);
    sort4(b);
}

element get(uint i, uint end) {
    if (i >= end) return element(LAST_KEY, 0xffffffffu);
    return element(LOAD_KEY(fields, base(1), i), indices[base(2) + i]);
}

void take(inout list from, out element v[4]) {
    for (uint k = 0u; k < 4u; ++k)
        v[k] = get(from.at + k, from.end);
    from.at += 4u;
}

// Moves both lists to where output `diagonal` of their merge begins.
void skip(inout list a, inout list b, uint diagonal) {
    uint a_count = a.end - a.at, b_count = b.end - b.at;
    uint low = diagonal > b_count ? diagonal - b_count : 0u, high = min(diagonal, a_count);
    while (low < high) {
        uint middle = (low + high) / 2u;
        if (before(get(a.at + middle, a.end), get(b.at + diagonal - 1u - middle, b.end)))
            low = middle + 1u;
        else
            high = middle;
    }
    a.at += low;
    b.at += diagonal - low;
}

// Figure 3: the first `vectors` vectors of the merge. The next vector is of the list with the lower head. The greatest
// element loaded so far is the last of one list, so all that this list has left is not below the rest. So the four
// lowest are among the rest and the vector taken.
void merge(list a, list b, uint to, uint vectors) {
    element a_head = get(a.at, a.end), b_head = get(b.at, b.end), rest[4], next[4];
    for (uint v = 0u; v <= vectors; ++v) {
        if (before(a_head, b_head)) {
            take(a, next);
            a_head = get(a.at, a.end);
        } else {
            take(b, next);
            b_head = get(b.at, b.end);
        }
        if (v > 0u) {
            split_low_high(rest, next);
            for (uint k = 0u; k < 4u; ++k) {
                uint slot = to + 4u * (v - 1u) + k;
                STORE_KEY(fields_out, base(4), slot, rest[k].field);
                indices_out[base(5) + slot] = rest[k].number;
            }
        }
        rest = next;
    }
}

void sort_vector(uint at) {
    element v[4];
    list slots = list(at, at + 4u);
    take(slots, v);
    sort4(v);
    for (uint k = 0u; k < 4u; ++k) {
        STORE_KEY(fields, base(1), at + k, v[k].field);
        indices[base(2) + at + k] = v[k].number;
    }
}

// The parts that begin in the window's slots [window_first, window_end).
void merge_window(uint window_first, uint window_end, uint window) {
    uint sublist = last_not_above(STARTS, window_first);
    uint first = plan[base(6) + STARTS + sublist], end = plan[base(6) + STARTS + sublist + 1u];
    uint part = first + (window_first - first + window - 1u) / window * window;
    for (;;) {
        while (part >= end && sublist + 1u < SUBLISTS) {
            ++sublist;
            part = first = end;
            end = plan[base(6) + STARTS + sublist + 1u];
        }
        if (part >= window_end || part >= end) return;
        uint pair = first + (part - first) / (2u * RUN) * (2u * RUN);
        uint middle = min(pair + RUN, end), pair_end = min(pair + 2u * RUN, end);
        list a = list(pair, middle), b = list(middle, pair_end);
        if (part != pair) skip(a, b, part - pair);
        merge(a, b, part, min(window, pair_end - part) / 4u);
        part += window;
    }
}

void main() {
    uint thread = group_number() * 128u + gl_LocalInvocationID.x, slots = plan[base(6) + STARTS + SUBLISTS];
#if VECTORS
    if (4u * thread < slots) sort_vector(4u * thread);
#else
    if (param(7) >= plan[base(6) + MERGE_PASSES]) return;
    uint window = min(2u * RUN, WINDOW), first = thread * window;
    if (first < slots) merge_window(first, min(first + window, slots), window);
#endif
}
