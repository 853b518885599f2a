// The first pass of the sort of `rows` by bins: from boxes to entries for the uniform sweep, each in its cell's bin.
#include "../../launch_cuda.h"
#include "../plan/rows_plan.cuh"
#include "../rows_launch.cuh"
#include "rows_bins.cuh"
#include "rows_bins_follow.cuh"
#include "rows_segments.cuh"
#include "rows_winding.cuh"

#define THREADS ROWS_WHOLE_THREADS
#define WARPS (THREADS / 32)
#define ITEMS ROWS_BIN_ITEMS
#define PIECES 3 // of 8 bytes, of a box

struct bin_shared {
    psvi_rows_plan plan, last; // the frame's; of the last frame's, what is_attempted and rows_follow ask for
    psvi_rows_bin_shape shape;
    uint64_t gate[ITEMS]; // one for every THREADS boxes
    uint32_t sums[WARPS];
    uint32_t boxes, unusual, larger, levels, longest; // larger: boxes of other levels than the first; a bit for each
    uint32_t filtered;                                // filters do not let all pairs through
    uint32_t too_far;                                 // some box is too far away for the plan's scale
    uint32_t more;                                    // rounds of bins that a new scene needs
    uint32_t veto;                    // why there are no bins for the frame; PSVI_ROWS_NO_VETO: there are
    bool again, is_last;              // again: after frames that were sorted otherwise
    bool plans;                       // the frame makes a plan
    uint32_t frame, planned;          // of the state
    uint64_t began;                   // in profiles, by the first block: when the boxes had their entries
    __align__(16) uint32_t offset[4]; // of each bin: boxes of the block, then how many of them come before; behind that
                                      // a table that turns a box's number in order into its place; then the boxes and
                                      // their order, or the memory of the plan
};

struct bin_job {
    psvi_rows_bins bins;
    psvi_rows_watch *watch;
    uint32_t key_bits, slot_bits;
    uint32_t again;       // places behind the last for those of the front once more
    uint32_t start_cells; // that there is room for, those once more with them
    psvi_lbvh_progress *progress;
};

// What a thread has seen of its boxes.
struct bin_tally {
    uint32_t boxes, longest;
};

__device__ __forceinline__ uint32_t *bases_of(bin_shared &shared, const bin_job &job) {
    return shared.offset + job.bins.most;
}

// In shared memory: 24 bytes a box; its entry takes their place, then its bin and its rank among the block's boxes
// there.
__device__ __forceinline__ float2 *pieces_of(bin_shared &shared, const bin_job &job) {
    return reinterpret_cast<float2 *>(shared.offset + (2 * job.bins.most + 3) / 4 * 4);
}

__device__ __forceinline__ uint16_t *order_of(bin_shared &shared, const bin_job &job) {
    return reinterpret_cast<uint16_t *>(pieces_of(shared, job) + PIECES * job.bins.tile);
}

__device__ __forceinline__ psvi_rows_plan last_of(const psvi_rows_plan &target) {
    psvi_rows_plan last;
    last.epoch = target.epoch;
    last.candidates = target.candidates;
    last.doubted = target.doubted;
    last.backoff = target.backoff;
    last.paused = target.paused;
    return last;
}

