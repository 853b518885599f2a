// Contacts of one colour, eight at a time in vectors. Contacts of a colour share no moving body, so what is gathered
// for one lane is not written by another. Only contacts with one point between bodies that turn like balls, or do not
// turn, are put in blocks: spheres, particles, and both on the ground.
#ifndef PAIRSIEVE_CONTACT_BLOCKS_H
#define PAIRSIEVE_CONTACT_BLOCKS_H

#include "../solver/contact_solver.h"
#include "sim_cpu.h"

// Element k of every array belongs to lane k. Lanes past `count` repeat the first lane's bodies and are not written.
// What every pass reads comes first and in whole lines of the cache.
typedef struct psvi_contact_block {
    _Alignas(64) float normal[3][PSVI_BLOCK_LANES];
    float separation_now[PSVI_BLOCK_LANES];                       // after the move
    float radius_a[PSVI_BLOCK_LANES], radius_b[PSVI_BLOCK_LANES]; // from the centres to the point
    float normal_mass[PSVI_BLOCK_LANES], tangent_mass[PSVI_BLOCK_LANES];
    float friction[PSVI_BLOCK_LANES];
    float impulse[3][PSVI_BLOCK_LANES];
    uint32_t a[PSVI_BLOCK_LANES], b[PSVI_BLOCK_LANES];
    uint8_t moves_a, moves_b, turns_a, turns_b; // a bit a lane
    bool bounces;                               // some lane has restitution
    uint32_t start, count, colour;              // contacts [start, +count) of the list by colour
    float separation[PSVI_BLOCK_LANES];         // at the step's beginning
    float restitution[PSVI_BLOCK_LANES];
    float hit[PSVI_BLOCK_LANES], pending[PSVI_BLOCK_LANES]; // impulse of a hit, and the share of it that is to come
    uint32_t first[PSVI_BLOCK_LANES], feature[PSVI_BLOCK_LANES];
} psvi_contact_block;

static inline bool psvi_fits_block(const psvi_contact *c) { return c->count == 1 && c->turning != PSVI_TURN_ANY; }

// Fills a block, of which start and count are set, from the list of contacts by colour.
void psvi_fill_block(const psvi_sim *s, const psvi_step *step, const uint32_t *list, psvi_contact_block *block);

// Runs a pass over blocks [first, last), which are of one colour.
void psvi_solve_blocks(const psvi_sim *s, const psvi_step *step, psvi_contact_block *blocks, uint64_t first,
                       uint64_t last, psvi_pass pass);

// Keeps the impulses of a block's contacts for the next step.
void psvi_keep_block(const psvi_sim *s, const psvi_contact_block *block);

#endif
