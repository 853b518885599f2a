// `rows` for uniform scenes: what the sorts and the uniform sweep have to agree on. A place has 16 bytes: the rounded
// box, its slot and a word that tells where the box looks. The boxes themselves stay where the user has them and are
// read for the few pairs that rounding leaves in doubt.
#ifndef PAIRSIEVE_COLLISION_ROWS_UNIFORM_CUH
#define PAIRSIEVE_COLLISION_ROWS_UNIFORM_CUH

#include "sweep/rows_larger.cuh"

#define ROWS_UNIFORM_PAST 64 // entries behind the last that may be read
#define ROWS_UNIFORM_AGAIN 4 // boxes of the front that may lie behind the end once more: one of so many

// These lie in the memory of the records: a frame has the one or the other.
// Kernels that write them in sequence keep the rounded boxes apart from the rest: a candidate is only asked for its
// rounded box, so these lie closer together.
struct rows_uniform_arrays {
    uint4 *entries;        // per place: rounded box in two words, slot, rows_look
    uint2 *rounded, *look; // or these: the first two of them, the last two
    uint32_t *listed;      // places of unusual boxes
    uint32_t slot_mask;    // bits of a slot; above: turns in bins, of the cell in segments of many cells

    __device__ __forceinline__ void write_apart(uint32_t place, const uint4 &entry) const {
        rounded[place] = make_uint2(entry.x, entry.y);
        look[place] = make_uint2(entry.z, entry.w);
    }
};

// Do cells have numbers of more than ROWS_UNIFORM_BITS? Then what does not fit the word of the look is behind the slot.
static inline bool rows_has_wide_cells(const psvi_rows_memory *memory) { return memory->key_bits > ROWS_UNIFORM_BITS; }

static inline rows_uniform_arrays rows_uniform_arrays_of(const psvi_rows_memory *memory) {
    const uint64_t places = memory->room + memory->room / ROWS_UNIFORM_AGAIN + ROWS_UNIFORM_PAST;
    rows_uniform_arrays arrays;
    arrays.entries = reinterpret_cast<uint4 *>(memory->records);
    arrays.rounded = reinterpret_cast<uint2 *>(memory->records);
    arrays.look = arrays.rounded + places;
    arrays.listed = reinterpret_cast<uint32_t *>(arrays.entries + places);
    arrays.slot_mask = rows_has_wide_cells(memory) ? ROWS_UNIFORM_ROOM - 1
                                                   : (uint32_t)(((uint64_t)1 << psvi_rows_slot_bits(memory)) - 1);
    return arrays;
}

// Slots of places whose entries lie apart.
static inline rows_slots rows_uniform_slots_of(const rows_uniform_arrays &arrays) {
    return rows_slots{reinterpret_cast<const uint32_t *>(arrays.look), 2, arrays.slot_mask};
}

// Why the uniform sweep does not take the frame, whose route it is as far as the host knows; PSVI_ROWS_NO_VETO: it
// does. It needs one level, or larger boxes that look down, and few boxes in crowded cells or where cells wrap around.
// Known once the scan has run.
__device__ __forceinline__ uint32_t rows_uniform_veto(const psvi_rows_plan *plan, uint64_t boxes) {
    const uint32_t populated = plan->populated;
    const bool one_level = (populated & (populated - 1)) == 0 && populated < 1u << plan->levels;
    const bool levels = populated == 0 || !(one_level | ((populated & 1) != 0 & rows_looks_down(plan, boxes)));
    const bool crowded = (uint64_t)plan->crowded * ROWS_UNIFORM_CROWDED > boxes;
    const bool edges = (uint64_t)plan->unusual * ROWS_SEGMENTS_UNUSUAL > boxes;
    // All is loaded at once, so that no load waits for another one's answer.
    uint32_t veto = edges ? PSVI_ROWS_VETO_EDGES : PSVI_ROWS_NO_VETO;
    if (crowded) veto = PSVI_ROWS_VETO_CROWDED;
    if (levels) veto = PSVI_ROWS_VETO_SIZES;
    if (plan->filtered != 0) veto = PSVI_ROWS_VETO_FILTERS;
    if (plan->paused) veto = PSVI_ROWS_VETO_DOUBTS;
    return veto;
}

__device__ __forceinline__ bool rows_is_uniform(const psvi_rows_plan *plan, uint64_t boxes) {
    return rows_uniform_veto(plan, boxes) == PSVI_ROWS_NO_VETO;
}

// Where a box looks, in a word: the first cell of its own row's run, the cells of a run, and which other rows it looks
// at. No cells: it is listed as unusual.
#define ROWS_LOOK_CELL ((1u << ROWS_UNIFORM_BITS) - 1)
#define ROWS_LOOK_SPAN_SHIFT ROWS_UNIFORM_BITS
#define ROWS_LOOK_SPAN 31u
#define ROWS_LOOK_NEXT_Z (1u << 29) // with the next one: also the next row of z in the next row of y
#define ROWS_LOOK_NEXT_Y (1u << 30)
#define ROWS_LOOK_BACK_Y (1u << 31) // the row of z before in the next row of y