// Loads that go out whether they are needed or not, so that none waits for another.
__device__ __forceinline__ uint32_t load_at_once(const uint32_t *from) {
    uint32_t word;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

// Loads the frame's plan and the shape of its bins. Returns whether bins are used: the plan was made for about as many
// boxes, and there is no pause. All blocks get the same answer, as what they read changes only after all have read it.
// All threads of the block but the first warp, which loads boxes; the caller synchronizes.
__device__ __forceinline__ void begin_frame(bin_shared &shared, const bin_job &job, const psvi_rows_plan &target,
                                            uint64_t slots) {
    constexpr uint32_t PLAN = sizeof(psvi_rows_plan) / 4, SHAPE = sizeof(psvi_rows_bin_shape) / 4;
    constexpr uint32_t SHAPES_AT = (PLAN + 31) / 32 * 32, SPEAKER = SHAPES_AT + 32;
    static_assert(SHAPE * (ROWS_BIN_MORE + 1) <= 32 && SPEAKER + 32 < THREADS, "a word a thread");
    if (threadIdx.x < 32) return;
    const psvi_rows_bin_state &state = *job.bins.state;
    const uint32_t at = threadIdx.x - 32;
    if (at < PLAN) {
        const uint32_t planned = load_at_once(&state.planned);
        const uint32_t even = load_at_once(reinterpret_cast<const uint32_t *>(&state.plan[0]) + at);
        const uint32_t odd = load_at_once(reinterpret_cast<const uint32_t *>(&state.plan[1]) + at);
        reinterpret_cast<uint32_t *>(&shared.plan)[at] = planned & 1 ? odd : even;
    } else if (at >= SHAPES_AT && at - SHAPES_AT < SHAPE * (ROWS_BIN_MORE + 1)) {
        const uint32_t word = at - SHAPES_AT, planned = load_at_once(&state.planned), more = load_at_once(&state.more);
        const uint32_t even = load_at_once(reinterpret_cast<const uint32_t *>(&state.shapes[0]) + word);
        const uint32_t odd = load_at_once(reinterpret_cast<const uint32_t *>(&state.shapes[1]) + word);
        if (word / SHAPE == more) reinterpret_cast<uint32_t *>(&shared.shape)[word % SHAPE] = planned & 1 ? odd : even;
    } else if (at == SPEAKER) {
        const uint32_t frame = load_at_once(&state.frame), ready = load_at_once(&state.planned);
        const uint32_t wait = load_at_once(&state.backoff.left), pauses = load_at_once(&state.pauses);
        const uint32_t in_turn = load_at_once(&state.in_turn);
        const uint32_t even = load_at_once(&state.slots[0]), odd = load_at_once(&state.slots[1]);
        const psvi_rows_plan last = last_of(target);
        const uint64_t planned = ready & 1 ? odd : even;
        shared.last = last;
        shared.again = pauses != job.bins.pauses;
        const bool fits = (planned <= 4 * slots) & (slots <= planned + planned / 16);
        shared.veto = shared.again | (ready == 0)      ? PSVI_ROWS_VETO_FIRST
                      : wait != 0                      ? PSVI_ROWS_VETO_PAUSE
                      : rows_pauses_after(last, slots) ? PSVI_ROWS_VETO_DOUBTS
                      : fits                           ? PSVI_ROWS_NO_VETO
                                                       : PSVI_ROWS_VETO_GROWTH;
        shared.frame = frame;
        shared.planned = ready;
        shared.plans = shared.veto != PSVI_ROWS_NO_VETO || (frame % ROWS_BIN_PLANS == 0 && in_turn == 0);
        shared.boxes = shared.unusual = shared.larger = shared.levels = shared.longest = shared.filtered = 0;
        shared.too_far = 0;
    }
}

// Equal tiles for the blocks, of the boxes of set a.
struct bin_tiles {
    uint32_t turns, boxes;
};

__device__ __forceinline__ bin_tiles tiles_of(const bin_job &job, uint64_t all) {
    const uint64_t workers = gridDim.x - 1, most = workers * job.bins.tile;
    bin_tiles tiles;
    tiles.turns = (uint32_t)all <= most ? 1 : (uint32_t)all / (uint32_t)most + 1;
    const uint32_t parts = (uint32_t)workers * tiles.turns;
    tiles.boxes = (((uint32_t)all + parts - 1) / parts + 31) / 32 * 32; // at most job.bins.tile, a multiple of 32 too
    return tiles;
}

// The boxes of a tile that do not lie side by side.
__device__ __forceinline__ void load_scattered(const psvi_box_view &view, uint64_t first, uint32_t here, float2 *to) {
    for (uint32_t i = threadIdx.x; i < here; i += THREADS) {
        const psvd_box box = psvd_load_box(view, first + i);
        to[PIECES * i] = make_float2(box.min[0], box.min[1]);
        to[PIECES * i + 1] = make_float2(box.min[2], box.max[0]);
        to[PIECES * i + 2] = make_float2(box.max[1], box.max[2]);
    }
}

// Begins to load the boxes of a tile. One bulk copy fetches most of them: they are there when their gate opens. Threads
// load the rest: it is there behind the block's next barrier.
__device__ __forceinline__ void load_tile(bin_shared &shared, const bin_job &job, const psvi_find_input &input,
                                          uint64_t first, uint32_t here) {
    const psvi_box_view &view = input.a;
    const float2 *const from = reinterpret_cast<const float2 *>(view.min + first * 24);
    float2 *const to = pieces_of(shared, job);
    const bool packed =
        view.max == view.min + 12 && view.min_stride == 24 && (reinterpret_cast<uintptr_t>(view.min) & 7) == 0;
    const bool copied = HAS_BULK && packed && (reinterpret_cast<uintptr_t>(from) & 15) == 0;
    if (HAS_BULK && threadIdx.x == 0)
        for (uint32_t item = 0; item < ITEMS; ++item) {
            const uint32_t begin = item * THREADS, boxes = copied ? min(here - min(here, begin), (uint32_t)THREADS) : 0;
            copy_bulk(&shared.gate[item], to + PIECES * begin, from + PIECES * begin, boxes * 24 / 16 * 16);
        }
    if (!packed) {
        load_scattered(view, first, here, to);
        return;
    }
    for (uint32_t i = (copied ? PIECES * here & ~1u : 0) + threadIdx.x; i < PIECES * here; i += THREADS)
        to[i] = __ldg(from + i);
}

// What a thread needs to know of the first level to make entries of its boxes.
struct bin_level {
    int x, y, z; // axes
    float up;
    float reach[3], origin[3], inverse[3];
    int32_t last_cell[3], cells_z;
    uint32_t base;
    float scale, shift[3]; // to rounded coordinates
    int32_t longest_run;   // cells of a run of a plain entry, less one, at most; below 0: there is none
};

__device__ __forceinline__ bin_level level_of(const psvi_rows_plan &plan) {
    const psvi_rows_level &level = plan.level[0];
    bin_level own;
    own.x = plan.axis[0], own.y = plan.axis[1], own.z = plan.axis[2];
    own.base = level.base;
    own.up = plan.up;
    own.cells_z = level.cells[2];
    own.scale = __fdividef(ROWS_ROUNDED_LIMIT, level.limit); // as rows_rounded_clear has it
    asm volatile("" : "+f"(own.scale));                      // not to be made again for every box
    // Rows enough to look forward on y and z, and all within the rounded coordinates.
    bool plain = level.cells[1] >= 6 && level.cells[2] >= 6 && level.cells[0] >= 8;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        own.reach[axis] = level.reach[axis];
        own.origin[axis] = level.origin[axis];
        own.inverse[axis] = level.inverse[axis];
        own.last_cell[axis] = level.cells[axis] - 1;
        own.shift[axis] = -__fmul_rn(level.origin[axis], own.scale);
        asm volatile("" : "+f"(own.shift[axis]));
        const float length = __fdividef((float)level.cells[axis], level.inverse[axis]);
        plain &= length * own.scale <= ROWS_ROUNDED_MOST - 2000.0f;
    }
    own.longest_run = plain ? min(level.cells[0] - 2, (int32_t)ROWS_LOOK_SPAN - 1) : -1;
    return own;
}

