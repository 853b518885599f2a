// A world's step on the CPU: loops over bodies, pairs and contacts around the functions that CUDA uses too. A loop
// writes either to its own element or by operations whose outcome does not depend on their order. So the result is the
// same for any number of threads.
#include "sim_cpu.h"
#include "../../core/cpu/workers.h"
#include "../contacts/contact_events.h"
#include "../contacts/contact_kept.h"
#include "../contacts/narrow.h"
#include "../queries/body_batch.h"
#include "../queries/body_queries.h"
#include "../solver/body_motion.h"
#include "../solver/contact_roll.h"
#include "../solver/sleeper_hits.h"
#include "../world/world.h"
#include "awake_list.h"
#include "moved_boxes.h"
#include "row_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Items that a worker takes at a time; so many alone are faster on one thread.
#define BODIES 1024
#define PAIRS 64
#define CONTACTS 1024

// Fewer are solved faster on one thread.
#define PARALLEL_BODIES 2048
#define PARALLEL_CONTACTS 1024
#define PIECE_BLOCKS 32 // that are filled or kept

// Blocks of a piece of a colour: some 5 microseconds, or sharing them out takes longer than they do.
static const uint32_t piece_blocks[PSVI_KINDS] = {64, 24, 12, 16, 8, 24};

#define COLOURS (PSVI_COLOURS + 1) // with the rest

typedef struct cpu_state {
    psvi_awake_list awake;
    psvi_moved_boxes moved;
    psvi_movers movers;
    psvi_root *roots;        // of the inverse inertias, by body
    psvi_row_block **blocks; // of all colours
    char *rows;              // where they lie
    uint64_t block_room, rows_room;
    uint32_t block_first[COLOURS * PSVI_KINDS + 1]; // by colour and kind
} cpu_state;

#define BODY_BYTES (PSVI_MOVER_BYTES + sizeof(psvi_root) + PSVI_AWAKE_BYTES)

static uint64_t body_bytes(uint64_t bodies) { return psvi_align(bodies * BODY_BYTES) + psvi_moved_bytes(bodies); }

// Each colour fills up the last block of each kind.
static uint64_t blocks_for(uint64_t contacts) { return contacts / PSVI_BLOCK_LANES + COLOURS * PSVI_KINDS; }

// Of points that rub alone, which take most.
static uint64_t rows_for(uint64_t contacts, uint64_t points) {
    const uint64_t head = psvi_row_block_bytes(PSVI_KIND_POINTS, 0, false);
    const uint64_t each = psvi_row_block_bytes(PSVI_KIND_POINTS, 1, false) - head;
    return blocks_for(contacts) * head + (points / PSVI_BLOCK_LANES + (uint64_t)COLOURS * 2 * PSVI_MAX_POINTS) * each;
}

static uint64_t cpu_own_bytes(uint64_t bodies, uint64_t contacts, uint64_t points) {
    return body_bytes(bodies) + blocks_for(contacts) * sizeof(psvi_row_block *) + rows_for(contacts, points);
}

static psv_status cpu_create(psv_world *world) {
    cpu_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %zu bytes of a world's state",
                         sizeof *state);
    world->state = state;
    const uint64_t bodies = world->def.max_bodies, bytes = body_bytes(bodies);
    state->movers.motion = psvi_alloc(world->context, bytes);
    if (state->movers.motion == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of velocities", bytes);
    state->movers.pushed = state->movers.motion + bodies;
    state->movers.moved = (psvi_f4 *)(void *)(state->movers.pushed + bodies);
    state->movers.turned = state->movers.moved + bodies;
    state->movers.swing = state->movers.turned + bodies;
    state->roots = (psvi_root *)(void *)(state->movers.swing + bodies);
    psvi_begin_awake_list(&state->awake, state->roots + bodies, bodies);
    state->moved.slots = (uint32_t *)(void *)((char *)state->movers.motion + psvi_align(bodies * BODY_BYTES));
    return PSV_OK;
}

static void free_blocks(psv_world *world) {
    cpu_state *state = world->state;
    psvi_free(world->context, state->blocks, state->block_room * sizeof *state->blocks);
    psvi_free(world->context, state->rows, state->rows_room);
    state->blocks = NULL;
    state->rows = NULL;
    state->block_room = state->rows_room = 0;
}

