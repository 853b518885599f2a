// Body of the row sweep, included once per instruction set with these defined:
//   SWEEP_TARGET      function attributes          SWEEP_NAME(f)  the function's name in this set
//   SWEEP_LANES       boxes tested at a time
//   sweep_box         one box, spread over vectors
//   SWEEP_NAME(spread_bounds)(low, high) -> sweep_box
//   SWEEP_NAME(test)(lanes, p, box) -> bits of the boxes p.. that overlap it
//   SWEEP_NAME(second)(lanes, p, limit) -> bits of the boxes p.. that are of the second set
//   SWEEP_NAME(partners)(lanes, p, names) -> bits of the boxes p.. that are one of the PSVI_PARTNERS names
// and, where SWEEP_APPENDS is defined, what does better than the loop below:
//   (SWEEP_UNITES) SWEEP_NAME(unite)(lanes, first, mask, low, high): bounds of the boxes first.. of the mask
//   SWEEP_NAME(append)(sink, lanes, p, hits, id): appends pairs with the hit boxes where every hit is a pair

SWEEP_TARGET static inline SWEEP_NAME(box) SWEEP_NAME(spread)(const psvi_lanes *lanes, uint64_t i) {
    const float low[3] = {lanes->min[0][i], lanes->min[1][i], lanes->min[2][i]};
    const float high[3] = {lanes->max[0][i], lanes->max[1][i], lanes->max[2][i]};
    return SWEEP_NAME(spread_bounds)(low, high);
}

#ifndef SWEEP_APPENDS
SWEEP_TARGET static inline void SWEEP_NAME(append)(psvi_pair_sink *sink, const psvi_lanes *lanes, uint64_t p,
                                                   uint32_t hits, uint32_t id) {
    make_room(sink);
    for (; hits != 0; hits &= hits - 1)
        add_pair(sink, id, lanes->id[p + (uint32_t)__builtin_ctz(hits)]);
}
#endif

#ifndef SWEEP_UNITES
SWEEP_TARGET static inline void SWEEP_NAME(unite)(const psvi_lanes *lanes, uint64_t first, uint32_t mask, float low[3],
                                                  float high[3]) {
    for (int k = 0; k < 3; ++k) {
        uint64_t i = first;
        low[k] = lanes->min[k][i];
        high[k] = lanes->max[k][i];
        for (uint32_t left = mask >> 1; left != 0; left >>= 1) {
            ++i;
            low[k] = lanes->min[k][i] < low[k] ? lanes->min[k][i] : low[k];
            high[k] = lanes->max[k][i] > high[k] ? lanes->max[k][i] : high[k];
        }
    }
}
#endif

// Which of the hit boxes p.. are excluded with box `id`, whose partners the sweeper holds.
SWEEP_TARGET __attribute__((noinline)) static uint32_t
SWEEP_NAME(excluded)(const rows_sweeper *sweeper, const psvi_lanes *lanes, uint64_t p, uint32_t hits, uint32_t id) {
    if (!sweeper->many_partners) return SWEEP_NAME(partners)(lanes, p, sweeper->partners);
    const psvi_pair_rules *rules = sweeper->sink.input->rules;
    uint32_t bits = 0;
    for (; hits != 0; hits &= hits - 1) {
        const uint64_t key = psvi_excluded_key(rules, id, lanes->id[p + (uint32_t)__builtin_ctz(hits)]);
        if (psvi_is_excluded(rules->excluded, rules->last_bucket, key)) bits |= hits & -hits;
    }
    return bits;
}

// Emits the pairs of box `id` with the hit boxes p..
SWEEP_TARGET static inline void SWEEP_NAME(take)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t p,
                                                 uint32_t hits, uint32_t id) {
    psvi_pair_sink *sink = &sweeper->sink;
    if (sink->input->between && hits != 0) {
        uint32_t limit = (uint32_t)sink->input->a.count, second = SWEEP_NAME(second)(&sorted->lanes, p, limit);
        hits &= id < limit ? second : ~second;
    }
    if (hits != 0 && sweeper->has_partners) hits &= ~SWEEP_NAME(excluded)(sweeper, &sorted->lanes, p, hits, id);
    if (hits == 0) return;
    if (sink->plain) {
        SWEEP_NAME(append)(sink, &sorted->lanes, p, hits, id);
        return;
    }
    uint32_t ids[SWEEP_LANES], count = 0;
    for (; hits != 0; hits &= hits - 1)
        ids[count++] = sorted->lanes.id[p + (uint32_t)__builtin_ctz(hits)];
    psvi_emit_hits(sink, id, ids, count);
}