__device__ __forceinline__ int32_t cell_on(const bin_level &level, int axis, float value) {
    return __float2int_rd((value - level.origin[axis]) * level.inverse[axis]);
}

// A box by the level's axes.
struct bin_box {
    float low_x, low_y, low_z, high_x, high_y, high_z;
};

// A box's entry as it lies in a bin, and its cell. Serves nearly all boxes: those of the first level whose usual look
// stays away from the first and the last row. False: this box is not one of them.
__device__ __forceinline__ bool make_plain_entry(const bin_level &level, const bin_box &box, uint32_t slot,
                                                 uint4 *entry, uint32_t *cell, uint32_t *length) {
    // As integers: less than 0 and not a number are greater than any limit.
    *length = __float_as_uint(__fsub_ru(box.high_x, box.low_x));
    const uint32_t length_y = __float_as_uint(__fsub_ru(box.high_y, box.low_y));
    const uint32_t length_z = __float_as_uint(__fsub_ru(box.high_z, box.low_z));
    const bool fits = *length <= __float_as_uint(level.reach[0]) && length_y <= __float_as_uint(level.reach[1]) &&
                      length_z <= __float_as_uint(level.reach[2]);
    const int32_t from_x = cell_on(level, 0, __fsub_rd(box.low_x, level.reach[0])), x = cell_on(level, 0, box.low_x);
    const int32_t to_x = cell_on(level, 0, box.high_x);
    const int32_t y = cell_on(level, 1, box.low_y), to_y = cell_on(level, 1, box.high_y);
    const int32_t from_z = cell_on(level, 2, __fsub_rd(box.low_z, level.reach[2])), z = cell_on(level, 2, box.low_z);
    const int32_t to_z = cell_on(level, 2, box.high_z);
    // Three rows are met on an axis at most, so there are rows enough to look forward.
    const uint32_t more_y = (uint32_t)(to_y - y), more_z = (uint32_t)(to_z - z), less_z = (uint32_t)(z - from_z);
    const int32_t outside = from_x | from_z | (y - 1) | (level.last_cell[0] - to_x) | (level.last_cell[1] - to_y) |
                            (level.last_cell[2] - to_z) | (level.longest_run - (to_x - from_x));
    const uint32_t row = level.base + (uint32_t)((y * level.cells_z + z) * (level.last_cell[0] + 1));
    *cell = row + (uint32_t)x;
    entry->z = slot | (uint32_t)(x - from_x) << ROWS_BIN_OWN_SHIFT;
    entry->w = (row + (uint32_t)from_x) | (uint32_t)(to_x - from_x + 1) << ROWS_LOOK_SPAN_SHIFT |
               more_z * ROWS_LOOK_NEXT_Z | more_y * ROWS_LOOK_NEXT_Y | (more_y & less_z) * ROWS_LOOK_BACK_Y;
    const auto down = [&](float value, int axis) {
        return -__float2int_rd(__fmaf_rd(value, level.scale, level.shift[axis]));
    };
    const auto up = [&](float value, int axis) {
        return __float2int_ru(__fmaf_ru(value, level.scale, level.shift[axis]));
    };
    entry->x = rows_pack(up(box.high_x, 0), up(box.high_y, 1), up(box.high_z, 2)) | ROWS_FIELD_TOPS;
    entry->y = rows_pack(down(box.low_x, 0), down(box.low_y, 1), down(box.low_z, 2)) | ROWS_FIELD_TOPS;
    return fits && outside >= 0 && (more_y | more_z | less_z) <= 1;
}

__device__ __forceinline__ void hold_entry(float *own, const uint4 &entry) {
    own[0] = __uint_as_float(entry.x), own[1] = __uint_as_float(entry.y);
    own[2] = __uint_as_float(entry.z), own[3] = __uint_as_float(entry.w);
}

// The same for any box, which lies at `own` and whose entry goes there. Returns its cell; NO_PLACE if it takes no part.
// Of a larger box, which looks down, the entry holds the slot and the cell alone.
__device__ __noinline__ uint32_t make_any_entry(bin_shared &shared, const psvi_find_input &input, uint64_t slot,
                                                float *own) {
    const psvd_box box = {{own[0], own[1], own[2]}, {own[3], own[4], own[5]}};
    const psvi_rows_plan &plan = shared.plan;
    const psvi_rows_level &level = plan.level[0];
    if (psvi_box_is_bad(box.min, box.max)) {
        psvd_report_bad(input, psvd_read_counts(input), slot);
        return NO_PLACE;
    }
    const bool is_static = input.a.flags != NULL && (__ldg(input.a.flags + slot) & PSV_BOX_STATIC);
    const psvd_record record = rows_record(plan, box, (uint32_t)slot, is_static ? PSVD_TAG_STATIC : 0u);
    if (rows_is_too_far(plan, record)) shared.too_far = 1;
    const uint32_t at = rows_record_level(plan, record);
    if (at != 0) {
        const uint32_t larger = rows_key(plan.level[at], record);
        atomicAdd(&shared.larger, 1u);
        if (!(shared.levels >> at & 1)) atomicOr(&shared.levels, 1u << at);
        if (at == plan.levels) atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->huge_count), 1ull);
        hold_entry(own, make_uint4(0, 0, (uint32_t)slot, larger));
        return larger;
    }
    uint32_t cell;
    uint4 entry = rows_uniform_entry(level, level.reach[0], record, &cell);
    const uint32_t behind = cell - (entry.w & ROWS_LOOK_CELL);
    if (entry.w != 0 && behind <= ROWS_BIN_OWN_MOST) {
        entry.z |= behind << ROWS_BIN_OWN_SHIFT;
    } else {
        entry.w = cell = rows_key(level, record);
        atomicAdd(&shared.unusual, 1u);
    }
    hold_entry(own, entry);
    return cell;
}