static void cpu_destroy(psv_world *world) {
    cpu_state *state = world->state;
    free_blocks(world);
    psvi_free(world->context, state->movers.motion, body_bytes(world->def.max_bodies));
    free(state);
    world->state = NULL;
}

// Room for blocks and their rows, which nothing is in.
static psv_status make_blocks(psv_world *world, uint64_t blocks, uint64_t bytes) {
    cpu_state *state = world->state;
    if (blocks == state->block_room && bytes == state->rows_room) return PSV_OK;
    free_blocks(world);
    state->blocks = psvi_alloc(world->context, blocks * sizeof *state->blocks);
    state->rows = psvi_alloc(world->context, bytes);
    state->block_room = blocks;
    state->rows_room = bytes;
    if (state->blocks != NULL && state->rows != NULL) return PSV_OK;
    free_blocks(world);
    return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of contacts", bytes);
}

// Contacts are put in the order of their bodies, so that colours do not depend on which thread found them first.
static psv_status cpu_make_sorter(psv_world *world) {
    const psvi_sim *s = &world->sim;
    psv_status made =
        make_blocks(world, blocks_for(s->contact_capacity), rows_for(s->contact_capacity, s->point_capacity));
    if (made != PSV_OK) return made;
    psv_sorter_def def = psv_default_sorter_def();
    def.method = psv_pair_sorter_name(world->sort_method);
    def.key_type = PSV_KEY_U64;
    def.value_bytes = 4;
    def.max_count = world->sim.contact_capacity;
    psv_status status = psv_create_sorter(world->context, &def, &world->sorter);
    if (status != PSV_ERROR_UNSUPPORTED) return status;
    def.method = "qsort"; // a method without 64-bit keys still serves the broad phase
    return psv_create_sorter(world->context, &def, &world->sorter);
}

// What the loops know.
typedef struct sim_loop {
    const psvi_sim *sim;
    const psvi_step *step;
    cpu_state *state;
    const uint32_t *slots; // of the bodies that are awake
    const psvi_batch *batch;
} sim_loop;

static sim_loop loop_of(psv_world *world, const psvi_step *step) {
    cpu_state *state = world->state;
    return (sim_loop){.sim = &world->sim, .step = step, .state = state, .slots = state->awake.slots};
}

// Body k of the list, or of those at rest that are to be looked at.
static void begin_bodies(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t k = first; k < end; ++k)
        psvi_begin_body(loop->sim, loop->step, loop->slots[k]);
}

// A loop over the bodies that are awake, and over those at rest that have come to it or were changed.
static void run_looked_at(psv_world *world, const psvi_step *step, psvi_range_task *task) {
    const cpu_state *state = world->state;
    sim_loop loop = loop_of(world, step);
    psvi_run_ranges(world->context, state->awake.count, BODIES, task, &loop);
    loop.slots = psvi_settling(&state->awake);
    psvi_run_ranges(world->context, state->awake.settling, BODIES, task, &loop);
}

static psv_status cpu_begin(psv_world *world, const psvi_step *step) {
    cpu_state *state = world->state;
    psvi_list_awake(&state->awake, &world->sim);
    run_looked_at(world, step, begin_bodies);
    return PSV_OK;
}

static void cpu_pair_boxes(psv_world *world, psv_box_set *boxes) {
    cpu_state *state = world->state;
    psvi_name_moved_boxes(&state->moved, &state->awake, &world->sim, boxes);
}

static void cpu_touch(psv_world *world, uint64_t first, uint64_t count) {
    cpu_state *state = world->state;
    psvi_touch_awake_list(&state->awake, first, count);
}

static void attract_bodies(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    const psvi_step *step = loop->step;
    for (uint64_t i = first; i < end; ++i) {
        psvi_f4 p = s->position[i];
        float x = 0, y = 0, z = 0;
        for (uint64_t j = 0; j < s->slots; ++j) {
            float dx = s->position[j].x - p.x, dy = s->position[j].y - p.y, dz = s->position[j].z - p.z;
            float squared = dx * dx + dy * dy + dz * dz + step->softening_squared;
            float scale = s->acceleration[j].w / (squared * sqrtf(squared)); // w: mass
            x += dx * scale;
            y += dy * scale;
            z += dz * scale;
        }
        s->acceleration[i].x = x * step->self_gravity;
        s->acceleration[i].y = y * step->self_gravity;
        s->acceleration[i].z = z * step->self_gravity;
    }
}

