// A world's step on the CPU: loops over bodies, pairs and contacts around the functions that CUDA uses too. Every loop
// writes either to its own element or through operations whose outcome does not depend on their order, so the result is
// the same for any number of threads.
#include "sim_cpu.h"
#include "../../core/cpu/workers.h"
#include "../contacts/contact_events.h"
#include "../contacts/contact_kept.h"
#include "../contacts/narrow.h"
#include "../queries/body_batch.h"
#include "../queries/body_queries.h"
#include "../solver/body_motion.h"
#include "../solver/contact_roll.h"
#include "../solver/contact_solver.h"
#include "../world/world.h"
#include "contact_blocks.h"
#include "manifold_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Items that a worker takes at a time; so many alone are faster on one thread.
#define BODIES 1024
#define PAIRS 64
#define PIECE 128 // contacts that are solved one by one

// Fewer are solved faster on one thread.
#define PARALLEL_BODIES 2048
#define PARALLEL_CONTACTS 1024

// Blocks of a piece of a colour: some 5 microseconds, or sharing them out takes longer than they do.
#define PIECE_BLOCKS 64
#define PIECE_MANIFOLDS 24

// How a contact is solved. The contacts of a colour lie in this order.
enum { IN_BLOCK, IN_MANIFOLD, ALONE, WAYS };

typedef struct cpu_state {
    psvi_contact_block *blocks; // of all colours
    psvi_manifold_block *manifolds;
    uint64_t block_room; // of each of the two
    psvi_root *roots;    // of the inverse inertias, by body
    // By colour; what found no colour is in no block.
    uint32_t block_first[PSVI_COLOURS + 2], manifold_first[PSVI_COLOURS + 2];
    uint32_t single_first[PSVI_COLOURS + 1]; // by colour: contacts [it, colour_first of the next) are solved one by one
} cpu_state;

static uint64_t block_room(uint64_t contacts) {
    return (contacts + PSVI_BLOCK_LANES - 1) / PSVI_BLOCK_LANES + PSVI_COLOURS; // each colour fills up its last one
}

static uint64_t body_bytes(uint64_t bodies) { return bodies * (sizeof(psvi_pushed) + sizeof(psvi_root)); }

static uint64_t block_bytes(uint64_t room) { return room * (sizeof(psvi_manifold_block) + sizeof(psvi_contact_block)); }

static uint64_t cpu_own_bytes(uint64_t bodies, uint64_t contacts, uint64_t points) {
    (void)points;
    return body_bytes(bodies) + block_bytes(block_room(contacts));
}

static psv_status cpu_create(psv_world *world) {
    cpu_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %zu bytes of a world's state",
                         sizeof *state);
    world->state = state;
    uint64_t bytes = body_bytes(world->def.max_bodies);
    world->sim.pushed = psvi_alloc(world->context, bytes);
    if (world->sim.pushed == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of velocities", bytes);
    state->roots = (psvi_root *)(void *)(world->sim.pushed + world->def.max_bodies);
    return PSV_OK;
}

static void cpu_destroy(psv_world *world) {
    cpu_state *state = world->state;
    psvi_free(world->context, state->manifolds, block_bytes(state->block_room));
    psvi_free(world->context, world->sim.pushed, body_bytes(world->def.max_bodies));
    free(state);
    world->state = NULL;
}