// What a thread has seen, to the block's. All lanes together.
__device__ __forceinline__ void tell_tally(bin_shared &shared, const bin_tally &tally) {
    const uint32_t boxes = psvd_reduce_add(tally.boxes), longest = psvd_reduce_max(tally.longest);
    if ((threadIdx.x & 31) != 0) return;
    atomicAdd(&shared.boxes, boxes);
    atomicMax(&shared.longest, longest);
}

// What flags and filters say of the box in `slot`: whether it takes no part; static goes into its entry.
__device__ __forceinline__ bool tag_entry(const psvi_find_input &input, uint64_t slot, bin_shared &shared,
                                          uint4 *entry) {
    const uint32_t flags = input.a.flags == NULL ? 0u : __ldg(input.a.flags + slot);
    if (flags & PSV_BOX_STATIC) entry->y |= ROWS_STATIC;
    if (flags & PSV_BOX_DISABLED) return true;
    if (input.a.filters != NULL && rows_is_filtered(input, slot)) shared.filtered = 1;
    return false;
}

// Entries of a tile in place of its boxes, each with its bin and rank. Plain ones first: a call for the others among
// them would cost the registers that they need. TAGGED: boxes may have flags and filters.
template <bool TAGGED>
__device__ __forceinline__ void make_entries(bin_shared &shared, const bin_job &job, const psvi_find_input &input,
                                             uint64_t first, uint32_t here, uint32_t turn, bin_tally *tally) {
    const uint32_t magic = shared.shape.magic, shift = shared.shape.shift;
    float *const owns = reinterpret_cast<float *>(pieces_of(shared, job) + PIECES * threadIdx.x);
    uint32_t others = 0; // a bit for each of the thread's boxes
    const bin_level level = level_of(shared.plan);
    float *own = owns;
    uint64_t *gate = shared.gate;
    uint32_t bit = 1;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i - threadIdx.x < here;
         i += THREADS, own += 2 * PIECES * THREADS, ++gate, bit *= 2) {
        uint32_t bin = NO_PLACE;
        bool plain = false;
        wait_at_gate(gate, turn);
        if (i < here) {
            const bin_box box = {level.up * own[level.x],     level.up * own[level.y],     level.up * own[level.z],
                                 level.up * own[level.x + 3], level.up * own[level.y + 3], level.up * own[level.z + 3]};
            uint4 entry;
            uint32_t cell, length;
            plain = make_plain_entry(level, box, (uint32_t)first + i, &entry, &cell, &length);
            bool off = TAGGED && tag_entry(input, first + i, shared, &entry);
            if (off) {
                plain = false;
                own[4] = __uint_as_float(NO_PLACE);
            } else if (plain) {
                hold_entry(own, entry);
                bin = rows_bin_of(magic, shift, cell);
                tally->longest = max(tally->longest, length); // not negative
                ++tally->boxes;
            } else {
                others |= bit;
            }
        }
        const uint32_t rank = rows_take_rank(shared.offset, bin, plain);
        if (plain) own[4] = __uint_as_float(bin), own[5] = __uint_as_float(rank);
    }
    own = owns;
#pragma unroll 1
    for (uint32_t item = 0; __any_sync(PSVD_FULL, others != 0); ++item, others /= 2, own += 2 * PIECES * THREADS) {
        uint32_t bin = NO_PLACE;
        const bool other = others & 1;
        if (other) {
            const uint32_t length = __float_as_uint(__fsub_ru(level.up * own[level.x + 3], level.up * own[level.x]));
            const uint32_t cell = make_any_entry(shared, input, first + item * THREADS + threadIdx.x, own);
            if (cell != NO_PLACE) {
                bin = rows_bin_of(magic, shift, cell);
                if (cell < shared.plan.level[0].set_cells) tally->longest = max(tally->longest, length);
                ++tally->boxes;
            }
        }
        const uint32_t rank = rows_take_rank(shared.offset, bin, bin != NO_PLACE);
        if (other) own[4] = __uint_as_float(bin), own[5] = __uint_as_float(rank);
    }
}

// The same where cells wind. A box whose entry does not allow that leaves the whole frame to the other order.
template <bool TAGGED>
static __device__ __noinline__ void wind_entries(bin_shared &shared, const bin_job &job, const psvi_find_input &input,
                                                 uint64_t first, uint32_t here, uint32_t turn) {
    const rows_winding wind = rows_winding_of(shared.plan, shared.shape.turns, job.slot_bits);
    bin_tally tally = {0, 0};
    uint64_t *gate = shared.gate;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i - threadIdx.x < here; i += THREADS, ++gate) {
        float *const own = reinterpret_cast<float *>(pieces_of(shared, job) + PIECES * i);
        uint32_t bin = NO_PLACE;
        wait_at_gate(gate, turn);
        if (i < here) {
            uint4 entry;
            uint32_t cell, length;
            const bool fits = rows_winding_entry(wind, own, (uint32_t)first + i, &entry, &cell, &length);
            bool off = TAGGED && tag_entry(input, first + i, shared, &entry);
            if (!off && !fits) {
                cell = make_any_entry(shared, input, first + i, own);
                off = cell == NO_PLACE;
                if (!off) atomicAdd(&shared.unusual, 1u);
                entry = make_uint4(0, 0, 0, cell);
            }
            if (!off) {
                hold_entry(own, entry);
                bin = rows_bin_of(shared.shape.magic, shared.shape.shift, cell);
                if (fits) tally.longest = max(tally.longest, length);
                ++tally.boxes;
            }
        }
        const uint32_t rank = rows_take_rank(shared.offset, bin, bin != NO_PLACE);
        if (i < here) own[4] = __uint_as_float(bin), own[5] = __uint_as_float(rank);
    }
    tell_tally(shared, tally);
}

