// Which bodies a step looks at on the CPU. What sleeps, is static or is no body any more stays as the solver found it
// once, so loops go over the others alone. The list is made anew when a call, sleep or waking has changed it.
#ifndef PAIRSIEVE_AWAKE_LIST_H
#define PAIRSIEVE_AWAKE_LIST_H

#include "../world/world.h"

#define PSVI_MARK_LISTED 1u  // the last step has looked at it as awake
#define PSVI_MARK_TOUCHED 2u // a call has changed it since

typedef struct psvi_awake_list {
    uint32_t *slots; // of `room`: those awake, ascending; at the end those at rest that the next step has to look at
    uint8_t *marks;  // by slot, PSVI_MARK_
    uint64_t room, count, settling;
    uint32_t seen; // slots from here on are new
    bool changed;
    bool wakes; // some mark of psvi_sim.wake was set when the list was made
} psvi_awake_list;

#define PSVI_AWAKE_BYTES (sizeof(uint32_t) + 1) // of a body

// `memory`: of `room` times PSVI_AWAKE_BYTES, aligned to 4 bytes.
void psvi_begin_awake_list(psvi_awake_list *list, void *memory, uint64_t room);

// Slots that a call has changed.
void psvi_touch_awake_list(psvi_awake_list *list, uint64_t first, uint64_t count);

// Before a step: the list of the bodies that it looks at, those that wake now included.
void psvi_list_awake(psvi_awake_list *list, const psvi_sim *s);

// After a step: those at rest have been looked at. `changed`: a body was lost.
void psvi_settle_awake_list(psvi_awake_list *list, bool changed);

static inline const uint32_t *psvi_settling(const psvi_awake_list *list) {
    return list->slots + list->room - list->settling;
}

#endif
