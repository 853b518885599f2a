// Cases of distributed sorts and pairs. The input of a case is made whole on every rank, from a seed; each rank takes
// its share of it, and the result is compared with what one sorter or one finder makes of the whole.
#ifndef PAIRSIEVE_TESTS_GROUP_CASES_H
#define PAIRSIEVE_TESTS_GROUP_CASES_H

#include <pairsieve/group.h>
#include <pairsieve/group_pairs.h>

// How the elements are dealt out to the ranks.
typedef enum group_deal {
    DEAL_EVENLY,   // stretches of equal length
    DEAL_RANDOMLY, // each element to any rank, in order
    DEAL_BY_SPACE, // sorted by x (boxes) or by the key, in stretches: what is near lies together
    DEAL_ONE,      // all to one rank
    DEAL_UNEVENLY, // stretches of any length, some empty
    DEAL_COUNT
} group_deal;

// Collective: each rank calls them with the same numbers. They return whether this rank found nothing wrong; a line to
// stderr says what was. The whole result is collected on every rank through `transport`, which the group itself uses
// too.
bool run_sort_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed);
bool run_pairs_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed);

// 9M keys a rank, more than the other cases can afford.
bool run_long_sort_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed);

// A scene of box_scenes.h at a size, dealt out in each way.
bool run_scene_case(psv_group *group, psv_context *context, const psv_group_transport *transport, const char *scene,
                    uint64_t count, group_deal deal);

// Boxes that are dealt out in slabs along any axis stay where they are, but for those at the borders.
bool run_staying_case(psv_group *group, psv_context *context, uint64_t seed);

// Ranks keep their boxes, which move a little from frame to frame: most are not copied.
bool run_drifting_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed);

// A finder over frames in which boxes move: events against those of one finder.
bool run_events_case(psv_group *group, psv_context *context, const psv_group_transport *transport, uint64_t seed);

// One rank's arguments are bad: all get the error, and the next call works.
bool run_error_cases(psv_group *group, psv_context *context, const psv_group_transport *transport);

#endif
