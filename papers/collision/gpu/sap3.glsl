// Lists, endpoints and places of `sap3`. Endpoint e of m boxes in the list is the minimum of box e, or the maximum of
// box e - m. param 4: room for boxes, 5: axis. Two lists of slots lie in one block; the axes use them in turns.
#define ROOM param(4)
#define AXIS param(5)
#define TILE 1024u
// States as a sort has them: 1 and a count. For each axis one of the list's boxes and one of its endpoints; then slots.
#define BOXES_STATE(axis) (8u * (axis))
#define ENDS_STATE(axis) (8u * (axis) + 4u)
#define SLOTS_STATE 24u
#define BOXES states[base(6) + BOXES_STATE(AXIS) + 1u]
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 5) buffer list_block { uint lists[]; };
layout(std430, binding = 6) buffer state_block { uint states[]; };
layout(std430, binding = 7) readonly buffer endpoint_block { uint endpoints[]; };
layout(std430, binding = 8) buffer place_block { uint places[]; };
#define LIST(i) lists[base(5) + AXIS % 2u * ROOM + (i)]
// Of a box of the list: places of its ends among the sorted endpoints, and minimums before each of the two.
#define FIRST(i) places[base(8) + (i)]
#define LAST(i) places[base(8) + ROOM + (i)]
#define RANK(i) places[base(8) + 2u * ROOM + (i)]
#define STOP(i) places[base(8) + 3u * ROOM + (i)]

#ifdef OVER // what is counted. 0: slots that take part, 1: minimums among the endpoints, 2: boxes with company
#if OVER == 0
uint item_count() { return SLOTS; }
bool is_counted(uint i) { return (slots[base(0) + 8u * i + 6u] & TAG_OUT) == 0u; }
#elif OVER == 1
uint item_count() { return 2u * BOXES; }
bool is_counted(uint i) { return endpoints[base(7) + i] < BOXES; }
#else
uint item_count() { return BOXES; }

// Something lies between the box's ends, or something is open where it begins: of the endpoints before a place, twice
// the minimums less all of them.
bool is_counted(uint i) {
    uint first = FIRST(i);
    return LAST(i) != first + 1u || 2u * RANK(i) > first;
}
#endif
#endif