// Takes the block's places in the bins, and turns its counts into offsets. Returns how many boxes there are.
__device__ __forceinline__ uint32_t take_places(bin_shared &shared, const bin_job &job) {
    uint32_t carry = 0;
    for (uint32_t from = 0; from < shared.shape.bins; from += THREADS) {
        const uint32_t bin = from + threadIdx.x;
        const uint32_t boxes = bin < shared.shape.bins ? shared.offset[bin] : 0;
        const uint32_t place = boxes != 0 ? atomicAdd(&job.bins.counts[bin], boxes) : 0;
        uint32_t total;
        const uint32_t before = carry + rows_sum_before<WARPS>(boxes, shared.sums, &total);
        carry += total;
        if (bin < shared.shape.bins) {
            shared.offset[bin] = before;
            bases_of(shared, job)[bin] = bin * shared.shape.room + place - before;
        }
    }
    return carry;
}

// A tile's entries to their bins, by bins, so that what goes to one lies together. `here`: boxes of the tile. WINDS:
// cells do.
template <bool WINDS>
__device__ __forceinline__ void write_entries(bin_shared &shared, const bin_job &job, uint32_t here, uint32_t count) {
    float2 *const pieces = pieces_of(shared, job);
    uint16_t *const order = order_of(shared, job);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < here; i += THREADS) {
        const float2 at = pieces[PIECES * i + 2];
        const uint32_t bin = __float_as_uint(at.x);
        if (bin != NO_PLACE) order[shared.offset[bin] + __float_as_uint(at.y)] = (uint16_t)i;
    }
    __syncthreads();
    const uint32_t magic = shared.shape.magic, shift = shared.shape.shift, room = shared.shape.room;
    const uint32_t *const bases = bases_of(shared, job);
    uint4 *const entries = static_cast<uint4 *>(job.bins.entries);
#pragma unroll 4
    for (uint32_t n = threadIdx.x; n < count; n += THREADS) {
        const float2 *const at = pieces + PIECES * order[n];
        const float2 one = at[0], two = at[1];
        const uint4 entry =
            make_uint4(__float_as_uint(one.x), __float_as_uint(one.y), __float_as_uint(two.x), __float_as_uint(two.y));
        const uint32_t bin = rows_bin_of(magic, shift, rows_bin_cell(entry.z, entry.w, WINDS)), place = bases[bin] + n;
        if (place < (bin + 1) * room) entries[place] = entry;
    }
}

// In profiles the sort is what the first block does behind the entries, and what the last one does at the end. The rest
// of the launch makes entries, the keys of this sort.
__device__ __forceinline__ bool is_timed(const psvi_find_input &input) {
    return input.times != NULL && blockIdx.x == 0 && threadIdx.x == 0;
}

__device__ __forceinline__ void tell_bins(const bin_shared &shared, psvi_rows_bin_state &state,
                                          const psvi_find_input &input, bool done) {
    rows_tell_times(input.times, 0, done ? __ldcg(&state.sorted_ns) + (rows_now() - shared.began) : 0, 0);
    state.sorted_ns = 0;
}

// Puts all boxes of the block into bins, a tile after the other; the first one is on its way.
template <bool TAGGED>
__device__ __forceinline__ void bin_boxes(bin_shared &shared, const bin_job &job, const psvi_find_input &input,
                                          uint64_t all, const bin_tiles &tiles) {
    const bool winds = shared.shape.turns[0] != 0;
    bin_tally tally = {0, 0};
    for (uint32_t turn = 0; turn < tiles.turns; ++turn) {
        const uint64_t first = ((uint64_t)turn * (gridDim.x - 1) + blockIdx.x) * tiles.boxes;
        const uint32_t here = first < all ? (uint32_t)min((uint64_t)tiles.boxes, all - first) : 0;
        if (turn != 0) load_tile(shared, job, input, first, here);
        for (uint32_t bin = threadIdx.x; bin < shared.shape.bins; bin += THREADS)
            shared.offset[bin] = 0;
        __syncthreads();
        if (winds)
            wind_entries<TAGGED>(shared, job, input, first, here, turn);
        else
            make_entries<TAGGED>(shared, job, input, first, here, turn, &tally);
        __syncthreads();
        if (is_timed(input)) shared.began = rows_now();
        const uint32_t count = take_places(shared, job);
        __syncthreads();
        if (winds)
            write_entries<true>(shared, job, here, count);
        else
            write_entries<false>(shared, job, here, count);
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the next tile is copied to where this one was
#endif
        __syncthreads();
        if (is_timed(input)) job.bins.state->sorted_ns += rows_now() - shared.began;
    }
    psvi_rows_bin_state &state = *job.bins.state;
    tell_tally(shared, tally);
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicAdd(&state.boxes, shared.boxes);
    if (shared.longest > *(volatile uint32_t *)&state.longest) atomicMax(&state.longest, shared.longest);
    if (shared.unusual != 0) atomicAdd(&state.unusual, shared.unusual);
    if (shared.filtered != 0) *(volatile uint32_t *)&state.filtered = 1;
    if (shared.too_far != 0) *(volatile uint32_t *)&state.too_far = 1;
    if (shared.larger != 0) {
        atomicAdd(&state.larger, shared.larger);
        atomicOr(&state.levels, shared.levels);
    }
}