static psv_status cpu_attract(psv_world *world, const psvi_step *step) {
    sim_loop loop = loop_of(world, step);
    psvi_run_ranges(world->context, world->sim.slots, 64, attract_bodies, &loop);
    return PSV_OK;
}

static void narrow_pairs(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    for (uint64_t i = first; i < end; ++i) {
        uint32_t a = s->pairs[i].a, b = s->pairs[i].b;
        if (psvi_pair_is_round(s, a, b))
            psvi_narrow_round_pair(s, loop->step, a, b);
        else if (!psvi_keep_points(s, loop->step, a, b) && psvi_narrow_other_pair(s, loop->step, a, b, true))
            psvi_follow_pair(s, loop->step, a, b, false, true);
    }
}

// Body k of the list; of all bodies, where there is no list.
static void narrow_ground(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t k = first; k < end; ++k) {
        const uint32_t i = loop->slots == NULL ? (uint32_t)k : loop->slots[k];
        psvi_narrow_ground(loop->sim, loop->step, i, true, true);
        psvi_narrow_ground(loop->sim, loop->step, i, false, true);
    }
}

// Ground that moves wakes sleepers.
static bool ground_drives(const psvi_sim *s) {
    bool drives = false;
    for (uint32_t i = 0; i < s->ground.first[s->ground.worlds]; ++i)
        drives = drives || psvi_drives(s, s->ground.slots[i]);
    return drives;
}

static void find_hits(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_find_hit(loop->sim, loop->step, i);
}

static psv_status cpu_narrow(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    const cpu_state *state = world->state;
    sim_loop loop = loop_of(world, step);
    if (state->awake.wakes) memset(s->wake, 0, s->slots); // bodies have woken
    s->counts->contacts = s->counts->points = 0;
    s->counts->hits = 0;
    s->counts->pairs = *s->pair_count;
    psvi_run_ranges(world->context, *s->pair_count, PAIRS, narrow_pairs, &loop);
    if (s->ground.first[s->ground.worlds] > 0) { // else no ground anywhere
        s->counts->ground_drives = s->island != NULL && world->driven_ground && ground_drives(s);
        if (s->counts->ground_drives != 0) loop.slots = NULL;
        psvi_run_ranges(world->context, loop.slots == NULL ? s->slots : state->awake.count, 256, narrow_ground, &loop);
    }
    const bool fits = s->counts->contacts <= s->contact_capacity && s->counts->points <= s->point_capacity;
    if (s->island != NULL && fits) psvi_run_ranges(world->context, s->counts->contacts, CONTACTS, find_hits, &loop);
    return PSV_OK;
}

// The first colour that the moving bodies of a contact have free; PSVI_COLOUR_REST when there is none.
static uint32_t take_colour(const psvi_sim *s, const psvi_contact *c) {
    bool a = psvi_may_move(s, c->a), b = psvi_may_move(s, c->b);
    uint32_t taken = (a ? s->colour_mask[c->a] : 0) | (b ? s->colour_mask[c->b] : 0);
    uint32_t colour = (uint32_t)__builtin_ctz(~taken);
    if (colour >= PSVI_COLOURS) return PSVI_COLOUR_REST;
    if (a) s->colour_mask[c->a] |= 1u << colour;
    if (b) s->colour_mask[c->b] |= 1u << colour;
    return colour;
}

// Bins of the contacts in the order in which they are solved: by colour, kind and falling count of points.
#define BINS (COLOURS * PSVI_KINDS * PSVI_MAX_POINTS)
static uint32_t bin_of(const psvi_sim *s, const psvi_step *step, const psvi_contact *c) {
    return (c->colour * PSVI_KINDS + psvi_kind_of(s, step, c)) * PSVI_MAX_POINTS + PSVI_MAX_POINTS - c->count;
}

