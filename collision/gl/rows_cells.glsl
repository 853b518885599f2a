// The grid of `rows`: levels of boxes by size, each with cells of its own. Words of the plan block. Axes are in the order
// of the grid: cells along the first one follow each other. Every map is monotone and boxes are clamped to the range, so
// boxes that overlap stay in reach of each other, whatever the plan says. A scene that is larger than its cells shares
// them, modulo their number on each axis.
#define MOST_LEVELS 12u
#define PLAN_LEVEL_BOXES 16u // of each level; cleared with the plan
#define PLAN_LOW 128u        // 3 floats
#define PLAN_HIGH 131u       // 3 floats
#define PLAN_AXES 134u       // 3: the box's axis
#define PLAN_LEVELS 137u
#define PLAN_CELLS 138u // in all
#define PLAN_WORLD_CELLS 139u
#define PLAN_SLACK 140u // 3 floats: what distances may be wrong by
#define PLAN_LEVEL 144u // 16 words a level:
#define LEVEL_LIMIT 0u  // 3 floats: no box of the level is longer
#define LEVEL_INVERSE 3u // 3 floats: cells a unit
#define LEVEL_SIDES 6u  // 3: numbers of cells
#define LEVEL_FIRST 9u  // cell
#define WORLD_SLOTS param(4) // worlds share them

#define PLAN(word) plan[base(2) + (word)]
#define LEVEL(l, word) PLAN(PLAN_LEVEL + 16u * (l) + (word))

float distance_along(uint k, float x) {
    float low = uintBitsToFloat(PLAN(PLAN_LOW + k));
    return clamp(x, low, uintBitsToFloat(PLAN(PLAN_HIGH + k))) - low;
}
// Cell before the modulo.
uint cell_along(uint l, uint k, float distance) {
    return uint(clamp(distance * uintBitsToFloat(LEVEL(l, LEVEL_INVERSE + k)), 0.0, 4.0e6));
}
// First cell of a row.
uint row_of(uint l, uint y, uint z) {
    uint row = y % LEVEL(l, LEVEL_SIDES + 1u) * LEVEL(l, LEVEL_SIDES + 2u) + z % LEVEL(l, LEVEL_SIDES + 2u);
    return LEVEL(l, LEVEL_FIRST) + row * LEVEL(l, LEVEL_SIDES);
}
// The first level that a box of these extents fits; the last one takes all.
uint level_of(vec3 extent) {
    uint l = 0u;
    for (; l + 1u < PLAN(PLAN_LEVELS); ++l) {
        vec3 limit = vec3(uintBitsToFloat(LEVEL(l, LEVEL_LIMIT)), uintBitsToFloat(LEVEL(l, LEVEL_LIMIT + 1u)),
                          uintBitsToFloat(LEVEL(l, LEVEL_LIMIT + 2u)));
        if (all(lessThanEqual(extent, limit))) break;
    }
    return l;
}
uint world_first(uint world) { return WORLD_SLOTS > 1u ? world % WORLD_SLOTS * PLAN(PLAN_WORLD_CELLS) : 0u; }
