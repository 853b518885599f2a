#include "awake_list.h"
#include "../solver/body_sleep.h"

#include <string.h>

void psvi_begin_awake_list(psvi_awake_list *list, void *memory, uint64_t room) {
    *list = (psvi_awake_list){.slots = memory, .room = room, .changed = true};
    list->marks = (uint8_t *)(list->slots + room);
    memset(list->marks, 0, room);
}

void psvi_touch_awake_list(psvi_awake_list *list, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i)
        list->marks[i] |= PSVI_MARK_TOUCHED;
    list->changed = true;
}

// Kinematic bodies are looked at in every step: their velocities may be set at any time.
static bool is_at_rest(const psvi_sim *s, uint32_t i) {
    if (psvi_is_asleep(s, i)) return s->wake[s->island[i]] == 0;
    return (s->flags[i] & PSVI_FLAG_KINEMATIC) == 0 && (s->flags[i] & (PSV_BOX_STATIC | PSV_BOX_DISABLED)) != 0;
}

// Eight slots at once: all of them rest as before. (Flags: PSV_BOX_STATIC is bit 0, PSV_BOX_DISABLED bit 1.)
static bool eight_rest(const psvi_sim *s, const psvi_awake_list *list, uint32_t i) {
    const uint64_t ones = 0x0101010101010101u;
    uint64_t flags, marks;
    memcpy(&flags, s->flags + i, sizeof flags);
    memcpy(&marks, list->marks + i, sizeof marks);
    return ((flags | flags >> 1) & ones) == ones && (flags & ones * PSVI_FLAG_KINEMATIC) == 0 && marks == 0;
}

static void list_slot(psvi_awake_list *list, const psvi_sim *s, uint32_t i) {
    if (!is_at_rest(s, i))
        list->slots[list->count++] = i;
    else if (list->marks[i] != 0)
        list->slots[list->room - ++list->settling] = i;
}

void psvi_list_awake(psvi_awake_list *list, const psvi_sim *s) {
    const bool wakes = list->wakes = s->island != NULL && memchr(s->wake, 1, s->slots) != NULL;
    if (list->seen < s->slots) psvi_touch_awake_list(list, list->seen, s->slots - list->seen);
    if (list->seen != s->slots) list->changed = true;
    list->seen = s->slots;
    if (!list->changed && !wakes) return;
    list->changed = true; // until the step is done
    list->count = list->settling = 0;
    uint32_t i = 0;
    while (i < s->slots) {
        if (!wakes && i + 8 <= s->slots && eight_rest(s, list, i)) {
            i += 8;
            continue;
        }
        for (const uint32_t end = i + 8 < s->slots ? i + 8 : s->slots; i < end; ++i)
            list_slot(list, s, i);
    }
}

void psvi_settle_awake_list(psvi_awake_list *list, bool changed) {
    if (!list->changed && !changed) return;
    for (uint64_t k = 0; k < list->count; ++k)
        list->marks[list->slots[k]] = PSVI_MARK_LISTED;
    for (uint64_t k = 0; k < list->settling; ++k)
        list->marks[psvi_settling(list)[k]] = 0;
    list->settling = 0;
    list->changed = changed;
}
