// Two ascending lists of pairs; direction 0: pairs of `now` that `before` lacks, 1: the other way round. Tiles of 256
// pairs. param 0: tiles of a list, 1: pairs that there is room for, 2: direction (its move).
layout(std430, binding = 0) readonly buffer now_block { uint now_pairs[]; };
layout(std430, binding = 1) readonly buffer before_block { uint before_pairs[]; };
layout(std430, binding = 2) readonly buffer now_count_block { uint now_count[]; };
layout(std430, binding = 3) readonly buffer before_count_block { uint before_count[]; };

bool overflown() { return now_count[base(2) + 1u] != 0u || now_count[base(2)] > param(1); }
uint count_of(bool end) { return overflown() ? 0u : end ? before_count[base(3)] : now_count[base(2)]; }
uvec2 pair_at(bool before, uint i) {
    return before ? uvec2(before_pairs[base(1) + 2u * i], before_pairs[base(1) + 2u * i + 1u])
                  : uvec2(now_pairs[base(0) + 2u * i], now_pairs[base(0) + 2u * i + 1u]);
}

// Whether pair i of one list is not in the other.
bool is_alone(bool end, uint i) {
    uvec2 own = pair_at(end, i);
    uint low = 0u, high = count_of(!end), count = high;
    while (low < high) {
        uint middle = low + (high - low) / 2u;
        uvec2 other = pair_at(!end, middle);
        if (other.x < own.x || (other.x == own.x && other.y < own.y))
            low = middle + 1u;
        else
            high = middle;
    }
    return low >= count || pair_at(!end, low) != own;
}
