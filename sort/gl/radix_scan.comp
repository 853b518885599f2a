// Turns counts into places: one group a row (a digit). Input: the table's rows. Output: each entry is the sum of those
// before it in its row; the row's sum goes to `totals`. A thread takes neighbouring entries, and the threads' sums are
// scanned in shared memory. Define: THREADS.
layout(local_size_x = THREADS) in;
#include "radix_state.glsl"
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 1) buffer table_block { uint table[]; };
layout(std430, binding = 2) buffer totals_block { uint totals[]; };
shared uint sums[THREADS];

void main() {
    uint thread = gl_LocalInvocationID.x, digit = gl_WorkGroupID.x, column_items = param(0);
    if (state[base(0) + UNSORTED] == 0u) return;
    uint count = state[base(0) + COUNT];
    uint columns = count / column_items + uint(count % column_items != 0u);
    uint chunk = (columns + THREADS - 1u) / THREADS;
    uint first = base(1) + digit * param(1) + min(thread * chunk, columns);
    uint end = base(1) + digit * param(1) + min((thread + 1u) * chunk, columns);
    uint sum = 0u;
    for (uint i = first; i < end; ++i)
        sum += table[i];
    sums[thread] = sum;
    barrier();
    uint own = sum;
    for (uint step = 1u; step < THREADS; step *= 2u) {
        uint below = thread >= step ? sums[thread - step] : 0u;
        barrier();
        sum += below;
        sums[thread] = sum;
        barrier();
    }
    if (thread == THREADS - 1u) totals[base(2) + digit] = sum;
    sum -= own;
    for (uint i = first; i < end; ++i) {
        uint entry = table[i];
        table[i] = sum;
        sum += entry;
    }
}
