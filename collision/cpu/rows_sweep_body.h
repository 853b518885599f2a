// Body of the row sweep, included once per instruction set with these defined:
//   SWEEP_TARGET      function attributes          SWEEP_NAME(f)  the function's name in this set
//   SWEEP_LANES       boxes tested at a time
//   sweep_box         one box, spread over vectors
//   SWEEP_NAME(spread)(lanes, i) -> sweep_box
//   SWEEP_NAME(test)(lanes, p, box) -> bits of the boxes p.. that overlap it
//   SWEEP_NAME(second)(lanes, p, limit) -> bits of the boxes p.. that are of the second set
//   SWEEP_NAME(partners)(lanes, p, names) -> bits of the boxes p.. that are one of the PSVI_PARTNERS names
// and, where SWEEP_APPENDS is defined, what does better than the loop below:
//   SWEEP_NAME(append)(sink, lanes, p, hits, id): appends pairs with the hit boxes where every hit is a pair

#ifndef SWEEP_APPENDS
SWEEP_TARGET static inline void SWEEP_NAME(append)(psvi_pair_sink *sink, const psvi_lanes *lanes, uint64_t p,
                                                   uint32_t hits, uint32_t id) {
    make_room(sink);
    for (; hits != 0; hits &= hits - 1)
        add_pair(sink, id, lanes->id[p + (uint32_t)__builtin_ctz(hits)]);
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

// Boxes [p, end) while their keys are not above `last`, against one box.
SWEEP_TARGET static inline uint64_t SWEEP_NAME(run)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t p,
                                                    uint64_t end, uint32_t last, const SWEEP_NAME(box) * box,
                                                    uint32_t id) {
    psvi_pair_sink *sink = &sweeper->sink;
    const uint64_t first = p;
    for (; p < end && sorted->keys[p] <= last; p += SWEEP_LANES) {
        uint32_t hits = SWEEP_NAME(test)(&sorted->lanes, p, box);
        if (end - p < SWEEP_LANES) hits &= (1u << (end - p)) - 1;
        if (sink->input->between && hits != 0) {
            uint32_t limit = (uint32_t)sink->input->a.count, second = SWEEP_NAME(second)(&sorted->lanes, p, limit);
            hits &= id < limit ? second : ~second;
        }
        if (hits != 0 && sweeper->has_partners) hits &= ~SWEEP_NAME(excluded)(sweeper, &sorted->lanes, p, hits, id);
        if (hits == 0) continue;
        if (sink->plain) {
            SWEEP_NAME(append)(sink, &sorted->lanes, p, hits, id);
            continue;
        }
        uint32_t ids[SWEEP_LANES], count = 0;
        for (; hits != 0; hits &= hits - 1)
            ids[count++] = sorted->lanes.id[p + (uint32_t)__builtin_ctz(hits)];
        psvi_emit_hits(sink, id, ids, count);
    }
    return (p < end ? p : end) - first;
}