// Gives a colour to each contact that has none from the last step, by falling strength. Strength is a number that only
// the pair determines. So the colours do not depend on the order of contacts, and CUDA finds the same ones
// (colour_kernels.cu).
static psv_status colour_contacts(psv_world *world) {
    const psvi_sim *s = &world->sim;
    const uint32_t count = (uint32_t)s->counts->contacts;
    uint32_t *fresh = s->order + s->contact_capacity, fresh_count = 0; // the second half of `order`
    for (uint32_t i = 0; i < count; ++i) {
        const psvi_contact *c = &s->contacts[i];
        if (c->colour != PSVI_COLOUR_NONE) continue;
        s->keys[fresh_count] = ~psvi_mix64(psvi_contact_key(c->a, c->b));
        fresh[fresh_count++] = i;
    }
    if (fresh_count == 0) return PSV_OK;
    const psv_status status = psv_sort_pairs(world->sorter, psv_buffer_of(s->keys, fresh_count * sizeof(uint64_t)),
                                             psv_buffer_of(fresh, fresh_count * sizeof(uint32_t)), fresh_count);
    for (uint32_t i = 0; i < fresh_count && status == PSV_OK; ++i)
        s->contacts[fresh[i]].colour = take_colour(s, &s->contacts[fresh[i]]);
    return status;
}

// Lists the contacts by their bins. `places`, BINS + 1: where each bin begins.
static void list_contacts(const psvi_sim *s, const psvi_step *step, uint32_t *places) {
    const uint32_t count = (uint32_t)s->counts->contacts;
    memset(places, 0, (BINS + 1) * sizeof *places);
    for (uint32_t i = 0; i < count; ++i)
        ++places[bin_of(s, step, &s->contacts[s->order[i]]) + 1];
    for (uint32_t k = 1; k <= BINS; ++k)
        places[k] += places[k - 1];
    uint32_t *by_colour = s->order + s->contact_capacity; // the second half of `order`
    for (uint32_t i = 0; i < count; ++i)
        by_colour[places[bin_of(s, step, &s->contacts[s->order[i]])]++] = s->order[i];
    memmove(places + 1, places, BINS * sizeof *places); // each has come to the next one's beginning
    places[0] = 0;
    for (uint32_t i = 0; i < count && s->island != NULL; ++i) // a step begins at those that are awake only
        s->colour_mask[s->contacts[i].a] = s->colour_mask[s->contacts[i].b] = 0;
}

// A row of contacts that are cut into blocks.
typedef struct block_row {
    uint32_t start, end, lanes;
    uint32_t colour;
    psvi_contact_kind kind;
} block_row;

static block_row block_row_of(const uint32_t *places, uint32_t row) {
    const uint32_t colour = row / PSVI_KINDS;
    return (block_row){.start = places[row * PSVI_MAX_POINTS],
                       .end = places[(row + 1) * PSVI_MAX_POINTS],
                       .lanes = colour == PSVI_COLOUR_REST ? 1 : PSVI_BLOCK_LANES,
                       .colour = colour,
                       .kind = (psvi_contact_kind)(row % PSVI_KINDS)};
}

static uint32_t points_at(const psvi_sim *s, uint32_t place) {
    return s->contacts[(s->order + s->contact_capacity)[place]].count;
}

// Cuts the contacts into blocks: their first has most points. Without `state` only counts them, and their bytes.
static uint64_t cut_blocks(const psvi_sim *s, const uint32_t *places, cpu_state *state, uint64_t *bytes) {
    uint64_t blocks = 0;
    *bytes = 0;
    for (uint32_t row = 0; row < COLOURS * PSVI_KINDS; ++row) {
        const block_row r = block_row_of(places, row);
        if (state != NULL) state->block_first[row] = (uint32_t)blocks;
        for (uint32_t at = r.start; at < r.end; at += r.lanes, ++blocks) {
            const uint32_t points = points_at(s, at);
            if (state != NULL) {
                psvi_row_block *block = psvi_begin_row_block(state->rows + *bytes, r.kind, points, s->rolls != NULL);
                block->start = at;
                block->count = r.end - at < r.lanes ? r.end - at : r.lanes;
                block->colour = r.colour;
                state->blocks[blocks] = block;
            }
            *bytes += psvi_row_block_bytes(r.kind, points, s->rolls != NULL);
        }
    }
    if (state != NULL) state->block_first[COLOURS * PSVI_KINDS] = (uint32_t)blocks;
    return blocks;
}