// The plan of the frames to follow, and of this one where it has no bins. All threads of the block.
static __device__ __noinline__ void plan_ahead(bin_shared &shared, const bin_job &job, const psvi_find_input &input) {
    auto *const planning = reinterpret_cast<rows_plan_shared<THREADS> *>(pieces_of(shared, job));
    psvi_rows_bin_state &state = *job.bins.state;
    rows_make_plan(input, psvd_read_counts(input), (1u << job.key_bits) - 2, ROWS_CELLS_A_BOX, ROWS_LEVEL_RATIO, true,
                   true, job.watch, planning);
    const uint32_t next = (shared.planned + 1) & 1;
    uint32_t *const to = reinterpret_cast<uint32_t *>(&state.plan[next]);
    for (uint32_t i = threadIdx.x; i < sizeof planning->plan / 4; i += THREADS)
        to[i] = reinterpret_cast<const uint32_t *>(&planning->plan)[i];
    // The block is the last one of the launch: its threads do what is left side by side.
    if (threadIdx.x <= ROWS_BIN_MORE)
        rows_choose_bins(job.bins, planning->plan.cells, planning->plan.slots, threadIdx.x,
                         &state.shapes[next][threadIdx.x]);
    if (threadIdx.x - 32 <= ROWS_BIN_MORE)
        rows_choose_turns(*planning, job.start_cells, job.slot_bits, &state.shapes[next][threadIdx.x - 32]);
    if (threadIdx.x == 64) state.slots[next] = (uint32_t)planning->plan.slots;
    if (threadIdx.x == 96) {
        state.replaced = state.scenes[next];
        state.scenes[next] = planning->scene;
    }
}

// Starts of the bins from their counts, which are cleared for the next frame. Returns whether all had room. All threads
// of the block.
__device__ __forceinline__ bool start_bins(bin_shared &shared, const bin_job &job) {
    const uint32_t bins = shared.shape.bins;
    uint32_t start = 0;
    bool full = false;
    uint32_t boxes = threadIdx.x < bins ? __ldcg(&job.bins.counts[threadIdx.x]) : 0, total;
    for (uint32_t bin = threadIdx.x; bin - threadIdx.x < bins; bin += THREADS) {
        const uint32_t next = bin + THREADS < bins ? __ldcg(&job.bins.counts[bin + THREADS]) : 0; // on its way
        const uint32_t before = rows_sum_before<WARPS>(boxes, shared.sums, &total);
        full |= boxes > shared.shape.room;
        if (bin < bins) {
            job.bins.counts[bin] = 0;
            job.bins.starts[bin] = start + before;
        }
        start += total;
        boxes = next;
    }
    if (threadIdx.x == 0) job.bins.starts[bins] = start;
    return !__syncthreads_or(full);
}

// Rounds of bins that the frame needs, by what the bins of fewer rounds would have: boxes lie evenly within one of its
// own. All threads of the block.
static __device__ __noinline__ uint32_t fewest_more(const bin_shared &shared, const bin_job &job) {
    const psvi_rows_bin_state &state = *job.bins.state;
    const uint32_t more = __ldcg(&state.more), bins = shared.shape.bins, each = shared.shape.each;
    const auto boxes_before = [&](uint32_t cell) {
        const uint32_t bin = min(cell / each, bins - 1), first = job.bins.starts[bin];
        const float part = fminf((float)(cell - bin * each) / (float)each, 1.0f);
        return (float)first + part * (float)(job.bins.starts[bin + 1] - first);
    };
    uint32_t fewest = 0;
    for (; fewest < more; ++fewest) {
        const psvi_rows_bin_shape &shape = state.shapes[shared.planned & 1][fewest];
        bool full = false;
        for (uint32_t bin = threadIdx.x; bin < shape.bins; bin += THREADS)
            full |= boxes_before((bin + 1) * shape.each) - boxes_before(bin * shape.each) > 0.97f * (float)shape.room;
        if (!__syncthreads_or(full)) break;
    }
    return fewest;
}

// Decides what follows a frame that bins did not suit or were too small for: more bins in the next frame, or some
// frames without bins. Nothing follows where the scene is another one than the last plan's, as the bins were made for
// that. A new scene has most bins at first, and then as many as it needs. The host is told, and then leaves bins out
// for longer; so it is after a frame whose sweep had too many doubts (`doubted`), as the other order is faster where
// neither has a sweep over rounded boxes.
__device__ __forceinline__ void follow_bins(const bin_shared &shared, psvi_rows_bin_state &state, const bin_job &job,
                                            const psvi_rows_scene &scene, psvi_rows_watch *watch, bool again,
                                            bool attempt, bool full, bool can_be_more, bool doubted, bool done) {
    const bool other = rows_scenes_differ(scene, watch->last) || state.in_turn != 0; // than the plan's
    if (attempt && !done && other && state.excused < ROWS_BIN_EXCUSED) {
        ++state.excused;
        rows_begin_more(&state, (shared.planned + 1) & 1);
    } else if (full && can_be_more && state.more < ROWS_BIN_MORE) {
        ++state.more;
        state.is_new = 0;
    } else if (attempt && !done) {
        psvi_backoff_failed(&state.backoff, ROWS_PAUSE_LEAST, ROWS_PAUSE_MOST);
        rows_begin_more(&state, (shared.planned + 1) & 1);
        watch->bins = scene;
        *(volatile uint32_t *)job.bins.told = ++state.failures;
    } else if (attempt) {
        psvi_backoff_succeeded(&state.backoff);
        state.excused = 0;
        if (state.is_new && !state.in_turn) {
            state.more = shared.more;
            state.is_new = 0;
        }
    } else if (again) {
        state.backoff.left = 0; // the host has waited
    } else if (rows_is_other(watch->bins, scene, watch->last)) {
        state.backoff.left = 0;
    } else {
        (void)psvi_backoff_waits(&state.backoff);
    }
    if (doubted) *(volatile uint32_t *)job.bins.told = ++state.failures;
    state.pauses = job.bins.pauses;
    state.done = done;
    state.tasks = state.counted = state.scanned = state.scattered = 0;
    state.boxes = state.unusual = state.larger = state.levels = state.longest = state.filtered = 0;
    state.too_far = 0;
    state.arrived = 0;
}