// First place at or after `at` whose key is not below `key`: near steps, then doubling ones.
SWEEP_TARGET static inline uint32_t SWEEP_NAME(advance)(const uint32_t *keys, uint32_t at, uint32_t end, uint32_t key) {
    for (int near = 0; near < 4; ++near) {
        if (at >= end || keys[at] >= key) return at;
        ++at;
    }
    uint32_t low = at, step = 4; // keys below `low` are below `key`
    while (low + step < end && keys[low + step] < key) {
        low += step + 1;
        step *= 2;
    }
    uint32_t high = low + step < end ? low + step : end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// One box against one other row, from the first box that can reach it.
SWEEP_TARGET static inline uint64_t SWEEP_NAME(visit)(rows_sweeper *sweeper, const rows_sorted *sorted,
                                                      rows_place *places, uint32_t row, uint32_t from_q, uint32_t to_q,
                                                      const SWEEP_NAME(box) * box, uint32_t id) {
    uint32_t first = sorted->start[row], end = sorted->start[row + 1], bits = sorted->grid->x_bits;
    if (first == end) return 0;
    rows_place *place = &places[row % ROWS_CACHE];
    if (place->row != row) *place = (rows_place){row, first};
    place->at = SWEEP_NAME(advance)(sorted->keys, place->at, end, row << bits | from_q);
    return SWEEP_NAME(run)(sweeper, sorted, place->at, end, row << bits | to_q, box, id);
}

// Where the boxes of one row are.
typedef struct SWEEP_NAME(home) {
    uint32_t row, end; // end: of the row's boxes
    uint32_t level, world_row, y, z;
} SWEEP_NAME(home);

SWEEP_TARGET static void SWEEP_NAME(find_home)(const rows_sorted *sorted, uint32_t row, SWEEP_NAME(home) * home) {
    const rows_grid *grid = sorted->grid;
    home->row = row;
    home->end = sorted->start[row + 1];
    home->world_row = row / grid->rows_per_world * grid->rows_per_world;
    uint32_t within = row - home->world_row;
    home->level = 0;
    while (home->level + 1 < grid->level_count && grid->levels[home->level + 1].base <= within)
        ++home->level;
    within -= grid->levels[home->level].base;
    home->y = within / grid->levels[home->level].nz;
    home->z = within % grid->levels[home->level].nz;
}

// Rows after the box's own that it reaches into, of its own level.
SWEEP_TARGET static inline uint64_t SWEEP_NAME(sweep_level)(rows_sweeper *sweeper, const rows_sorted *sorted,
                                                            const SWEEP_NAME(home) * home, uint64_t i, uint32_t q,
                                                            uint32_t to_q, const SWEEP_NAME(box) * box) {
    const rows_grid *grid = sorted->grid;
    const rows_level *level = &grid->levels[home->level];
    const psvi_lanes *lanes = &sorted->lanes;
    rows_place *places = sweeper->places[home->level];
    uint32_t id = lanes->id[i], from_q = q > level->q_ext ? q - level->q_ext : 0;
    uint32_t y_end = rows_cell(grid, 1, lanes->max[1][i], level->inv_y, level->ny);
    uint32_t z_end = rows_cell(grid, 2, lanes->max[2][i], level->inv_z, level->nz);
    uint64_t tested = 0;
    for (uint32_t z = home->z + 1; z <= z_end; ++z)
        tested += SWEEP_NAME(visit)(sweeper, sorted, places, home->row + (z - home->z), from_q, to_q, box, id);
    if (y_end == home->y) return tested;
    float z_low = rows_clamp(lanes->min[2][i], grid->low[2], grid->high[2]) - level->ext[2];
    uint32_t z_begin = rows_cell(grid, 2, z_low, level->inv_z, level->nz);
    for (uint32_t y = home->y + 1; y <= y_end; ++y) {
        uint32_t row = home->row - home->z + (y - home->y) * level->nz;
        for (uint32_t z = z_begin; z <= z_end; ++z)
            tested += SWEEP_NAME(visit)(sweeper, sorted, places, row + z, from_q, to_q, box, id);
    }
    return tested;
}

// Rows of a coarser level that hold boxes in reach; on both sides, because finer boxes own these pairs.
SWEEP_TARGET static uint64_t SWEEP_NAME(sweep_coarser)(rows_sweeper *sweeper, const rows_sorted *sorted,
                                                       const SWEEP_NAME(home) * home, uint32_t l, uint64_t i,
                                                       uint32_t q, uint32_t to_q, const SWEEP_NAME(box) * box) {
    const rows_grid *grid = sorted->grid;
    const rows_level *level = &grid->levels[l];
    const psvi_lanes *lanes = &sorted->lanes;
    uint32_t id = lanes->id[i], from_q = q > level->q_ext ? q - level->q_ext : 0;
    float y_low = rows_clamp(lanes->min[1][i], grid->low[1], grid->high[1]) - level->ext[1];
    float z_low = rows_clamp(lanes->min[2][i], grid->low[2], grid->high[2]) - level->ext[2];
    uint32_t y_begin = rows_cell(grid, 1, y_low, level->inv_y, level->ny);
    uint32_t z_begin = rows_cell(grid, 2, z_low, level->inv_z, level->nz);
    uint32_t y_end = rows_cell(grid, 1, lanes->max[1][i], level->inv_y, level->ny);
    uint32_t z_end = rows_cell(grid, 2, lanes->max[2][i], level->inv_z, level->nz);
    uint64_t tested = 0;
    for (uint32_t y = y_begin; y <= y_end; ++y) {
        uint32_t row = home->world_row + level->base + y * level->nz;
        for (uint32_t z = z_begin; z <= z_end; ++z)
            tested += SWEEP_NAME(visit)(sweeper, sorted, sweeper->places[l], row + z, from_q, to_q, box, id);
    }
    return tested;
}

SWEEP_TARGET static void SWEEP_NAME(sweep)(rows_sweeper *sweeper, const rows_sorted *sorted, uint64_t first,
                                           uint64_t end) {
    const rows_grid *grid = sorted->grid;
    const uint32_t mask = (1u << grid->x_bits) - 1;
    SWEEP_NAME(home) home = {.row = UINT32_MAX};
    sweeper->has_partners = false;
    for (uint64_t i = first; i < end; ++i) {
        const SWEEP_NAME(box) box = SWEEP_NAME(spread)(&sorted->lanes, i);
        uint32_t id = sorted->lanes.id[i];
        if (sorted->partners != NULL) rows_take_partners(sweeper, sorted, i);
        if (i >= sorted->regular) { // huge: against all regular boxes and the huge ones after it
            uint64_t tested = SWEEP_NAME(run)(sweeper, sorted, 0, sorted->regular, UINT32_MAX, &box, id) +
                              SWEEP_NAME(run)(sweeper, sorted, i + 1, sorted->count, UINT32_MAX, &box, id);
            sweeper->sink.candidates += tested;
            continue;
        }
        uint32_t row = sorted->keys[i] >> grid->x_bits, q = sorted->keys[i] & mask;
        if (row != home.row) { // the sweep axis begins anew, so no place is remembered
            SWEEP_NAME(find_home)(sorted, row, &home);
            memset(sweeper->places, 0xff, (home.level + 1) * sizeof *sweeper->places);
        }
        uint32_t to_q = rows_quantise(grid, sorted->lanes.max[0][i]);
        uint64_t own = SWEEP_NAME(run)(sweeper, sorted, i + 1, home.end, row << grid->x_bits | to_q, &box, id);
        uint64_t tested = own + SWEEP_NAME(sweep_level)(sweeper, sorted, &home, i, q, to_q, &box);
        for (uint32_t l = 0; l < home.level; ++l)
            tested += SWEEP_NAME(sweep_coarser)(sweeper, sorted, &home, l, i, q, to_q, &box);
        sweeper->sink.candidates += tested;
        if (own > sweeper->longest) sweeper->longest = own;
    }
}

#undef SWEEP_TARGET
#undef SWEEP_NAME
#undef SWEEP_LANES
#undef SWEEP_APPENDS