// What takes more room than is there, as many contacts of one body do, gets it.
static psv_status lay_out_blocks(psv_world *world, const uint32_t *places) {
    cpu_state *state = world->state;
    uint64_t bytes, blocks = cut_blocks(&world->sim, places, NULL, &bytes);
    if (blocks > state->block_room || bytes > state->rows_room) {
        const uint64_t most_blocks = blocks > state->block_room ? blocks + blocks / 4 : state->block_room;
        psv_status status =
            make_blocks(world, most_blocks, bytes > state->rows_room ? bytes + bytes / 4 : state->rows_room);
        if (status != PSV_OK) return status;
    }
    (void)cut_blocks(&world->sim, places, state, &bytes);
    return PSV_OK;
}

static void start_bodies(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t k = first; k < end; ++k) {
        const uint32_t i = loop->slots[k];
        loop->state->roots[i] = psvi_start_mover(loop->sim, &loop->state->movers, loop->step, i);
    }
}

static void fill_blocks(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    for (uint64_t k = first; k < end; ++k)
        psvi_fill_row_block(s, loop->step, &loop->state->movers, loop->state->roots, s->order + s->contact_capacity,
                            loop->state->blocks[k]);
}

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

// What the stages of a solve know.
typedef struct solve_job {
    const psvi_sim *sim;
    const cpu_state *state;
    const psvi_step *step;
    psvi_crew *crew;
    psvi_pass pass;
    uint32_t colour, pieces[PSVI_KINDS]; // of the colour
    bool backward;                       // colours, in the pass that undoes overlap
} solve_job;

static void solve_blocks(const solve_job *job, uint32_t row, uint64_t first, uint64_t most) {
    const cpu_state *state = job->state;
    const uint64_t begin = state->block_first[row] + first, end = state->block_first[row + 1];
    if (begin < end)
        psvi_solve_row_blocks(&state->movers, job->step, state->blocks + begin, lesser(most, end - begin), job->pass);
}

// A piece of a colour: some of its blocks of one kind.
static void solve_piece(void *data, uint32_t piece) {
    const solve_job *job = data;
    uint32_t kind = 0;
    for (; piece >= job->pieces[kind]; ++kind)
        piece -= job->pieces[kind];
    solve_blocks(job, job->colour * PSVI_KINDS + kind, (uint64_t)piece * piece_blocks[kind], piece_blocks[kind]);
}

// Colour by colour; the rest, which shares bodies, stays on one thread. The pass after the move goes back through the
// colours, and from substep to substep the directions change. With colours by the order of contacts, one direction fed
// a sway: a pyramid of 20 layers swung at 0.08 m/s for ever. Colours by a hash have not been tried without the change.
static void run_pass(solve_job *job, psvi_pass pass) {
    const uint32_t *first = job->state->block_first;
    const bool backward = job->step->loads && job->backward != (pass == PSVI_PASS_RELAX);
    job->pass = pass;
    for (uint32_t i = 0; i < PSVI_COLOURS; ++i) {
        uint32_t pieces = 0;
        job->colour = backward ? PSVI_COLOURS - 1 - i : i;
        for (uint32_t kind = 0; kind < PSVI_KINDS; ++kind) {
            const uint32_t row = job->colour * PSVI_KINDS + kind;
            job->pieces[kind] = (uint32_t)psvi_loop_pieces(first[row + 1] - first[row], piece_blocks[kind]);
            pieces += job->pieces[kind];
        }
        psvi_run_stage(job->crew, pieces, solve_piece, job);
    }
    for (uint32_t kind = 0; kind < PSVI_KINDS; ++kind)
        solve_blocks(job, PSVI_COLOUR_REST * PSVI_KINDS + kind, 0, UINT32_MAX);
}

// Bodies of a piece of a stage.
static uint64_t bodies_end(const solve_job *job, uint32_t piece) {
    return lesser(((uint64_t)piece + 1) * BODIES, job->state->awake.count);
}

// (The copies stay in registers: what the loops write might be what the originals point to.)
static void push_bodies(void *data, uint32_t piece) {
    const solve_job *job = data;
    const psvi_movers movers = job->state->movers;
    const psvi_step step = *job->step;
    const psvi_sim *s = job->sim;
    const uint32_t *slots = job->state->awake.slots;
    const uint64_t first = (uint64_t)piece * BODIES, end = bodies_end(job, piece);
    for (uint64_t b = first; b < end && step.loads; ++b)
        psvi_push_mover(s, &movers, &step, true, true, slots[b]);
    for (uint64_t b = first; b < end && !step.loads; ++b)
        psvi_push_mover(s, &movers, &step, false, true, slots[b]);
}

