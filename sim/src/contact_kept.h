// Contacts of the last step by pair of bodies: an open-addressing hash table. What a look-up finds does not depend on
// the order of insertion, so the table may be filled by any number of threads.
#ifndef PAIRSIEVE_CONTACT_KEPT_H
#define PAIRSIEVE_CONTACT_KEPT_H

#include "atomics.h"
#include "sim_data.h"

PSVI_HD const psvi_kept_contact *psvi_find_kept(const psvi_sim *s, uint32_t a, uint32_t b) {
    uint64_t key = psvi_contact_key(a, b), mask = s->counts->kept_mask;
    for (uint64_t place = psvi_mix64(key) & mask;; place = (place + 1) & mask) {
        uint64_t there = s->kept[place].key;
        if (there == key) return &s->kept[place];
        if (there == 0) return 0;
    }
}

// Impulse of the last step for a point, by its feature.
PSVI_HD bool psvi_kept_impulse(const psvi_sim *s, const psvi_kept_contact *kept, uint32_t feature, float impulse[3]) {
    uint32_t count = kept->count_colour & 0xffu;
    for (uint32_t i = 0; i < count; ++i) {
        const psvi_kept_point *p = &s->kept_points[kept->first + i];
        if (p->feature != feature) continue;
        impulse[0] = p->impulse[0];
        impulse[1] = p->impulse[1];
        impulse[2] = p->impulse[2];
        return true;
    }
    return false;
}

// Mask of a table for `count` contacts: it stays at most half full, and no larger than it has to be, for the caches.
PSVI_HD uint64_t psvi_kept_mask(uint64_t count) {
    uint64_t places = 2;
    while (places < 2 * count)
        places *= 2;
    return places - 1;
}

// Enters a contact, whose points are kept from c->first on. The table's first counts->kept_mask + 1 places were
// cleared.
PSVI_HD void psvi_keep_key(const psvi_sim *s, const psvi_contact *c) {
    uint64_t key = psvi_contact_key(c->a, c->b);
    uint64_t mask = s->counts->kept_mask, place = psvi_mix64(key) & mask;
    while (psvi_claim_slot(&s->kept[place].key, key) != 0)
        place = (place + 1) & mask;
    s->kept[place].first = c->first;
    s->kept[place].count_colour = c->count | c->colour << 8;
}

// Keeps a contact for the next step.
PSVI_HD void psvi_keep_contact(const psvi_sim *s, const psvi_contact *c, const psvi_point *lead) {
    for (uint32_t i = 0; i < c->count; ++i) {
        const psvi_point *p = i == 0 ? lead : &s->points[c->first + i];
        psvi_kept_point *k = &s->kept_points[c->first + i];
        k->feature = p->feature;
        k->impulse[0] = p->impulse.x;
        k->impulse[1] = p->impulse.y;
        k->impulse[2] = p->impulse.z;
    }
    psvi_keep_key(s, c);
}

#endif
