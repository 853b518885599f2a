// Contacts of one colour, eight at a time in vectors: a lane each. Contacts of a colour share no moving body, so what
// is gathered for one lane is not written by another. What found no colour has blocks of one contact, which are solved
// one after another.
#ifndef PAIRSIEVE_ROW_BLOCKS_H
#define PAIRSIEVE_ROW_BLOCKS_H

#include "../solver/solver_bodies.h"
#include "../solver/solver_pass.h"
#include "sim_cpu.h"

// Of contacts of balls: row_ball.
typedef struct psvi_ball_rows {
    float separation[PSVI_BLOCK_LANES], mass[PSVI_BLOCK_LANES], hold[PSVI_BLOCK_LANES];
    float arm_a[PSVI_BLOCK_LANES], arm_b[PSVI_BLOCK_LANES]; // distances of the point from the centres
    float impulse[3][PSVI_BLOCK_LANES];
    float hit[PSVI_BLOCK_LANES];
} psvi_ball_rows;

// A point of any contact; 0 where a lane has fewer points.
typedef struct psvi_point_rows {
    float normal[3][PSVI_BLOCK_LANES];
    float spins[6][PSVI_BLOCK_LANES];
    float separation[PSVI_BLOCK_LANES], mass[PSVI_BLOCK_LANES], impulse[PSVI_BLOCK_LANES];
    float hit[PSVI_BLOCK_LANES];
} psvi_point_rows;

// Friction of a patch; a single point has what comes before `about` only.
typedef struct psvi_rub_rows {
    float t1[6][PSVI_BLOCK_LANES], t2[6][PSVI_BLOCK_LANES];
    float hold[PSVI_BLOCK_LANES], impulse[3][PSVI_BLOCK_LANES];
    float about[6][PSVI_BLOCK_LANES];
    float hold_twist[PSVI_BLOCK_LANES], slip[PSVI_BLOCK_LANES], slip_twist[PSVI_BLOCK_LANES];
    float per_lever[PSVI_BLOCK_LANES];
    float x[4][PSVI_BLOCK_LANES], y[4][PSVI_BLOCK_LANES]; // row_slide
} psvi_rub_rows;

// Rolling friction: row_roll.
typedef struct psvi_roll_rows {
    float normal[3][PSVI_BLOCK_LANES];
    float t1[6][PSVI_BLOCK_LANES], t2[6][PSVI_BLOCK_LANES], about[6][PSVI_BLOCK_LANES];
    float mass[PSVI_BLOCK_LANES], about_mass[PSVI_BLOCK_LANES];
    float rolling[PSVI_BLOCK_LANES], spinning[PSVI_BLOCK_LANES];
    float impulse[3][PSVI_BLOCK_LANES]; // about the tangents and the normal
} psvi_roll_rows;

// Element k of every array belongs to lane k. Lanes past `count` repeat the first lane's bodies and are not written.
// Behind the block lie its rows: those of balls, or points, then frictions; then those of rolling friction.
typedef struct psvi_row_block {
    _Alignas(64) uint32_t a[PSVI_BLOCK_LANES], b[PSVI_BLOCK_LANES];
    float normal[3][PSVI_BLOCK_LANES]; // of balls and whole contacts
    float friction[PSVI_BLOCK_LANES], restitution[PSVI_BLOCK_LANES], pending[PSVI_BLOCK_LANES];
    float deep[PSVI_BLOCK_LANES], push_speed[PSVI_BLOCK_LANES];
    uint32_t first[PSVI_BLOCK_LANES]; // place of a contact's first point
    uint8_t point_count[PSVI_BLOCK_LANES];
    uint8_t kind, points;          // psvi_contact_kind; most points of a lane
    uint8_t moves_a, moves_b;      // a bit a lane
    bool turns, bounces, rolls;    // some lane does
    uint32_t start, count, colour; // contacts [start, +count) of the list by colour
    psvi_ball_rows *ball;
    psvi_point_rows *point;
    psvi_rub_rows *rub;
    psvi_roll_rows *roll; // NULL where none is looked at
} psvi_row_block;

// Bytes of a block and its rows, a multiple of 64.
uint64_t psvi_row_block_bytes(psvi_contact_kind kind, uint32_t points, bool rolls);

// Sets a block up at `memory`.
psvi_row_block *psvi_begin_row_block(void *memory, psvi_contact_kind kind, uint32_t points, bool rolls);

// Fills a block, of which start, count and colour are set, from the list of contacts by colour.
void psvi_fill_row_block(const psvi_sim *s, const psvi_step *step, const psvi_movers *movers, const psvi_root *roots,
                         const uint32_t *list, psvi_row_block *block);

// Runs a pass over blocks of one colour and kind.
void psvi_solve_row_blocks(const psvi_movers *movers, const psvi_step *step, psvi_row_block *const *blocks,
                           uint64_t count, psvi_pass pass);

// The hits of a block's contacts, before the pass over it.
void psvi_hit_row_block(const psvi_movers *movers, const psvi_step *step, psvi_row_block *block, psvi_pass pass);

// Keeps the impulses of a block's contacts for the next step.
void psvi_keep_row_block(const psvi_sim *s, const psvi_row_block *block);

#endif
