// Contacts of the last step by pair of bodies: an open-addressing hash table. A contact's first places are a group that
// belongs to the slot of its first body. So bodies near each other in memory share lines. A body of many contacts goes
// on anywhere, by steps of its own, for groups in a row may be full, as where a heap begins to touch the ground. What a
// look-up finds does not depend on the order of insertion, so the table may be filled by any number of threads.
#ifndef PAIRSIEVE_CONTACT_KEPT_H
#define PAIRSIEVE_CONTACT_KEPT_H

#include "../data/atomics.h"
#include "../data/sim_data.h"
#include "narrow_shapes.h"

#define PSVI_KEPT_GROUP 8u        // places of 16 bytes
#define PSVI_KEPT_GONE UINT64_MAX // the key of a contact that was forgotten, which no pair has: look-ups go on past it

// The place to look at in turn `turn`.
PSVI_HD uint64_t psvi_kept_place(uint32_t a, uint64_t mixed, uint32_t turn, uint64_t mask, uint64_t scale) {
    if (turn >= PSVI_KEPT_GROUP) return (mixed + turn * (mixed >> 32 | 1)) & mask; // an odd step comes to every place
    uint64_t group = (uint64_t)a * scale >> 32;
    return (group * PSVI_KEPT_GROUP + ((mixed + turn) & (PSVI_KEPT_GROUP - 1))) & mask;
}

// Scale for a table of this mask and bodies in `slots` slots.
PSVI_HD uint64_t psvi_kept_scale(uint64_t mask, uint32_t slots) {
    return slots > 0 ? ((mask + 1) / PSVI_KEPT_GROUP << 32) / slots : 0;
}

PSVI_HD const psvi_kept_contact *psvi_find_kept(const psvi_sim *s, uint32_t a, uint32_t b) {
    uint64_t key = psvi_contact_key(a, b), mask = s->counts->kept_mask, scale = s->counts->kept_scale;
    uint64_t mixed = psvi_mix64(key);
    for (uint32_t turn = 0;; ++turn) {
        const psvi_kept_contact *kept = &s->kept[psvi_kept_place(a, mixed, turn, mask, scale)];
        if (kept->key == key) return kept;
        if (kept->key == 0) return 0;
    }
}

// Forgets the contact at a place if the slot of one of its bodies is marked in `claim`: another body has it now.
PSVI_HD void psvi_forget_kept(const psvi_sim *s, uint64_t place) {
    uint64_t key = s->kept[place].key, pair = key - 1;
    if (key == 0 || key == PSVI_KEPT_GONE) return;
    if (s->claim[pair >> 32] != 0 || s->claim[pair & UINT32_MAX] != 0) s->kept[place].key = PSVI_KEPT_GONE;
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

// The low bits of a feature tell the points between two faces apart, the others name the faces (or the solids).
PSVI_HD bool psvi_same_faces(uint32_t feature, uint32_t other) { return (feature ^ other) >> 6 == 0; }

// Impulse for a point of `found` whose feature is new: an equal share of what the features of the same two faces
// carried that are gone. Corners that lie on each other's edges change their features from step to step; without this a
// stack of equal boxes would lose its support point by point.
PSVI_HD void psvi_share_impulse(const psvi_sim *s, const psvi_kept_contact *kept, const psvi_found *found,
                                uint32_t count, uint32_t feature, float impulse[3]) {
    uint32_t before = kept->count_colour & 0xffu, sharers = 0;
    float total[3] = {0, 0, 0}, unused[3];
    for (uint32_t i = 0; i < before; ++i) {
        const psvi_kept_point *p = &s->kept_points[kept->first + i];
        bool gone = psvi_same_faces(p->feature, feature);
        for (uint32_t k = 0; k < count && gone; ++k)
            gone = found[k].feature != p->feature;
        for (uint32_t k = 0; k < 3 && gone; ++k)
            total[k] += p->impulse[k];
    }
    for (uint32_t k = 0; k < count; ++k)
        if (psvi_same_faces(found[k].feature, feature) && !psvi_kept_impulse(s, kept, found[k].feature, unused))
            ++sharers; // at least the point itself
    for (uint32_t k = 0; k < 3; ++k)
        impulse[k] = total[k] / (float)sharers;
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
    uint64_t key = psvi_contact_key(c->a, c->b), mask = s->counts->kept_mask, scale = s->counts->kept_scale;
    uint64_t mixed = psvi_mix64(key);
    uint32_t turn = 0;
    psvi_kept_contact *kept = &s->kept[psvi_kept_place(c->a, mixed, 0, mask, scale)];
    while (psvi_claim_slot(&kept->key, key) != 0)
        kept = &s->kept[psvi_kept_place(c->a, mixed, ++turn, mask, scale)];
    kept->first = c->first;
    kept->count_colour = c->count | c->colour << 8;
}

#endif