static void move_bodies(void *data, uint32_t piece) {
    const solve_job *job = data;
    const psvi_movers movers = job->state->movers;
    const psvi_sim s = *job->sim;
    const uint32_t *slots = job->state->awake.slots;
    const uint64_t first = (uint64_t)piece * BODIES, end = bodies_end(job, piece);
    for (uint64_t b = first; b < end && job->step->loads; ++b)
        psvi_move_mover(&s, &movers, job->step, true, slots[b]);
    for (uint64_t b = first; b < end && !job->step->loads; ++b)
        psvi_move_mover(&s, &movers, job->step, false, slots[b]);
}

static void stop_bodies(void *data, uint32_t piece) {
    const solve_job *job = data;
    const uint32_t *slots = job->state->awake.slots;
    for (uint64_t b = (uint64_t)piece * BODIES; b < bodies_end(job, piece); ++b)
        psvi_stop_mover(job->sim, &job->state->movers, job->step, true, slots[b]);
}

static void solve_substeps(psvi_crew *crew, void *data) {
    solve_job *job = data;
    const psvi_step *step = job->step;
    const uint32_t body_pieces = (uint32_t)psvi_loop_pieces(job->state->awake.count, BODIES);
    job->crew = crew;
    for (uint32_t i = 0; i < step->substeps; ++i) {
        job->backward = ((job->sim->counts->steps * step->substeps + i) & 1) != 0;
        if (i > 0) psvi_run_stage(crew, body_pieces, push_bodies, job);
        if (i == 0) run_pass(job, PSVI_PASS_WARM);
        run_pass(job, PSVI_PASS_SOLVE);
        psvi_run_stage(crew, body_pieces, move_bodies, job);
        run_pass(job, PSVI_PASS_RELAX);
        if (!step->loads) run_pass(job, PSVI_PASS_AGAIN);
    }
    psvi_run_stage(crew, body_pieces, stop_bodies, job);
}

static psv_status cpu_solve(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    cpu_state *state = world->state;
    sim_loop loop = loop_of(world, step);
    uint64_t contacts = s->counts->contacts;
    uint32_t places[BINS + 1];
    psv_status status = psv_sort_pairs(world->sorter, psv_buffer_of(s->keys, contacts * sizeof(uint64_t)),
                                       psv_buffer_of(s->order, contacts * sizeof(uint32_t)), contacts);
    if (status == PSV_OK) status = colour_contacts(world);
    if (status != PSV_OK) return status;
    list_contacts(s, step, places);
    status = lay_out_blocks(world, places);
    if (status != PSV_OK) return status;
    s->counts->colours = 0;
    for (uint32_t k = 0; k < COLOURS; ++k)
        if (state->block_first[(k + 1) * PSVI_KINDS] > state->block_first[k * PSVI_KINDS]) s->counts->colours = k + 1;
    run_looked_at(world, step, start_bodies);
    psvi_run_ranges(world->context, state->block_first[COLOURS * PSVI_KINDS], PIECE_BLOCKS, fill_blocks, &loop);
    const bool worth = state->awake.count >= PARALLEL_BODIES || contacts >= PARALLEL_CONTACTS;
    solve_job job = {.sim = s, .state = state, .step = step};
    psvi_run_crew(world->context, worth ? psvi_workers_for(world->context, UINT32_MAX) : 1, solve_substeps, &job);
    return PSV_OK;
}

static void end_bodies(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t k = first; k < end; ++k)
        psvi_end_body(loop->sim, loop->step, loop->slots[k]);
}

static void keep_blocks(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_keep_row_block(loop->sim, loop->state->blocks[i]);
}

static psv_status cpu_finish(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    cpu_state *state = world->state;
    sim_loop loop = loop_of(world, step);
    const uint64_t lost = s->counts->lost;
    psvi_run_ranges(world->context, state->awake.count, BODIES, end_bodies, &loop);
    if (state->awake.wakes) memset(s->busy, 0, s->slots);
    psvi_forget_hits(s->counts);
    psvi_settle_awake_list(&state->awake, s->counts->lost != lost);
    s->counts->kept_mask = psvi_kept_mask(s->counts->contacts);
    s->counts->kept_scale = psvi_kept_scale(s->counts->kept_mask, s->slots);
    s->counts->points_kept = s->counts->points;
    memset(s->kept, 0, (s->counts->kept_mask + 1) * sizeof *s->kept);
    psvi_run_ranges(world->context, state->block_first[COLOURS * PSVI_KINDS], PIECE_BLOCKS, keep_blocks, &loop);
    ++s->counts->steps;
    return PSV_OK;
}

