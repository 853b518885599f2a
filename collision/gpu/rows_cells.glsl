// The grid of `rows`: levels of boxes by size, each with its own cells. Words of the plan block. Axes are in the order
// of the grid: cells along the first axis are consecutive. Every map is monotone and boxes are clamped to the range, so
// overlapping boxes stay within reach of each other for any plan. A scene that is larger than its cells shares them,
// modulo their number on each axis.
#define MOST_LEVELS 12u
#define PLAN_LEVEL_BOXES 16u // of each level; cleared with the plan
#define PLAN_LOW 128u        // 3 floats
#define PLAN_HIGH 131u       // 3 floats
#define PLAN_AXES 134u       // 3: the box's axis
#define PLAN_LEVELS 137u
#define PLAN_CELLS 138u // in all
#define PLAN_WORLD_CELLS 139u
#define PLAN_SLACK 140u // 3 floats: largest error of distances
#define PLAN_BOXES 143u // that take part
#define PLAN_LEVEL 144u // 16 words a level:
#define LEVEL_LIMIT 0u  // 3 floats: no box of the level is longer
#define LEVEL_INVERSE 3u // 3 floats: cells a unit
#define LEVEL_SIDES 6u  // 3: numbers of cells
#define LEVEL_FIRST 9u  // cell
#define WORLD_SLOTS param(4) // worlds share them

#define PLAN(word) plan[base(2) + (word)]

#if defined(KEEPS_GRID) || defined(MAKES_GRID)
// The group's own copy: reads by all threads of one word that other threads count in would wait for each other.
shared uint grid[PLAN_LEVEL + 16u * MOST_LEVELS];
#define GRID(word) grid[word]
#else
#define GRID(word) PLAN(word)
#endif
#ifdef KEEPS_GRID
// All threads of the group together.
void load_grid() {
    for (uint i = gl_LocalInvocationIndex; i < PLAN_LEVEL + 16u * MOST_LEVELS; i += gl_WorkGroupSize.x)
        grid[i] = PLAN(i);
    barrier();
}
#endif
#define GRID_LEVEL(l, word) GRID(PLAN_LEVEL + 16u * (l) + (word))

float distance_along(uint k, float x) {
    float low = uintBitsToFloat(GRID(PLAN_LOW + k));
    return clamp(x, low, uintBitsToFloat(GRID(PLAN_HIGH + k))) - low;
}
// Cell before the modulo.
uint cell_along(uint l, uint k, float distance) {
    return uint(clamp(distance * uintBitsToFloat(GRID_LEVEL(l, LEVEL_INVERSE + k)), 0.0, 4.0e6));
}
// A corner with the grid's axes; the order is one of three.
uvec3 grid_corner(uvec3 corner) {
    uint first = GRID(PLAN_AXES);
    return first == 0u ? corner : first == 1u ? corner.yzx : corner.zxy;
}
// First cell of a row.
uint row_of(uint l, uint y, uint z) {
    uint row = y % GRID_LEVEL(l, LEVEL_SIDES + 1u) * GRID_LEVEL(l, LEVEL_SIDES + 2u) + z % GRID_LEVEL(l, LEVEL_SIDES + 2u);
    return GRID_LEVEL(l, LEVEL_FIRST) + row * GRID_LEVEL(l, LEVEL_SIDES);
}
// Whether a level has fewer rows than the scene has places for them.
bool shares_rows(uint l) {
    float y = uintBitsToFloat(GRID(PLAN_HIGH + 1u)), z = uintBitsToFloat(GRID(PLAN_HIGH + 2u));
    return cell_along(l, 1u, distance_along(1u, y)) >= GRID_LEVEL(l, LEVEL_SIDES + 1u) ||
           cell_along(l, 2u, distance_along(2u, z)) >= GRID_LEVEL(l, LEVEL_SIDES + 2u);
}
// The first level that a box of these extents fits; the last one takes all.
uint level_of(vec3 extent) {
    uint l = 0u;
    for (; l + 1u < GRID(PLAN_LEVELS); ++l) {
        vec3 limit = vec3(uintBitsToFloat(GRID_LEVEL(l, LEVEL_LIMIT)), uintBitsToFloat(GRID_LEVEL(l, LEVEL_LIMIT + 1u)),
                          uintBitsToFloat(GRID_LEVEL(l, LEVEL_LIMIT + 2u)));
        if (all(lessThanEqual(extent, limit))) break;
    }
    return l;
}
uint world_first(uint world) { return WORLD_SLOTS > 1u ? world % WORLD_SLOTS * GRID(PLAN_WORLD_CELLS) : 0u; }