// Whether the frame's boxes are in bins, and why not. All threads of the block.
__device__ __forceinline__ uint32_t judge_bins(bin_shared &shared, const bin_job &job, uint32_t boxes, uint32_t unusual,
                                               uint32_t larger, uint32_t filtered) {
    if (shared.veto != PSVI_ROWS_NO_VETO) return shared.veto;
    const bool had_room = start_bins(shared, job);
    const bool winds = shared.shape.turns[0] != 0;
    const bool few = larger == 0 || (!winds && rows_may_look_down(shared.plan.down, larger, boxes));
    if (boxes == 0 || !few) return PSVI_ROWS_VETO_SIZES;
    if (filtered != 0) return PSVI_ROWS_VETO_FILTERS;
    if ((uint64_t)unusual * ROWS_UNIFORM_UNUSUAL > boxes || (winds && unusual != 0)) return PSVI_ROWS_VETO_EDGES;
    if (winds) {
        const uint32_t end = rows_wind_end(shared.plan.level[0]) / shared.shape.each + 1;
        if (job.bins.starts[min(end, shared.shape.bins)] > job.again) return PSVI_ROWS_VETO_EDGES;
    }
    return had_room ? PSVI_ROWS_NO_VETO : PSVI_ROWS_VETO_CROWDED;
}

// The last block writes the frame's plan, and says whether the frame is in bins.
__device__ __forceinline__ void finish_frame(bin_shared &shared, const bin_job &job, const psvi_find_input &input,
                                             psvi_rows_plan *target) {
    psvi_rows_bin_state &state = *job.bins.state;
    const bool attempt = shared.veto == PSVI_ROWS_NO_VETO;
    const uint32_t boxes = __ldcg(&state.boxes), unusual = __ldcg(&state.unusual); // they have changed meanwhile
    const uint32_t longest = __ldcg(&state.longest), levels = __ldcg(&state.levels);
    const uint32_t larger = __ldcg(&state.larger), filtered = __ldcg(&state.filtered);
    const uint32_t too_far = __ldcg(&state.too_far);
    rows_clear_progress(job.progress);
    psvi_rows_watch watch = *job.watch;
    const uint32_t veto = judge_bins(shared, job, boxes, unusual, larger, filtered);
    bool done = veto == PSVI_ROWS_NO_VETO;
    if (done && __ldcg(&state.is_new) != 0) {
        const uint32_t more = fewest_more(shared, job);
        if (threadIdx.x == 0) shared.more = more;
    }
    if (!done) {
        if (!shared.plans) plan_ahead(shared, job, input);
        __syncthreads();
        const uint32_t *const from = reinterpret_cast<const uint32_t *>(&state.plan[(shared.planned + 1) & 1]);
        for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += THREADS)
            reinterpret_cast<uint32_t *>(&shared.plan)[i] = __ldcg(from + i);
        __syncthreads();
    }
    if (done && threadIdx.x - 1 < shared.plan.levels) // at most
        shared.plan.longest[threadIdx.x] = __float_as_uint(shared.plan.level[threadIdx.x].reach[0]);
    if (threadIdx.x == 0) {
        psvi_rows_plan &plan = shared.plan;
        const uint32_t made = shared.planned + (shared.plans || !done); // the scene is as its plan has it
        const psvi_rows_scene scene = rows_load_scene(state.scenes[made & 1]);
        plan.bound.spent = plan.bound.begun = plan.bound.done = 0;
        plan.bound.over = rows_begins_over(target->bound.over, scene, &watch) || (done ? too_far : plan.bound.over);
        const bool suited = done;
        done = done && !plan.bound.over;
        plan.slots = psvd_read_counts(input).all();
        plan.populated = plan.filtered = plan.unusual = plan.crowded = plan.ticket = plan.listed = 0;
        psvi_rows_ratio ratio = {};
        if (!done) ratio = target->ratio;
        ratio.at = 0; // which the plan has
        ratio.tested = 0;
        rows_follow(shared.last, ratio, scene, &watch, &plan);
        if (done) {
            plan.populated = levels | 1;
            plan.larger = larger;
            plan.longest[0] = longest;
            plan.unusual = unusual;
            input.result->boxes = boxes;
            state.shape = shared.shape;
        } else {
            input.result->bad_count = input.result->huge_count = 0; // they are seen again
        }
        input.result->key_bits = job.key_bits;
        input.result->route = done ? PSVI_ROWS_BINS : PSVI_ROWS_COUNTED_EXACT;
        input.result->veto = veto;
        follow_bins(shared, state, job, scene, &watch, shared.again, attempt && done == suited,
                    veto == PSVI_ROWS_VETO_CROWDED, shared.shape.bins < job.bins.most,
                    veto == PSVI_ROWS_VETO_DOUBTS && !shared.last.paused, done);
        rows_take_turns(&state, shared.planned, shared.plans || !suited, scene, watch.last, attempt, suited);
        state.frame = shared.frame + 1;
        if (input.times != NULL) tell_bins(shared, state, input, done);
        watch.last = scene;
        *job.watch = watch;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < sizeof shared.plan / 4; i += THREADS)
        reinterpret_cast<uint32_t *>(target)[i] = reinterpret_cast<const uint32_t *>(&shared.plan)[i];
}

