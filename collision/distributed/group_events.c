// Begin and end events over a group. A pair may be reported by another rank than in the frame before. So each pair
// first goes to the rank that it belongs to by its ids. That rank compares the two frames' lists as one finder does.
#include "group_finder.h"

enum { EVENTS_NOW, EVENTS_BEFORE, EVENTS_BEGIN, EVENTS_END, EVENTS_COUNTS };

void psvi_free_pair_homes(psv_group_finder *finder) {
    psvi_pair_homes *homes = &finder->homes;
    psvi_room *const rooms[] = {&homes->index, &homes->sent, &homes->now,    &homes->before,
                                &homes->begin, &homes->end,  &homes->counts, &homes->scratch};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; ++i)
        psvi_free_room(finder->context, rooms[i]);
    psv_destroy_sorter(homes->sorter);
    homes->sorter = NULL;
}

// --- pairs to the ranks that they belong to --------------------------------------------------------------------------

static psv_status list_homes(psv_group_finder *finder) {
    psvi_pair_homes *homes = &finder->homes;
    psv_context *context = finder->context;
    const uint64_t count = finder->pair_count;
    uint64_t *lists = finder->lists;
    for (uint32_t r = 0; r < finder->group->size; ++r)
        lists[r] = 0;
    if (count > UINT32_MAX)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "%llu pairs on this rank; events take at most 4294967295",
                         (unsigned long long)count);
    psv_status status = psvi_make_room(context, &homes->index, count * sizeof(uint32_t), "lists of pairs");
    if (status == PSV_OK) status = psvi_make_room(context, &homes->sent, count * sizeof(psv_pair), "pairs to send");
    if (status != PSV_OK || count == 0) return status;
    status = finder->ops->list_pairs(context, finder->state, psvi_buffer_address(finder->pairs), count,
                                     finder->group->size, homes->index.memory, lists);
    if (status == PSV_OK)
        status =
            psv_gather_records(context, finder->pairs, psv_buffer_of(homes->sent.memory, count * sizeof(psv_pair)),
                               sizeof(psv_pair), psv_buffer_of(homes->index.memory, count * sizeof(uint32_t)), count);
    return status;
}

static psv_status make_event_rooms(psv_group_finder *finder) {
    psvi_pair_homes *homes = &finder->homes;
    psv_context *context = finder->context;
    const uint64_t now = homes->now_count, before = homes->before_count, most = now > before ? now : before;
    psv_status status = psvi_make_room(context, &homes->now, (now + 1) * sizeof(psv_pair), "pairs of a frame");
    if (status == PSV_OK && homes->before.bytes == 0) // of the first frame
        status = psvi_make_room(context, &homes->before, sizeof(psv_pair), "pairs of a frame");
    if (status == PSV_OK) status = psvi_make_room(context, &homes->begin, (most + 1) * sizeof(psv_pair), "events");
    if (status == PSV_OK) status = psvi_make_room(context, &homes->end, (most + 1) * sizeof(psv_pair), "events");
    if (status == PSV_OK) status = psvi_make_room(context, &homes->counts, EVENTS_COUNTS * sizeof(uint64_t), "counts");
    const psvi_collision_ops *ops = psvi_collision_ops_of(context->backend);
    if (status == PSV_OK && ops->events_scratch_bytes != NULL)
        status = psvi_make_room(context, &homes->scratch, ops->events_scratch_bytes(most + 1), "events");
    if (status != PSV_OK || (homes->sorter != NULL && now <= homes->sorter_room)) return status;
    psv_destroy_sorter(homes->sorter);
    homes->sorter = NULL;
    homes->sorter_room = now + now / 4 + 64;
    psv_sorter_def def = psv_default_sorter_def();
    def.key_type = PSV_KEY_U64;
    def.value_bytes = 0;
    def.max_count = homes->sorter_room;
    return psv_create_sorter(context, &def, &homes->sorter);
}

