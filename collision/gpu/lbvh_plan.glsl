// The plan of a tree: where the scene is and how its box is halved. Words of the plan block from 4 on.
#define PLAN_PARTS 1u   // long walks' parts in the queue, before it is clamped to its room
#define PLAN_LOW 4u     // 3 floats
#define PLAN_INVERSE 7u // 3 floats: cells over the scene's extent
#define PLAN_BITS 10u   // 3: of each axis
#define PLAN_AXES 13u   // 31: which axis is halved, from the key's high bit down
#define PLACE_BITS param(4)
#define WORLD_BITS param(5)
#define WORLD_SHIFT param(6)
#define LEAF 0x80000000u
#define NONE 0xffffffffu