// Boxes [p, end) while their keys are not above `last`, against one box.
SWEEP_TARGET static inline uint64_t SWEEP_NAME(run)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t p,
                                                    uint64_t end, uint32_t last, const SWEEP_NAME(box) * box,
                                                    uint32_t id) {
    const uint64_t first = p;
    for (; p < end && sorted->keys[p] <= last; p += SWEEP_LANES) {
        uint32_t hits = SWEEP_NAME(test)(&sorted->lanes, p, box);
        if (end - p < SWEEP_LANES) hits &= (1u << (end - p)) - 1;
        SWEEP_NAME(take)(sweeper, sorted, p, hits, id);
    }
    return (p < end ? p : end) - first;
}

// Boxes of one row that follow each other, at most a vector of them.
typedef struct SWEEP_NAME(group) {
    SWEEP_NAME(box) bounds;
    float low[3], high[3]; // the same
    uint64_t first;
    uint32_t mask;
    uint32_t q, to_q; // the first step where one begins, and the last where one ends
} SWEEP_NAME(group);

// A group against the boxes [p, end) of another row: what reaches the bounds of the group is tested against its boxes.
SWEEP_TARGET static inline uint64_t SWEEP_NAME(visit)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t p,
                                                      uint64_t end, uint32_t from_q, const SWEEP_NAME(group) * group) {
    if (end - p > ROWS_SEARCH) rows_narrow(sorted, &p, &end, from_q, group->to_q);
    uint64_t tested = 0;
    for (; p < end; p += SWEEP_LANES) {
        uint32_t found = SWEEP_NAME(test)(&sorted->lanes, p, &group->bounds);
        if (end - p < SWEEP_LANES) found &= (1u << (end - p)) - 1;
        if (group->mask == 1 && found != 0) {
            SWEEP_NAME(take)(sweeper, sorted, p, found, sorted->lanes.id[group->first]);
            found = 0;
        }
        for (; found != 0; found &= found - 1, tested += SWEEP_LANES) {
            const uint64_t other = p + (uint32_t)__builtin_ctz(found);
            const SWEEP_NAME(box) box = SWEEP_NAME(spread)(&sorted->lanes, other);
            const uint32_t hits = SWEEP_NAME(test)(&sorted->lanes, group->first, &box) & group->mask;
            if (hits == 0) continue;
            if (sorted->partners != NULL) rows_take_partners(sweeper, sorted, other);
            SWEEP_NAME(take)(sweeper, sorted, group->first, hits, sorted->lanes.id[other]);
        }
        tested += SWEEP_LANES;
    }
    return tested;
}

// Bounds of a group, and how far it reaches.
SWEEP_TARGET static inline void SWEEP_NAME(bound_group)(const rows_sorted *sorted, uint64_t first, uint32_t count,
                                                        SWEEP_NAME(group) * group) {
    const rows_grid *grid = sorted->grid;
    group->first = first;
    group->mask = (uint32_t)((1ull << count) - 1);
    if (count > 1) {
        SWEEP_NAME(unite)(&sorted->lanes, first, group->mask, group->low, group->high);
        group->bounds = SWEEP_NAME(spread_bounds)(group->low, group->high);
    } else {
        group->bounds = SWEEP_NAME(spread)(&sorted->lanes, first);
        for (int k = 0; k < 3; ++k) {
            group->low[k] = sorted->lanes.min[k][first];
            group->high[k] = sorted->lanes.max[k][first];
        }
    }
    group->q = sorted->keys[first] & ((1u << grid->x_bits) - 1);
    group->to_q = rows_quantise(grid, rows_scaled(grid, group->high[0]));
}