// Everybody's pairs to where they belong, and in order there.
static psv_status bring_home(psv_group_finder *finder) {
    psvi_pair_homes *homes = &finder->homes;
    psv_group *group = finder->group;
    psv_context *context = finder->context;
    const uint32_t size = group->size;
    psv_status status = psvi_group_gather(group, PSVI_CALL_EVENTS, list_homes(finder), finder->lists, finder->matrix,
                                          size * sizeof(uint64_t));
    if (status != PSV_OK) return status;
    for (uint32_t r = 0; r < size; ++r) {
        finder->held_count[0][r] = finder->matrix[(uint64_t)r * size + group->rank];
        finder->held_first[0][r] = psvi_sum_before(finder->held_count[0], r);
        finder->sent_first[0][r] = psvi_sum_before(finder->lists, r);
    }
    homes->now_count = psvi_sum_before(finder->held_count[0], size);
    status = make_event_rooms(finder);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    status = psvi_group_agree(group, PSVI_CALL_EVENTS, status);
    if (status != PSV_OK) return status;
    const psvi_moved moved = {homes->sent.memory, homes->now.memory,     sizeof(psv_pair),     finder->sent_first[0],
                              finder->lists,      finder->held_first[0], finder->held_count[0]};
    status = psvi_group_move(group, &moved, 1);
    const uint64_t count = homes->now_count;
    if (status == PSV_OK && count > 0) status = finder->ops->swap(context, homes->now.memory, count);
    if (status == PSV_OK && count > 0)
        status = psv_sort_keys(homes->sorter, psv_buffer_of(homes->now.memory, count * sizeof(psv_pair)), count);
    if (status == PSV_OK && count > 0) status = finder->ops->swap(context, homes->now.memory, count);
    return status;
}

// --- events ----------------------------------------------------------------------------------------------------------

static psv_status compare_frames(psv_group_finder *finder, uint64_t counts[EVENTS_COUNTS]) {
    psvi_pair_homes *homes = &finder->homes;
    psv_context *context = finder->context;
    uint64_t *there = homes->counts.memory;
    const psv_buffer all = psv_buffer_of(there, EVENTS_COUNTS * sizeof *there);
    const uint64_t given[EVENTS_COUNTS] = {homes->now_count, homes->before_count, 0, 0};
    const uint64_t most = homes->now_count > homes->before_count ? homes->now_count : homes->before_count;
    psv_status status = psv_upload(context, all, given, sizeof given);
    if (status == PSV_OK)
        status = psvi_collision_ops_of(context->backend)
                     ->diff_pairs(context, homes->now.memory, &there[EVENTS_NOW], homes->before.memory,
                                  &there[EVENTS_BEFORE], most + 1, homes->begin.memory, &there[EVENTS_BEGIN],
                                  homes->end.memory, &there[EVENTS_END], homes->scratch.memory);
    return status == PSV_OK ? psv_download(context, counts, all, sizeof given) : status;
}

static psv_status run_events(psv_group_finder *finder, psv_group_events *events) {
    psvi_pair_homes *homes = &finder->homes;
    uint64_t counts[EVENTS_COUNTS] = {0};
    psv_status status = bring_home(finder);
    if (status == PSV_OK) status = compare_frames(finder, counts);
    uint64_t *all = finder->matrix; // two numbers of each rank
    status = psvi_group_gather(finder->group, PSVI_CALL_EVENTS, status, &counts[EVENTS_BEGIN], all, 2 * sizeof *all);
    if (status != PSV_OK) return status;
    *events = (psv_group_events){
        .begin = psv_buffer_of(homes->begin.memory, counts[EVENTS_BEGIN] * sizeof(psv_pair)),
        .end = psv_buffer_of(homes->end.memory, counts[EVENTS_END] * sizeof(psv_pair)),
        .begin_count = counts[EVENTS_BEGIN],
        .end_count = counts[EVENTS_END],
    };
    for (uint32_t r = 0; r < finder->group->size; ++r) {
        events->total_begin_count += all[2 * r];
        events->total_end_count += all[2 * r + 1];
    }
    const psvi_room before = homes->before; // this frame's list is the next one's list before
    homes->before = homes->now;
    homes->before_count = homes->now_count;
    homes->now = before;
    homes->done = true;
    return PSV_OK;
}

psv_status psv_find_group_events(psv_group_finder *finder, psv_group_events *events) {
    psv_status status = psvi_check_group_finder(finder);
    if (status != PSV_OK) return status;
    psv_context *context = finder->context;
    if (events == NULL)
        status = psvi_fail(context, PSV_ERROR_ARGUMENT, "events is NULL");
    else if (!finder->def.local.events)
        status = psvi_fail(context, PSV_ERROR_ARGUMENT, "the finder was created without def.local.events");
    else if (!finder->has_frame || finder->homes.done)
        status = psvi_fail(context, PSV_ERROR_ARGUMENT,
                           "events are asked for once after each psv_group_find_pairs that gave pairs");
    PSVI_STANDARD_FLOATS(context);
    status = psvi_group_agree(finder->group, PSVI_CALL_EVENTS, status);
    return status == PSV_OK ? run_events(finder, events) : status;
}
