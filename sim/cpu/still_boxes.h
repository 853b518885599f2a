// The boxes of a step as the pair finder gets them on the CPU, where most bodies are at rest: those at rest in front,
// which the finder keeps in a tree (psv_box_set.kept), the others behind. A box whose body wakes stays in front,
// disabled; a body that comes to rest stays behind. The tree is built anew when carrying these has cost as much as that
// does, so no sequence of calls makes steps cost more than twice their least.
#ifndef PAIRSIEVE_STILL_BOXES_H
#define PAIRSIEVE_STILL_BOXES_H

#include "awake_list.h"

typedef struct psvi_still_boxes {
    // of `room`: `kept` at rest, then those of the awake list, then the late ones
    psv_aabb *box;
    psv_box_filter *filter;
    uint32_t *sub_world, *slot;
    uint8_t *flags;
    // of `bodies`
    uint32_t *place; // by slot: where a box that is in the tree lies in front
    uint32_t *late;  // slots that have come to rest since the tree was built
    uint8_t *where;  // by slot: PSVI_STILL_
    uint64_t room, bodies;
    uint64_t kept, version, late_count, disabled, debt;
    uint32_t seen;
    bool on;
} psvi_still_boxes;

// Boxes in front and behind together.
static inline uint64_t psvi_still_room(uint64_t bodies) { return bodies + bodies / 8 + 64; }

uint64_t psvi_still_bytes(uint64_t bodies);
void psvi_begin_still_boxes(psvi_still_boxes *still, void *memory, uint64_t bodies); // aligned to 256 bytes

// Between a step's begin and its pairs: brings the arrangement up to date. False where the world's own boxes serve.
bool psvi_arrange_boxes(psvi_still_boxes *still, const psvi_awake_list *awake, psv_world *world, psv_box_set *boxes);

#endif