// A group against rows of level l, its own or a coarser one. Of its own level those after its row; of a coarser one
// those on both sides, because finer boxes own these pairs.
SWEEP_TARGET static uint64_t SWEEP_NAME(sweep_level)(rows_sweeper *sweeper, const rows_sorted *sorted,
                                                     const rows_home *home, uint32_t l,
                                                     const SWEEP_NAME(group) * group) {
    const rows_grid *grid = sorted->grid;
    const rows_level *level = &grid->levels[l];
    const uint32_t from_q = group->q > level->q_ext ? group->q - level->q_ext : 0;
    const uint32_t from = from_q >> level->shift, to = (group->to_q >> level->shift) + 1;
    const uint32_t y_end = rows_cell(grid, 1, rows_scaled(grid, group->high[1]), level->inv_y, level->ny);
    const uint32_t z_end = rows_cell(grid, 2, rows_scaled(grid, group->high[2]), level->inv_z, level->nz);
    const float z_low = rows_clamp(rows_scaled(grid, group->low[2]), grid->low[2], grid->high[2]) - level->ext[2];
    const uint32_t z_begin = rows_cell(grid, 2, z_low, level->inv_z, level->nz);
    uint32_t y = home->y;
    if (l != home->level) {
        const float y_low = rows_clamp(rows_scaled(grid, group->low[1]), grid->low[1], grid->high[1]) - level->ext[1];
        y = rows_cell(grid, 1, y_low, level->inv_y, level->ny);
    }
    uint64_t tested = 0;
    for (; y <= y_end; ++y) {
        uint32_t z = l == home->level && y == home->y ? home->z + 1 : z_begin;
        const uint32_t *start =
            sorted->start + home->world_cell + level->cell_base + (y * level->nz + z) * level->cells;
        for (; z <= z_end; ++z, start += level->cells)
            tested += SWEEP_NAME(visit)(sweeper, sorted, start[from], start[to], from_q, group);
    }
    return tested;
}

// A huge box: against all regular boxes and the huge ones after it.
SWEEP_TARGET static uint64_t SWEEP_NAME(sweep_huge)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t i) {
    const SWEEP_NAME(box) box = SWEEP_NAME(spread)(&sorted->lanes, i);
    const uint32_t id = sorted->lanes.id[i];
    if (sorted->partners != NULL) rows_take_partners(sweeper, sorted, i);
    return SWEEP_NAME(run)(sweeper, sorted, 0, sorted->regular, UINT32_MAX, &box, id) +
           SWEEP_NAME(run)(sweeper, sorted, i + 1, sorted->count, UINT32_MAX, &box, id);
}

// Boxes [first, end) of one row against later ones of that row.
SWEEP_TARGET static uint64_t SWEEP_NAME(sweep_row)(rows_sweeper *sweeper, const rows_sorted *sorted, uint32_t row,
                                                   uint64_t row_end, uint64_t first, uint64_t end) {
    const rows_grid *grid = sorted->grid;
    uint64_t all = 0;
    for (uint64_t i = first; i < end; ++i) {
        const SWEEP_NAME(box) box = SWEEP_NAME(spread)(&sorted->lanes, i);
        const uint32_t last = row << grid->x_bits | rows_quantise(grid, rows_scaled(grid, sorted->lanes.max[0][i]));
        if (sorted->partners != NULL) rows_take_partners(sweeper, sorted, i);
        const uint64_t tested = SWEEP_NAME(run)(sweeper, sorted, i + 1, row_end, last, &box, sorted->lanes.id[i]);
        if (tested > sweeper->longest) sweeper->longest = tested;
        all += tested;
    }
    return all;
}

SWEEP_TARGET static bool SWEEP_NAME(sweep)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t first,
                                           uint64_t end) {
    rows_home home = {.row = UINT32_MAX};
    uint64_t row_end = 0;
    uint64_t tested = 0, told = 0;
    sweeper->has_partners = false;
    for (uint64_t i = first, next; i < end; i = next) {
        if (tested - told >= ROWS_TOLD_TESTS) {
            if (rows_is_over(sweeper, sorted, tested - told)) {
                sweeper->sink.candidates += tested;
                return false;
            }
            told = tested;
        }
        next = i + 1;
        if (i >= sorted->regular) {
            tested += SWEEP_NAME(sweep_huge)(sweeper, sorted, i);
            continue;
        }
        const uint32_t row = sorted->keys[i] >> sorted->grid->x_bits;
        if (row != home.row) {
            rows_find_home(sorted->grid, row, &home);
            row_end = sorted->start[home.cell + sorted->grid->levels[home.level].cells];
        }
        next = i + (sorted->grid->levels[home.level].is_long ? 1 : SWEEP_LANES);
        if (next > end) next = end;
        if (next > row_end) next = row_end;
        tested += SWEEP_NAME(sweep_row)(sweeper, sorted, row, row_end, i, next);
        SWEEP_NAME(group) group;
        SWEEP_NAME(bound_group)(sorted, i, (uint32_t)(next - i), &group);
        for (uint32_t l = 0; l <= home.level; ++l)
            tested += SWEEP_NAME(sweep_level)(sweeper, sorted, &home, l, &group);
    }
    sweeper->sink.candidates += tested;
    return !rows_is_over(sweeper, sorted, tested - told);
}

#undef SWEEP_TARGET
#undef SWEEP_NAME
#undef SWEEP_LANES
#undef SWEEP_APPENDS
#undef SWEEP_UNITES