// The first plan of a finder, or the first one after a pause of the host, in front of its frame. One block.
__global__ void __launch_bounds__(THREADS, 1)
    psvk_rows_bins_plan(const __grid_constant__ psvi_find_input input, const __grid_constant__ bin_job job) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    bin_shared &shared = *reinterpret_cast<bin_shared *>(dynamic);
    psvi_rows_bin_state &state = *job.bins.state;
    if (psvd_read_counts(input).all() == 0) return;
    if (threadIdx.x == 0) shared.planned = state.planned;
    __syncthreads();
    plan_ahead(shared, job, input);
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (shared.planned == 0) rows_begin_more(&state, 1);
    state.planned = shared.planned + 1;
    state.in_turn = 0;
    state.pauses = job.bins.pauses;
    state.backoff.left = 0; // the host has waited
}

// Entries of the boxes, in bins: blocks hold a tile of boxes each in shared memory, all boxes of a million at once. In
// some frames one block makes the plan of the next ones. Reads 24 bytes a box, writes 16 in runs of about tile over
// bins.
template <bool TAGGED>
__global__ void __launch_bounds__(THREADS, 1)
    psvk_rows_bins_split(const __grid_constant__ psvi_find_input input, psvi_rows_plan *target,
                         const __grid_constant__ bin_job job) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    bin_shared &shared = *reinterpret_cast<bin_shared *>(dynamic);
    psvi_rows_bin_state &state = *job.bins.state;
    const bool plans = blockIdx.x == gridDim.x - 1;
    rows_let_next_begin();
    const uint64_t all = psvd_read_counts(input).all();
    const bin_tiles tiles = tiles_of(job, all);
    const uint64_t first = (uint64_t)blockIdx.x * tiles.boxes;
    const uint32_t here = plans || first >= all ? 0 : (uint32_t)min((uint64_t)tiles.boxes, all - first);
    if (threadIdx.x == 0) open_gates(shared.gate);
    load_tile(shared, job, input, first, here); // before it is known whether there are bins, which takes as long
    begin_frame(shared, job, *target, all);
    __syncthreads();
    if (plans) {
        if (shared.plans) plan_ahead(shared, job, input);
    } else if (shared.veto == PSVI_ROWS_NO_VETO) {
        bin_boxes<TAGGED>(shared, job, input, all, tiles);
    } else {
        for (int i = 0; i < ITEMS; ++i) // nothing may be on its way to a block that ends
            wait_at_gate(&shared.gate[i], 0);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) shared.is_last = atomicAdd(&state.arrived, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!shared.is_last) return;
    __threadfence();
    if (input.times != NULL && threadIdx.x == 0) shared.began = rows_now();
    finish_frame(shared, job, input, target);
}

static_assert(offsetof(bin_shared, offset) + 16 <= ROWS_BIN_FIXED_BYTES, "as psvi_rows_bin_tile has it");
static_assert(PIECES * sizeof(float2) + sizeof(uint16_t) == ROWS_BIN_BOX_BYTES, "as psvi_rows_bin_tile has it");

static size_t bin_bytes(const psvi_rows_bins &bins) {
    return offsetof(bin_shared, offset) + sizeof(uint32_t) * ((2 * bins.most + 3) / 4 * 4) +
           (size_t)bins.tile * ROWS_BIN_BOX_BYTES;
}

extern "C" cudaError_t psvi_prepare_rows_bins_split(const psvi_rows_memory *memory) {
    cudaError_t error = rows_allow_shared(psvk_rows_bins_plan, bin_bytes(memory->bins));
    if (error == cudaSuccess) error = rows_allow_shared(psvk_rows_bins_split<false>, bin_bytes(memory->bins));
    return error != cudaSuccess ? error : rows_allow_shared(psvk_rows_bins_split<true>, bin_bytes(memory->bins));
}

static bin_job job_of(const psvi_rows_memory *memory) {
    return bin_job{memory->bins,
                   memory->watch,
                   memory->key_bits,
                   psvi_rows_slot_bits(memory),
                   (uint32_t)(memory->room / ROWS_UNIFORM_AGAIN),
                   (uint32_t)psvi_rows_start_cells(memory),
                   memory->tree.progress};
}

extern "C" cudaError_t psvi_launch_rows_bins_plan(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                  cudaStream_t stream) {
    psvk_rows_bins_plan<<<1, THREADS, bin_bytes(memory->bins), stream>>>(*input, job_of(memory));
    return cudaGetLastError();
}

extern "C" cudaError_t psvi_launch_rows_bins_split(const psvi_find_input *input, const psvi_rows_memory *memory,
                                                   cudaStream_t stream) {
    const bin_job job = job_of(memory);
    const bool tagged = input->a.flags != NULL || input->a.filters != NULL;
    const auto kernel = tagged ? psvk_rows_bins_split<true> : psvk_rows_bins_split<false>;
    kernel<<<memory->multiprocessors, THREADS, bin_bytes(memory->bins), stream>>>(*input, memory->plan, job);
    return cudaGetLastError();
}