static psv_status make_blocks(psv_world *world) {
    cpu_state *state = world->state;
    uint64_t room = block_room(world->sim.contact_capacity), bytes = block_bytes(room);
    if (room == state->block_room) return PSV_OK;
    psvi_free(world->context, state->manifolds, block_bytes(state->block_room));
    state->block_room = 0;
    state->manifolds = psvi_alloc(world->context, bytes);
    if (state->manifolds == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of contacts", bytes);
    state->blocks = (psvi_contact_block *)(void *)(state->manifolds + room);
    state->block_room = room;
    return PSV_OK;
}

// Contacts are put in the order of their bodies, so that colours do not depend on which thread found them first.
static psv_status cpu_make_sorter(psv_world *world) {
    psv_status made = make_blocks(world);
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
    const psvi_batch *batch;
} sim_loop;

static sim_loop loop_of(psv_world *world, const psvi_step *step) {
    return (sim_loop){.sim = &world->sim, .step = step, .state = world->state};
}

static void begin_bodies(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_begin_body(loop->sim, loop->step, (uint32_t)i);
}

static psv_status cpu_begin(psv_world *world, const psvi_step *step) {
    sim_loop loop = loop_of(world, step);
    psvi_run_ranges(world->context, world->sim.slots, BODIES, begin_bodies, &loop);
    return PSV_OK;
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

static void narrow_ground(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i) {
        psvi_narrow_ground(loop->sim, loop->step, (uint32_t)i, true, true);
        psvi_narrow_ground(loop->sim, loop->step, (uint32_t)i, false, true);
    }
}

static psv_status cpu_narrow(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    sim_loop loop = loop_of(world, step);
    if (s->island != NULL) memset(s->wake, 0, s->slots); // bodies have woken
    s->counts->contacts = s->counts->points = 0;
    s->counts->pairs = *s->pair_count;
    psvi_run_ranges(world->context, *s->pair_count, PAIRS, narrow_pairs, &loop);
    if (s->terrain_first[s->terrain_worlds] == 0) return PSV_OK; // no ground anywhere
    psvi_run_ranges(world->context, s->slots, 256, narrow_ground, &loop);
    return PSV_OK;
}

// The first colour that the moving bodies of a contact have free; PSVI_COLOUR_REST when there is none.
static uint32_t take_colour(const psvi_sim *s, const psvi_contact *c) {
    bool a = s->linear[c->a].velocity.w > 0, b = s->linear[c->b].velocity.w > 0;
    uint32_t taken = (a ? s->colour_mask[c->a] : 0) | (b ? s->colour_mask[c->b] : 0);
    uint32_t colour = (uint32_t)__builtin_ctz(~taken);
    if (colour >= PSVI_COLOURS) return PSVI_COLOUR_REST;
    if (a) s->colour_mask[c->a] |= 1u << colour;
    if (b) s->colour_mask[c->b] |= 1u << colour;
    return colour;
}

// How a contact that has its colour is solved.
static int way_of(const psvi_sim *s, const psvi_step *step, const psvi_contact *c) {
    // Rolling friction is not made in blocks.
    if (c->colour == PSVI_COLOUR_REST || (s->rolls != NULL && psvi_pair_rolls(s, c->a, c->b))) return ALONE;
    if (psvi_fits_block(c)) return IN_BLOCK;
    return psvi_fits_manifold(step, c) ? IN_MANIFOLD : ALONE;
}

// Cuts the contacts [start, end) of a colour into blocks from `blocks` on; returns the block after them.
static uint32_t cut_blocks(cpu_state *state, uint32_t colour, uint32_t start, uint32_t end, uint32_t blocks) {
    for (uint32_t at = start; at < end; at += PSVI_BLOCK_LANES) {
        psvi_contact_block *block = &state->blocks[blocks++];
        block->start = at;
        block->count = end - at < PSVI_BLOCK_LANES ? end - at : PSVI_BLOCK_LANES;
        block->colour = colour;
    }
    return blocks;
}

static uint32_t cut_manifolds(cpu_state *state, uint32_t colour, uint32_t start, uint32_t end, uint32_t blocks) {
    for (uint32_t at = start; at < end; at += PSVI_BLOCK_LANES) {
        psvi_manifold_block *block = &state->manifolds[blocks++];
        block->start = at;
        block->count = end - at < PSVI_BLOCK_LANES ? end - at : PSVI_BLOCK_LANES;
        block->colour = colour;
    }
    return blocks;
}

// Gives each contact, in order, a colour; then lists them colour by colour, and within each by how they are solved.
static void colour_contacts(const psvi_sim *s, const psvi_step *step, cpu_state *state) {
    uint32_t count = (uint32_t)s->counts->contacts, places[WAYS * (PSVI_COLOURS + 1) + 1] = {0};
    memset(s->colour_mask, 0, s->slots * sizeof *s->colour_mask);
    for (uint32_t i = 0; i < count; ++i) {
        psvi_contact *c = &s->contacts[s->order[i]];
        c->colour = take_colour(s, c);
        ++places[WAYS * c->colour + (uint32_t)way_of(s, step, c) + 1];
    }
    s->counts->colours = 0;
    for (uint32_t k = 1; k <= WAYS * (PSVI_COLOURS + 1); ++k)
        places[k] += places[k - 1];
    state->block_first[0] = state->manifold_first[0] = 0;
    for (uint32_t k = 0; k <= PSVI_COLOURS; ++k) {
        const uint32_t *at = &places[WAYS * k];
        state->block_first[k + 1] = cut_blocks(state, k, at[IN_BLOCK], at[IN_MANIFOLD], state->block_first[k]);
        state->manifold_first[k + 1] = cut_manifolds(state, k, at[IN_MANIFOLD], at[ALONE], state->manifold_first[k]);
        s->colour_first[k] = at[0];
        state->single_first[k] = at[ALONE];
        if (at[WAYS] > at[0]) s->counts->colours = k + 1;
    }
    s->colour_first[PSVI_COLOURS + 1] = places[WAYS * (PSVI_COLOURS + 1)];
    uint32_t *by_colour = s->order + s->contact_capacity; // the second half of `order`
    for (uint32_t i = 0; i < count; ++i) {
        const psvi_contact *c = &s->contacts[s->order[i]];
        by_colour[places[WAYS * c->colour + (uint32_t)way_of(s, step, c)]++] = s->order[i];
    }
}

// Contacts in the order in which the passes go through them: blocks, and for the others contacts and first points.
static void gather_blocks(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    for (uint64_t k = first; k < end; ++k)
        psvi_fill_block(s, loop->step, s->order + s->contact_capacity, &loop->state->blocks[k]);
}

static void gather_manifolds(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    for (uint64_t k = first; k < end; ++k)
        psvi_fill_manifolds(s, loop->step, loop->state->roots, s->order + s->contact_capacity,
                            &loop->state->manifolds[k]);
}

static void find_roots(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    for (uint64_t i = first; i < end; ++i) {
        if (s->linear[i].moved.w == 0) continue;
        const float ball = s->angular[i].velocity.w;
        loop->state->roots[i] = ball > 0 ? psvi_root_isotropic(sqrtf(ball)) : psvi_root_of(s->inv_inertia[i]);
    }
}

static psvi_roll kept_roll(const psvi_sim *s, const psvi_step *step, const psvi_contact *c, const psvi_point *lead) {
    const psvi_kept_contact *kept = step->rolls ? psvi_find_kept(s, c->a, c->b) : NULL;
    return psvi_start_roll(s, c->a, c->b, lead->normal, kept != NULL ? &s->kept_rolls[kept->first] : NULL);
}

static void find_masses(const psvi_sim *s, const psvi_contact *c) {
    psvi_two t;
    psvi_linear la, lb;
    psvi_angular aa, ab;
    psvi_load_two(s, c, &t, &la, &lb, &aa, &ab);
    for (uint32_t i = 0; i < c->count; ++i)
        psvi_find_masses(&t, &s->points[c->first + i]);
}

// Which of the contacts in colour order are solved one by one: those from single_first of their colour on.
static void gather_singles(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    const uint32_t *by_colour = s->order + s->contact_capacity;
    for (uint32_t colour = 0; colour <= PSVI_COLOURS; ++colour) {
        uint64_t from = loop->state->single_first[colour], to = s->colour_first[colour + 1];
        for (uint64_t k = from > first ? from : first; k < (to < end ? to : end); ++k) {
            const psvi_contact *c = &s->contacts[by_colour[k]];
            if (c->turning == PSVI_TURN_ANY) find_masses(s, c);
            s->sorted[k] = *c;
            s->leads[k] = s->points[c->first];
            if (s->rolls != NULL) s->rolls[k] = kept_roll(s, loop->step, c, &s->leads[k]);
        }
    }
}

static void gather_contacts(psv_world *world, const psvi_step *step) {
    sim_loop loop = loop_of(world, step);
    const uint64_t manifolds = loop.state->manifold_first[PSVI_COLOURS + 1];
    psvi_run_ranges(world->context, loop.state->block_first[PSVI_COLOURS + 1], PIECE_BLOCKS, gather_blocks, &loop);
    if (manifolds > 0) psvi_run_ranges(world->context, world->sim.slots, BODIES, find_roots, &loop);
    psvi_run_ranges(world->context, manifolds, PIECE_MANIFOLDS, gather_manifolds, &loop);
    psvi_run_ranges(world->context, world->sim.counts->contacts, 4 * PIECE, gather_singles, &loop);
}

// Asks for the bodies of a later contact before they are needed: they lie anywhere.
static void ask_ahead(const psvi_sim *s, const psvi_contact *c) {
    __builtin_prefetch(&s->linear[c->a], 1);
    __builtin_prefetch(&s->linear[c->b], 1);
    if (c->count > 1) __builtin_prefetch(&s->points[c->first + 1], 1);
    if (c->turning == 0) return;
    __builtin_prefetch(&s->angular[c->a], 1);
    __builtin_prefetch(&s->angular[c->b], 1);
}

PSVI_HD_CALL void solve_range(const psvi_sim *s, const psvi_step *step, int64_t first, int64_t last, psvi_pass pass,
                              bool loads) {
    for (int64_t k = first; k < last; ++k) {
        if (k + 8 < last) ask_ahead(s, &s->sorted[k + 8]);
        psvi_contact c = s->sorted[k];
        psvi_points points = {s->leads + k, s->points + c.first};
        psvi_solve_contact(s, step, c, points, pass, loads);
    }
}

// Contacts [first, last), one by one. Each pass has its own code, and once more where no forces act.
static void solve_singles(const psvi_sim *s, const psvi_step *step, int64_t first, int64_t last, psvi_pass pass) {
    if (step->loads) {
        switch (pass) {
        case PSVI_PASS_WARM: solve_range(s, step, first, last, PSVI_PASS_WARM, true); break;
        case PSVI_PASS_SOLVE: solve_range(s, step, first, last, PSVI_PASS_SOLVE, true); break;
        case PSVI_PASS_RELAX: solve_range(s, step, first, last, PSVI_PASS_RELAX, true); break;
        case PSVI_PASS_AGAIN: break; // not under forces
        }
        return;
    }
    switch (pass) {
    case PSVI_PASS_WARM: solve_range(s, step, first, last, PSVI_PASS_WARM, false); break;
    case PSVI_PASS_SOLVE: solve_range(s, step, first, last, PSVI_PASS_SOLVE, false); break;
    case PSVI_PASS_RELAX: solve_range(s, step, first, last, PSVI_PASS_RELAX, false); break;
    case PSVI_PASS_AGAIN: solve_range(s, step, first, last, PSVI_PASS_AGAIN, false); break;
    }
}

// A body's spin with its inertia made 1; all 0 where it does not turn.
static v3 root_spin(const psvi_sim *s, uint32_t body, psvi_root *root) {
    *root = psvi_root_isotropic(0);
    if (s->linear[body].moved.w == 0) return v3_make(0, 0, 0);
    psvi_f4 w = s->angular[body].velocity;
    *root = w.w > 0 ? psvi_root_isotropic(sqrtf(w.w)) : psvi_root_of(s->inv_inertia[body]);
    return psvi_root_solve(*root, v3_of4(w));
}

static void put_spin(const psvi_sim *s, uint32_t body, psvi_root root, v3 spin) {
    if (s->linear[body].moved.w == 0 || !(s->linear[body].velocity.w > 0)) return;
    psvi_f4 *w = &s->angular[body].velocity;
    *w = f4_make(psvi_root_mul(root, spin), w->w);
}

// Rolling and spinning friction of contacts [first, last), which are of one colour.
static void roll_singles(const psvi_sim *s, int64_t first, int64_t last, psvi_pass pass) {
    for (int64_t k = first; k < last; ++k) {
        const psvi_contact *c = &s->sorted[k];
        psvi_roll *roll = &s->rolls[k];
        if (!(roll->impulse.w > 0 || roll->normal.w > 0)) continue;
        psvi_spins t;
        t.a = root_spin(s, c->a, &t.root_a);
        t.b = root_spin(s, c->b, &t.root_b);
        float pressing = s->leads[k].impulse.x;
        for (uint32_t i = 1; i < c->count; ++i)
            pressing += s->points[c->first + i].impulse.x;
        if (pass == PSVI_PASS_WARM)
            psvi_roll_apply(&t, v3_of4(roll->impulse));
        else
            psvi_solve_roll(roll, pressing, &t);
        put_spin(s, c->a, t.root_a, t.a);
        put_spin(s, c->b, t.root_b, t.b);
    }
}

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

// What the stages of a solve know.
typedef struct solve_job {
    const psvi_sim *sim;
    const cpu_state *state;
    const psvi_step *step;
    psvi_crew *crew;
    psvi_pass pass;
    uint32_t colour, block_pieces, manifold_pieces; // of the colour
    bool again;                                     // not the first substep
    bool backward;                                  // colours, in the pass that undoes overlap
} solve_job;

// A piece of a colour: some of its blocks of one kind or the other or, behind those, of its other contacts.
static void solve_piece(void *data, uint32_t piece) {
    const solve_job *job = data;
    const cpu_state *state = job->state;
    const uint32_t colour = job->colour;
    if (piece < job->block_pieces) {
        const uint64_t first = state->block_first[colour] + (uint64_t)piece * PIECE_BLOCKS;
        psvi_solve_blocks(job->sim, job->step, state->blocks, first,
                          lesser(first + PIECE_BLOCKS, state->block_first[colour + 1]), job->pass);
        return;
    }
    piece -= job->block_pieces;
    if (piece < job->manifold_pieces) {
        const uint64_t first = state->manifold_first[colour] + (uint64_t)piece * PIECE_MANIFOLDS;
        psvi_solve_manifolds(job->sim, job->step, state->manifolds, first,
                             lesser(first + PIECE_MANIFOLDS, state->manifold_first[colour + 1]), job->pass);
        return;
    }
    const uint64_t first = state->single_first[colour] + (uint64_t)(piece - job->manifold_pieces) * PIECE;
    const uint64_t last = lesser(first + PIECE, job->sim->colour_first[colour + 1]);
    solve_singles(job->sim, job->step, (int64_t)first, (int64_t)last, job->pass);
    if (job->step->rolls) roll_singles(job->sim, (int64_t)first, (int64_t)last, job->pass);
}

// Colour by colour; the rest, which shares bodies, stays on one thread. Colours go by the order of the contacts, so a
// pile has them in a pattern, and in one direction always this would feed a sway: a pyramid of 20 layers swung at 0.08
// m/s for ever. So the pass after the move goes back through them, and from substep to substep the directions change.
static void run_pass(solve_job *job, psvi_pass pass) {
    const psvi_sim *s = job->sim;
    const cpu_state *state = job->state;
    const bool backward = job->step->loads && job->backward != (pass == PSVI_PASS_RELAX);
    job->pass = pass;
    for (uint32_t i = 0; i < PSVI_COLOURS; ++i) {
        const uint32_t colour = backward ? PSVI_COLOURS - 1 - i : i;
        const uint64_t blocks = state->block_first[colour + 1] - state->block_first[colour];
        const uint64_t manifolds = state->manifold_first[colour + 1] - state->manifold_first[colour];
        const uint64_t singles = s->colour_first[colour + 1] - state->single_first[colour];
        job->colour = colour;
        job->block_pieces = (uint32_t)psvi_loop_pieces(blocks, PIECE_BLOCKS);
        job->manifold_pieces = (uint32_t)psvi_loop_pieces(manifolds, PIECE_MANIFOLDS);
        psvi_run_stage(job->crew, job->block_pieces + job->manifold_pieces + (uint32_t)psvi_loop_pieces(singles, PIECE),
                       solve_piece, job);
    }
    const int64_t rest = s->colour_first[PSVI_COLOUR_REST], end = s->colour_first[PSVI_COLOUR_REST + 1];
    solve_singles(s, job->step, rest, end, pass);
    if (job->step->rolls) roll_singles(s, rest, end, pass);
}

// Bodies of a piece of a stage.
static uint64_t bodies_end(const solve_job *job, uint32_t piece) {
    return lesser(((uint64_t)piece + 1) * BODIES, job->sim->slots);
}

static void push_bodies(void *data, uint32_t piece) {
    const solve_job *job = data;
    const uint64_t first = (uint64_t)piece * BODIES, end = bodies_end(job, piece);
    const bool own = job->sim->forces != NULL;
    for (uint64_t b = first; b < end && !own; ++b)
        psvi_push_body(job->sim, job->step, job->sim->pushed, job->again, false, (uint32_t)b);
    for (uint64_t b = first; b < end && own; ++b)
        psvi_push_body(job->sim, job->step, job->sim->pushed, job->again, true, (uint32_t)b);
}

static void move_bodies(void *data, uint32_t piece) {
    const solve_job *job = data;
    for (uint64_t b = (uint64_t)piece * BODIES; b < bodies_end(job, piece); ++b)
        psvi_move_body(job->sim, job->step, (uint32_t)b);
    if (job->step->loads) return;
    for (uint64_t b = (uint64_t)piece * BODIES; b < bodies_end(job, piece); ++b)
        psvi_unpush_body(job->sim, job->sim->pushed, (uint32_t)b);
}

static void solve_substeps(psvi_crew *crew, void *data) {
    solve_job *job = data;
    const psvi_step *step = job->step;
    const uint32_t body_pieces = (uint32_t)psvi_loop_pieces(job->sim->slots, BODIES);
    job->crew = crew;
    for (uint32_t i = 0; i < step->substeps; ++i) {
        job->again = i > 0;
        job->backward = ((job->sim->counts->steps * step->substeps + i) & 1) != 0;
        psvi_run_stage(crew, body_pieces, push_bodies, job);
        if (i == 0) run_pass(job, PSVI_PASS_WARM);
        run_pass(job, PSVI_PASS_SOLVE);
        psvi_run_stage(crew, body_pieces, move_bodies, job);
        run_pass(job, PSVI_PASS_RELAX);
        if (!step->loads) run_pass(job, PSVI_PASS_AGAIN);
    }
}

static psv_status cpu_solve(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    cpu_state *state = world->state;
    uint64_t contacts = s->counts->contacts;
    psv_status status = psv_sort_pairs(world->sorter, psv_buffer_of(s->keys, contacts * sizeof(uint64_t)),
                                       psv_buffer_of(s->order, contacts * sizeof(uint32_t)), contacts);
    if (status != PSV_OK) return status;
    colour_contacts(s, step, state);
    gather_contacts(world, step);
    const bool worth = s->slots >= PARALLEL_BODIES || contacts >= PARALLEL_CONTACTS;
    solve_job job = {.sim = s, .state = state, .step = step};
    psvi_run_crew(world->context, worth ? psvi_workers_for(world->context, UINT32_MAX) : 1, solve_substeps, &job);
    return PSV_OK;
}

static void end_bodies(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_end_body(loop->sim, loop->step, (uint32_t)i);
}

static void keep_blocks(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_keep_block(loop->sim, &loop->state->blocks[i]);
}

static void keep_manifolds(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    for (uint64_t i = first; i < end; ++i)
        psvi_keep_manifolds(loop->sim, &loop->state->manifolds[i]);
}

static void keep_singles(void *data, uint64_t first, uint64_t end) {
    const sim_loop *loop = data;
    const psvi_sim *s = loop->sim;
    for (uint32_t colour = 0; colour <= PSVI_COLOURS; ++colour) {
        uint64_t from = loop->state->single_first[colour], to = s->colour_first[colour + 1];
        for (uint64_t i = from > first ? from : first; i < (to < end ? to : end); ++i) {
            psvi_keep_contact(s, &s->sorted[i], &s->leads[i]);
            if (s->rolls != NULL) s->kept_rolls[s->sorted[i].first] = s->rolls[i].impulse;
        }
    }
}

static psv_status cpu_finish(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    sim_loop loop = loop_of(world, step);
    psvi_run_ranges(world->context, s->slots, BODIES, end_bodies, &loop);
    s->counts->kept_mask = psvi_kept_mask(s->counts->contacts);
    s->counts->kept_scale = psvi_kept_scale(s->counts->kept_mask, s->slots);
    memset(s->kept, 0, (s->counts->kept_mask + 1) * sizeof *s->kept);
    psvi_run_ranges(world->context, loop.state->block_first[PSVI_COLOURS + 1], PIECE_BLOCKS, keep_blocks, &loop);
    psvi_run_ranges(world->context, loop.state->manifold_first[PSVI_COLOURS + 1], PIECE_MANIFOLDS, keep_manifolds,
                    &loop);
    psvi_run_ranges(world->context, s->counts->contacts, 4 * PIECE, keep_singles, &loop);
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
    psvi_run_ranges(world->context, batch->count, BODIES, run_batch, &loop);
    return PSV_OK;
}

// Events in the order of the pairs' slots, so on one thread.
static psv_status cpu_notice(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    memset(s->event_counts, 0, sizeof *s->event_counts);
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
    qsort(s->ends, s->event_counts->ends, sizeof *s->ends, by_slots); // some came by their place in the table
    return PSV_OK;
}

static psv_status cpu_rest(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    const uint64_t contacts = s->counts->contacts;
    for (uint64_t i = 0; i < contacts; ++i)
        psvi_wake_by_contact(s, i);
    if (!step->sleeps) return PSV_OK;
    for (uint32_t i = 0; i < s->slots; ++i)
        psvi_count_still(s, step, i);
    for (uint64_t i = 0; i < contacts; ++i)
        psvi_join_islands(s, i);
    for (uint32_t i = 0; i < s->slots; ++i)
        psvi_mark_busy(s, i);
    for (uint32_t i = 0; i < s->slots; ++i)
        psvi_fall_asleep(s, i);
    for (uint32_t i = 0; i < s->slots; ++i)
        psvi_label_island(s, i);
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
    .begin = cpu_begin,
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
