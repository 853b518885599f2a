// Turns counts into positions: one group a row (a digit). Input: the table's rows. Output: each entry is the sum of the
// entries before it in its row; the row's sum goes to `totals`. A group takes THREADS * ITEMS neighbouring entries at a
// time through shared memory, ITEMS neighbours a thread; the threads' sums are scanned. Reads and writes every entry
// once.
// constants: THREADS
layout(local_size_x = THREADS) in;
#include "radix_state.glsl"
#define ITEMS 16u
layout(std430, binding = 0) readonly buffer state_block { uint state[]; };
layout(std430, binding = 1) buffer table_block { uint table[]; };
layout(std430, binding = 2) buffer totals_block { uint totals[]; };
shared uint entries[THREADS * (ITEMS + 1u)]; // a word more a thread: neighbours are in other banks
shared uint sums[THREADS];

#define PLACE(i) ((i) + (i) / ITEMS)

void main() {
    uint thread = gl_LocalInvocationID.x, digit = gl_WorkGroupID.x, column_items = param(0);
    if (state[base(0) + UNSORTED] == 0u) return;
    uint count = state[base(0) + COUNT], row = base(1) + digit * param(1), before = 0u;
    uint columns = count / column_items + uint(count % column_items != 0u);
    for (uint first = 0u; first < columns; first += THREADS * ITEMS) {
        for (uint i = thread; i < THREADS * ITEMS; i += THREADS)
            entries[PLACE(i)] = first + i < columns ? table[row + first + i] : 0u;
        barrier();
        uint own = 0u;
        for (uint i = 0u; i < ITEMS; ++i)
            own += entries[PLACE(thread * ITEMS + i)];
        uint sum = own;
        sums[thread] = sum;
        barrier();
        for (uint step = 1u; step < THREADS; step *= 2u) {
            uint below = thread >= step ? sums[thread - step] : 0u;
            barrier();
            sum += below;
            sums[thread] = sum;
            barrier();
        }
        uint place = before + sum - own;
        for (uint i = 0u; i < ITEMS; ++i) {
            uint entry = entries[PLACE(thread * ITEMS + i)];
            entries[PLACE(thread * ITEMS + i)] = place;
            place += entry;
        }
        before += sums[THREADS - 1u];
        barrier();
        for (uint i = thread; i < THREADS * ITEMS && first + i < columns; i += THREADS)
            table[row + first + i] = entries[PLACE(i)];
        barrier();
    }
    if (thread == 0u) totals[base(2) + digit] = before;
}