// Set in the rounded box's first word when rounding may not tell how far it is from others: coordinates are clamped, or
// so far from those of its cell that a difference could be a multiple of 512 too long.
#define ROWS_VAGUE (1u << 31)
// In its second word: PSV_BOX_STATIC.
#define ROWS_STATIC (1u << 30)

// The word, if the box looks as usual; else 0.
template <bool AROUND = false>
__device__ __forceinline__ uint32_t rows_look(const psvi_rows_level &level, float longest, const psvd_record &box,
                                              rows_near *near) {
    const bool usual = rows_near_of<AROUND>(level, longest, box, 0, near) && near->span <= ROWS_LOOK_SPAN;
    return usual ? (near->own_end - near->span & ROWS_LOOK_CELL) | near->span << ROWS_LOOK_SPAN_SHIFT |
                       (near->there[0] ? ROWS_LOOK_NEXT_Z : 0u) | (near->there[1] ? ROWS_LOOK_BACK_Y : 0u) |
                       (near->there[2] ? ROWS_LOOK_NEXT_Y : 0u)
                 : 0u;
}

__device__ __forceinline__ rows_rounding rows_uniform_rounding(const psvi_rows_level &level) {
    rows_rounding rounding;
    rounding.scale = __fdividef(ROWS_ROUNDED_LIMIT, level.limit); // about that, the same for all; 0 for huge boxes
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        rounding.shift[axis] = -__fmul_rn(level.origin[axis], rounding.scale);
    return rounding;
}

// Is a box's filter another one than the first box's, or does that not pair with itself? If none is, filters let all
// pairs through.
__device__ __forceinline__ bool rows_is_filtered(const psvi_find_input &input, uint64_t slot) {
    const psv_box_filter filter = input.a.filters[slot], first = input.a.filters[0];
    return filter.group != first.group || filter.mask != first.mask || !psvi_filters_pair(filter, filter);
}

// A box as rows_rounded makes it, with ROWS_VAGUE where that has to be set. A box that looks as usual is in the range
// of the cells. So on an axis with more than one cell, boxes of its row and the rows beside, after as many turns, are
// at most 308 rounded units away. On any other axis both boxes have to lie in 308 units.
__device__ __forceinline__ uint2 rows_rounded_clear(const psvi_rows_level &level, bool usual, const psvd_record &box) {
    const float low[3] = {box.first.x, box.first.z, box.second.x}, high[3] = {box.first.y, box.first.w, box.second.y};
    const rows_rounding rounding = rows_uniform_rounding(level);
    int32_t lower[3], upper[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const float from = __fmaf_rd(low[axis], rounding.scale, rounding.shift[axis]);
        const float to = __fmaf_ru(high[axis], rounding.scale, rounding.shift[axis]);
        usual = usual & (from >= 0.0f) & (to <= (level.cells[axis] == 1 ? 307.0f : ROWS_ROUNDED_MOST - 1000.0f));
        lower[axis] = -__float2int_rd(from);
        upper[axis] = __float2int_ru(to);
    }
    if (usual)
        return make_uint2(rows_pack(upper[0], upper[1], upper[2]) | ROWS_FIELD_TOPS,
                          rows_pack(lower[0], lower[1], lower[2]) | ROWS_FIELD_TOPS);
    const uint2 rounded = rows_rounded(rounding, box);
    return make_uint2(rounded.x | ROWS_VAGUE, rounded.y);
}

// The entry of a box of the level, and its cell. AROUND: a box whose cell's number went around an axis may look as
// usual, too. What lies in its cells may be any number of turns away, so what it meets there is in doubt. And what does
// not fit ROWS_LOOK_CELL of the first cell's number is above the slot's bits.
template <bool AROUND = false>
__device__ __forceinline__ uint4 rows_uniform_entry(const psvi_rows_level &level, float longest, const psvd_record &box,
                                                    uint32_t *cell) {
    rows_near near;
    uint32_t look = rows_look<AROUND>(level, longest, box, &near);
    *cell = near.own;
    if (AROUND && near.across) look = 0;
    uint2 rounded = rows_rounded_clear(level, look != 0 && !near.around, box);
    if (__float_as_uint(box.second.w) & PSVD_TAG_STATIC) rounded.y |= ROWS_STATIC;
    uint32_t slot = __float_as_uint(box.second.z);
    if (AROUND && look != 0) slot |= (near.own_end - near.span) >> ROWS_UNIFORM_BITS << ROWS_UNIFORM_SLOT_BITS;
    return make_uint4(rounded.x, rounded.y, slot, look);
}

#endif
