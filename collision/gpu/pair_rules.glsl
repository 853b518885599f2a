// What decides about a pair beside flags, sets, worlds and filters (collision/src/pair_rules.h). A slot's traits are
// words of block 4: group and mask of its filter; with RULES also owner, layer and name (its id, or its index in its
// set); with EXACT its corners in double precision, as doubles.glsl orders them.
#define TRAIT_OWNER 2u
#define TRAIT_LAYER 3u
#define TRAIT_NAME 4u
#define TRAIT_CORNERS 5u
#if RULES
#include "excluded_pairs.glsl"
#include "doubles.glsl"
layout(std430, binding = 6) buffer world_pair_block { uint world_pairs[]; }; // two words a world
layout(std430, binding = 11) readonly buffer excluded_block { uint excluded[]; };
#define TRAIT_WORDS param(32)
#define LAYERS ((param(33) & 1u) != 0u)
#define EXCLUDES ((param(33) & 2u) != 0u)
#define EXACT ((param(33) & 4u) != 0u)
#define COUNTS_WORLDS ((param(33) & 8u) != 0u)
#define LAST_BUCKET param(34)
#define WORLD_ROOM param(35) // NO_LIMIT: as many pairs as there are
#define NO_LIMIT 0xffffffffu

bool is_excluded(uint a, uint b) {
    uint hash = excluded_hash(a, b), at = hash & LAST_BUCKET;
    if ((excluded[base(11) + 8u * (LAST_BUCKET + 1u) + at] & excluded_bit(hash)) == 0u) return false;
    for (;; at = (at + 1u) & LAST_BUCKET) {
        bool found = false, full = true;
        for (uint k = 0u; k < 4u; ++k) {
            uint place = base(11) + 8u * at + 2u * k, first = excluded[place];
            found = found || (first == a && excluded[place + 1u] == b);
            full = full && first != EXCLUDED_NONE;
        }
        if (found || !full) return found;
    }
}
bool corners_overlap(uint fs, uint ft) {
    for (uint k = 0u; k < 3u; ++k) {
        uint s = fs + TRAIT_CORNERS + 2u * k, t = ft + TRAIT_CORNERS + 2u * k;
        if (is_above(uvec2(traits[s], traits[s + 1u]), uvec2(traits[t + 6u], traits[t + 7u])) ||
            is_above(uvec2(traits[t], traits[t + 1u]), uvec2(traits[s + 6u], traits[s + 7u])))
            return false;
    }
    return true;
}
// fs, ft: where the traits of the two slots begin; `forward`: the first one is the lower slot.
bool rules_pair(uint fs, uint ft, bool forward) {
    uint owner = traits[fs + TRAIT_OWNER];
    if (owner != 0xffffffffu && owner == traits[ft + TRAIT_OWNER]) return false;
    if (LAYERS) {
        uint s = traits[fs + TRAIT_LAYER], t = traits[ft + TRAIT_LAYER];
        if (s >= 32u || t >= 32u) return false;
        if ((plan[base(2) + PLAN_LAYERS + s] >> t & plan[base(2) + PLAN_LAYERS + t] >> s & 1u) == 0u) return false;
    }
    if (EXCLUDES) {
        uint s = traits[fs + TRAIT_NAME], t = traits[ft + TRAIT_NAME];
        bool turn = BETWEEN ? !forward : s > t;
        if (is_excluded(turn ? t : s, turn ? s : t)) return false;
    }
    return !EXACT || corners_overlap(fs, ft);
}
// Counts a pair for its world; false when the world's room is taken.
bool has_world_room(uint world) {
    uint at = base(6) + 2u * world, before = atomicAdd(world_pairs[at], 1u);
    if (before == 0xffffffffu) atomicAdd(world_pairs[at + 1u], 1u);
    return WORLD_ROOM == NO_LIMIT || (before < WORLD_ROOM && atomicOr(world_pairs[at + 1u], 0u) == 0u);
}
#else
#define TRAIT_WORDS 2u
#endif