static void run_batch(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_batch_item(loop->sim, loop->batch, i);
}

static psv_status cpu_batch(psv_world *world, const psvi_batch *batch) {
    sim_loop loop = {.sim = &world->sim, .batch = batch};
    for (uint64_t i = 0; i < batch->count && batch->kind == PSVI_BATCH_WRITE; ++i)
        if (batch->slots[i] < world->sim.slots) cpu_touch(world, batch->slots[i], 1);
    psvi_run_ranges(world->context, batch->count, BODIES, run_batch, &loop);
    if (world->sim.counts->carrier != 0) memset(world->sim.wake, 1, world->sim.slots);
    world->sim.counts->carrier = 0;
    return PSV_OK;
}

// Events in the order of the pairs' slots, so on one thread.
static psv_status cpu_notice(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    memset(s->events.counts, 0, sizeof *s->events.counts);
    for (uint64_t i = 0; i < s->counts->contacts; ++i)
        psvi_notice_contact(s, step, s->order[i]);
    for (uint64_t i = 0; i <= s->counts->kept_mask; ++i)
        psvi_notice_end(s, i);
    return PSV_OK;
}

static int by_slots(const void *x, const void *y) {
    const psv_contact_event *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static psv_status cpu_report(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    for (uint64_t i = 0; i < s->counts->contacts; ++i)
        psvi_report_contact(s, step, s->order[i]);
    qsort(s->events.ends, s->events.counts->ends, sizeof *s->events.ends,
          by_slots); // some came by their place in the table
    return PSV_OK;
}

static psv_status cpu_rest(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    const uint64_t contacts = s->counts->contacts;
    for (uint64_t i = 0; i < contacts; ++i)
        psvi_wake_by_contact(s, i);
    if (!step->sleeps) return PSV_OK;
    cpu_state *state = world->state;
    const uint32_t *slots = state->awake.slots;
    const uint64_t count = state->awake.count; // sleepers keep their island
    for (uint64_t k = 0; k < count; ++k)
        psvi_count_still(s, step, slots[k]);
    for (uint64_t i = 0; i < contacts; ++i)
        psvi_join_islands(s, i);
    for (uint64_t k = 0; k < count; ++k)
        psvi_mark_busy(s, slots[k]);
    for (uint64_t k = 0; k < count; ++k)
        psvi_fall_asleep(s, slots[k]);
    for (uint64_t k = 0; k < count; ++k) {
        psvi_label_island(s, slots[k]);
        state->awake.changed = state->awake.changed || psvi_is_asleep(s, slots[k]);
    }
    return PSV_OK;
}

static void forget_places(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_forget_kept(loop->sim, i);
}

static psv_status cpu_forget(psv_world *world) {
    sim_loop loop = {.sim = &world->sim};
    psvi_run_ranges(world->context, world->sim.counts->kept_mask + 1, 16 * BODIES, forget_places, &loop);
    return PSV_OK;
}

static bool cpu_poll(psv_world *world, psvi_step_counts *counts, bool wait) {
    (void)wait;
    *counts = *world->sim.counts;
    counts->halted = 0;
    return true;
}

const psvi_sim_ops psvi_sim_ops_cpu = {
    .sorts_contacts = true,
    .own_bytes = cpu_own_bytes,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .make_room = cpu_make_sorter,
    .touch = cpu_touch,
    .begin = cpu_begin,
    .pair_boxes = cpu_pair_boxes,
    .attract = cpu_attract,
    .narrow = cpu_narrow,
    .solve = cpu_solve,
    .finish = cpu_finish,
    .batch = cpu_batch,
    .forget = cpu_forget,
    .rest = cpu_rest,
    .notice = cpu_notice,
    .report = cpu_report,
    .poll = cpu_poll,
    .query_boxes = psvi_cpu_query_boxes,
    .query_bodies = psvi_cpu_query_bodies,
};
