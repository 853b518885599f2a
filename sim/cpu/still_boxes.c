#include "still_boxes.h"
#include "../../core/cpu/workers.h"
#include "../solver/body_sleep.h"

#include <string.h>

#define PSVI_STILL_KEPT 1u // in the tree
#define PSVI_STILL_LATE 2u // in the list of late ones

#define FEWEST 256u // of boxes at rest, for which a tree pays
#define PIECE 2048  // boxes that a worker copies at a time
#define CARRIED 2u  // boxes carried for a step, for each box of a tree, cost as much as building it

uint64_t psvi_still_bytes(uint64_t bodies) {
    const uint64_t room = psvi_still_room(bodies);
    return psvi_align(room * sizeof(psv_aabb)) + psvi_align(room * sizeof(psv_box_filter)) +
           2 * psvi_align(room * sizeof(uint32_t)) + psvi_align(room) + 2 * psvi_align(bodies * sizeof(uint32_t)) +
           psvi_align(bodies);
}

static void *take(char **memory, uint64_t bytes) {
    void *here = *memory;
    *memory += psvi_align(bytes);
    return here;
}

void psvi_begin_still_boxes(psvi_still_boxes *still, void *memory, uint64_t bodies) {
    const uint64_t room = psvi_still_room(bodies);
    char *rest = memory;
    *still = (psvi_still_boxes){.room = room, .bodies = bodies};
    still->box = take(&rest, room * sizeof *still->box);
    still->filter = take(&rest, room * sizeof *still->filter);
    still->sub_world = take(&rest, room * sizeof *still->sub_world);
    still->slot = take(&rest, room * sizeof *still->slot);
    still->flags = take(&rest, room);
    still->place = take(&rest, bodies * sizeof *still->place);
    still->late = take(&rest, bodies * sizeof *still->late);
    still->where = take(&rest, bodies);
}

static void put_box(const psvi_still_boxes *still, const psvi_sim *s, uint64_t place, uint32_t slot) {
    still->box[place] = s->box[slot];
    still->filter[place] = s->filter[slot];
    still->sub_world[place] = s->sub_world[slot];
    still->slot[place] = slot;
    still->flags[place] = s->flags[slot];
}

// The box is elsewhere or gone: it meets nothing any more where it is.
static void leave(psvi_still_boxes *still, uint32_t slot) {
    if ((still->where[slot] & PSVI_STILL_KEPT) != 0) {
        still->flags[still->place[slot]] = PSV_BOX_DISABLED;
        ++still->disabled;
    }
    still->where[slot] = 0;
}

// The list of bodies that are awake has changed.
static void follow_list(psvi_still_boxes *still, const psvi_awake_list *awake, const psvi_sim *s) {
    const uint32_t *settling = psvi_settling(awake);
    uint64_t late = 0;
    for (uint64_t k = 0; k < awake->count; ++k)
        leave(still, awake->slots[k]);
    for (uint64_t k = 0; k < awake->settling; ++k)
        leave(still, settling[k]);
    for (uint64_t k = 0; k < still->late_count; ++k)
        if (still->where[still->late[k]] == PSVI_STILL_LATE) still->late[late++] = still->late[k];
    for (uint64_t k = 0; k < awake->settling; ++k) {
        if ((s->flags[settling[k]] & PSV_BOX_DISABLED) != 0) continue;
        still->where[settling[k]] = PSVI_STILL_LATE;
        still->late[late++] = settling[k];
    }
    still->late_count = late;
}

// All boxes at rest to the front; the finder makes a tree of them.
static void build(psvi_still_boxes *still, const psvi_sim *s) {
    const uint8_t kinds = PSV_BOX_STATIC | PSV_BOX_DISABLED | PSVI_FLAG_KINEMATIC;
    uint64_t kept = 0;
    memset(still->where, 0, still->bodies);
    for (uint32_t i = 0; i < s->slots; ++i) {
        if ((s->flags[i] & kinds) != PSV_BOX_STATIC) continue;
        put_box(still, s, kept, i);
        still->where[i] = PSVI_STILL_KEPT;
        still->place[i] = (uint32_t)kept++;
    }
    still->kept = kept;
    still->late_count = still->disabled = still->debt = 0;
    ++still->version;
    still->on = kept >= FEWEST;
}

static uint64_t behind(const psvi_still_boxes *still, const psvi_awake_list *awake) {
    return awake->count + still->late_count;
}

static void keep_up(psvi_still_boxes *still, const psvi_awake_list *awake, const psvi_sim *s) {
    const uint64_t at_rest = s->slots - awake->count;
    const bool pays = at_rest >= (still->on ? 1 : 2) * awake->count && at_rest >= FEWEST;
    if (s->slots < still->seen) still->on = false; // some slots in front are none any more
    still->seen = s->slots;
    if (still->on && awake->changed) follow_list(still, awake, s);
    still->debt += still->late_count + still->disabled;
    if (!pays)
        still->on = false;
    else if (!still->on && awake->changed)
        build(still, s);
    else if (still->on && (still->debt > CARRIED * still->kept || still->kept + behind(still, awake) > still->room))
        build(still, s);
}

typedef struct copy_job {
    const psvi_still_boxes *still;
    const psvi_awake_list *awake;
    const psvi_sim *sim;
} copy_job;

static void copy_some(void *data, uint64_t first, uint64_t end) {
    const copy_job *job = data;
    const uint64_t awake = job->awake->count;
    for (uint64_t k = first; k < end; ++k)
        put_box(job->still, job->sim, job->still->kept + k,
                k < awake ? job->awake->slots[k] : job->still->late[k - awake]);
}

bool psvi_arrange_boxes(psvi_still_boxes *still, const psvi_awake_list *awake, psv_world *world, psv_box_set *boxes) {
    const psvi_sim *s = &world->sim;
    keep_up(still, awake, s);
    if (!still->on) return false;
    const uint64_t moving = behind(still, awake), count = still->kept + moving;
    copy_job job = {still, awake, s};
    psvi_run_ranges(world->context, moving, PIECE, copy_some, &job);
    *boxes = psv_boxes_of(psv_buffer_of(still->box, count * sizeof *still->box), sizeof *still->box, count);
    boxes->flags = psv_buffer_of(still->flags, count);
    boxes->filters = psv_buffer_of(still->filter, count * sizeof *still->filter);
    boxes->ids = psv_buffer_of(still->slot, count * sizeof *still->slot);
    if (world->def.sub_world_count > 1)
        boxes->worlds = psv_buffer_of(still->sub_world, count * sizeof *still->sub_world);
    boxes->kept = still->kept;
    boxes->kept_version = still->version;
    return true;
}
