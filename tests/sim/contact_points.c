#include "contact_points.h"

#include <stdlib.h>
#include <string.h>

#include "sim/data/sim_data.h"
#include "sim/world/world.h"

_Static_assert(MOST_CONTACT_POINTS == PSVI_MAX_POINTS, "as many as a contact may have");

psv_status count_contact_points(psv_world *world, uint64_t contacts[MOST_CONTACT_POINTS + 1]) {
    psv_world_counters counters; // all steps have happened after this
    psv_status status = psv_read_world_counters(world, &counters);
    memset(contacts, 0, (MOST_CONTACT_POINTS + 1) * sizeof *contacts);
    if (status != PSV_OK) return status;
    psvi_step_counts counts;
    status = psv_download(world->context, &counts, psv_buffer_of(world->sim.counts, sizeof counts), sizeof counts);
    if (status != PSV_OK) return status;
    const uint64_t places = counts.kept_mask + 1, bytes = places * sizeof(psvi_kept_contact);
    psvi_kept_contact *kept = malloc(bytes);
    if (kept == NULL) return PSV_ERROR_MEMORY;
    status = psv_download(world->context, kept, psv_buffer_of(world->sim.kept, bytes), bytes);
    for (uint64_t i = 0; status == PSV_OK && i < places; ++i)
        if (kept[i].key != 0) contacts[kept[i].count_colour & 0xffu]++;
    free(kept);
    return status;
}
