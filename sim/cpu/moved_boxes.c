#include "moved_boxes.h"

#include <string.h>

#define FEWEST 256u // boxes for which it pays
#define SHARE 4u    // of all boxes so many are named at most, and half of that for the first time

uint64_t psvi_moved_bytes(uint64_t bodies) { return psvi_align((bodies / SHARE + 1) * sizeof(uint32_t)); }

void psvi_name_moved_boxes(psvi_moved_boxes *moved, const psvi_awake_list *awake, const psvi_sim *sim,
                           psv_box_set *boxes) {
    const uint64_t count = awake->count + awake->settling;
    moved->on = sim->slots >= FEWEST && count <= sim->slots / (moved->on ? SHARE : 2 * SHARE);
    if (!moved->on) return;
    memcpy(moved->slots, awake->slots, awake->count * sizeof *moved->slots);
    memcpy(moved->slots + awake->count, psvi_settling(awake), awake->settling * sizeof *moved->slots);
    boxes->kept = sim->slots;
    boxes->moved = psv_buffer_of(moved->slots, psvi_moved_bytes(sim->slots));
    boxes->moved_count = count;
}
