// A world's step on the CPU: loops over bodies, pairs and contacts around the functions that CUDA uses too. Every loop
// writes either to its own element or through operations whose outcome does not depend on their order, so the result is
// the same for any number of threads.
#include "../src/body_motion.h"
#include "../src/contact_kept.h"
#include "../src/contact_solver.h"
#include "../src/narrow.h"
#include "../src/world.h"

#include <string.h>

// Below this many items a loop is faster on one thread.
#define PARALLEL_BODIES 2048
#define PARALLEL_PAIRS 256
#define PARALLEL_CONTACTS 512

static psv_status cpu_create(psv_world *world) {
    world->state = NULL;
    return PSV_OK;
}

static void cpu_destroy(psv_world *world) { (void)world; }

// Contacts are put in the order of their bodies, so that colours do not depend on which thread found them first.
static psv_status cpu_make_sorter(psv_world *world) {
    psv_sorter_def def = psv_default_sorter_def();
    def.method = world->sort_method;
    def.key_type = PSV_KEY_U64;
    def.value_bytes = 4;
    def.max_count = world->sim.contact_capacity;
    psv_status status = psv_create_sorter(world->context, &def, &world->sorter);
    if (status != PSV_ERROR_UNSUPPORTED) return status;
    def.method = "qsort"; // a method without 64-bit keys still serves the broad phase
    return psv_create_sorter(world->context, &def, &world->sorter);
}

static psv_status cpu_begin(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    int64_t count = s->slots;
#pragma omp parallel for num_threads(world->context->worker_count) if (count >= PARALLEL_BODIES)
    for (int64_t i = 0; i < count; ++i)
        psvi_begin_body(s, step, (uint32_t)i);
    return PSV_OK;
}

static psv_status cpu_attract(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    int64_t count = s->slots;
#pragma omp parallel for num_threads(world->context->worker_count) schedule(dynamic, 64)
    for (int64_t i = 0; i < count; ++i) {
        psvi_f4 p = s->position[i];
        float x = 0, y = 0, z = 0;
        for (int64_t j = 0; j < count; ++j) {
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
    return PSV_OK;
}

static psv_status cpu_narrow(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    s->counts->contacts = s->counts->points = 0;
    s->counts->pairs = *s->pair_count;
    int64_t pairs = (int64_t)*s->pair_count, bodies = s->slots;
#pragma omp parallel for num_threads(world->context->worker_count) schedule(dynamic, 64) if (pairs >= PARALLEL_PAIRS)
    for (int64_t i = 0; i < pairs; ++i) {
        uint32_t a = s->pairs[i].a, b = s->pairs[i].b;
        if (psvi_pair_is_round(s, a, b))
            psvi_narrow_round_pair(s, step, a, b);
        else
            psvi_narrow_other_pair(s, step, a, b);
    }
    if (s->terrain_first[world->def.sub_world_count] == 0) return PSV_OK; // no ground anywhere
#pragma omp parallel for num_threads(world->context->worker_count) schedule(dynamic, 256) if (bodies >= PARALLEL_PAIRS)
    for (int64_t i = 0; i < bodies; ++i) {
        psvi_narrow_ground(s, step, (uint32_t)i, true);
        psvi_narrow_ground(s, step, (uint32_t)i, false);
    }
    return PSV_OK;
}

// Gives each contact, in order, the first colour that its moving bodies have free; then lists them colour by colour.
static void colour_contacts(const psvi_sim *s) {
    uint32_t count = (uint32_t)s->counts->contacts, sizes[PSVI_COLOURS + 2] = {0};
    memset(s->colour_mask, 0, s->slots * sizeof *s->colour_mask);
    for (uint32_t i = 0; i < count; ++i) {
        psvi_contact *c = &s->contacts[s->order[i]];
        bool a = s->linear[c->a].velocity.w > 0, b = s->linear[c->b].velocity.w > 0;
        uint32_t taken = (a ? s->colour_mask[c->a] : 0) | (b ? s->colour_mask[c->b] : 0);
        uint32_t colour = 0;
        while (colour < PSVI_COLOURS && (taken >> colour & 1u) != 0)
            ++colour;
        c->colour = colour; // PSVI_COLOUR_REST when none is free
        if (colour < PSVI_COLOURS && a) s->colour_mask[c->a] |= 1u << colour;
        if (colour < PSVI_COLOURS && b) s->colour_mask[c->b] |= 1u << colour;
        ++sizes[colour + 1];
    }
    s->counts->colours = 0;
    for (uint32_t k = 0; k <= PSVI_COLOURS; ++k) {
        if (sizes[k + 1] > 0) s->counts->colours = k + 1;
        sizes[k + 1] += sizes[k];
    }
    memcpy(s->colour_first, sizes, (PSVI_COLOURS + 2) * sizeof(uint32_t));
    uint32_t *by_colour = s->order + s->contact_capacity; // the second half of `order`
    for (uint32_t i = 0; i < count; ++i)
        by_colour[sizes[s->contacts[s->order[i]].colour]++] = s->order[i];
}

// Contacts and their first points in the order in which the passes go through them.
static void gather_contacts(psv_world *world) {
    const psvi_sim *s = &world->sim;
    const uint32_t *by_colour = s->order + s->contact_capacity;
    int64_t count = (int64_t)s->counts->contacts;
#pragma omp parallel for num_threads(world->context->worker_count) if (count >= PARALLEL_CONTACTS)
    for (int64_t k = 0; k < count; ++k) {
        s->sorted[k] = s->contacts[by_colour[k]];
        s->leads[k] = s->points[s->sorted[k].first];
    }
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

static void run_pass(psv_world *world, const psvi_step *step, psvi_pass pass) {
    const psvi_sim *s = &world->sim;
    for (uint32_t colour = 0; colour <= PSVI_COLOURS; ++colour) {
        int64_t first = s->colour_first[colour], last = s->colour_first[colour + 1];
        // The rest, which shares bodies, stays on one thread.
        bool worth = last - first >= PARALLEL_CONTACTS && colour != PSVI_COLOUR_REST;
#pragma omp parallel for num_threads(world->context->worker_count) if (worth)
        for (int64_t k = first; k < last; ++k) {
            if (k + 8 < last) ask_ahead(s, &s->sorted[k + 8]);
            psvi_contact c = s->sorted[k];
            psvi_points points = {s->leads + k, s->points + c.first};
            psvi_solve_contact(s, step, c, points, pass);
        }
    }
}

static psv_status cpu_solve(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    int64_t bodies = s->slots;
    uint64_t contacts = s->counts->contacts;
    psv_status status = psv_sort_pairs(world->sorter, psv_buffer_of(s->keys, contacts * sizeof(uint64_t)),
                                       psv_buffer_of(s->order, contacts * sizeof(uint32_t)), contacts);
    if (status != PSV_OK) return status;
    colour_contacts(s);
    gather_contacts(world);
    for (uint32_t i = 0; i < step->substeps; ++i) {
#pragma omp parallel for num_threads(world->context->worker_count) if (bodies >= PARALLEL_BODIES)
        for (int64_t b = 0; b < bodies; ++b)
            psvi_push_body(s, step, (uint32_t)b);
        run_pass(world, step, PSVI_PASS_WARM);
        run_pass(world, step, PSVI_PASS_SOLVE);
#pragma omp parallel for num_threads(world->context->worker_count) if (bodies >= PARALLEL_BODIES)
        for (int64_t b = 0; b < bodies; ++b)
            psvi_move_body(s, step, (uint32_t)b);
        run_pass(world, step, PSVI_PASS_RELAX);
    }
    if (step->bounces) run_pass(world, step, PSVI_PASS_BOUNCE);
    return PSV_OK;
}

static psv_status cpu_finish(psv_world *world, const psvi_step *step) {
    const psvi_sim *s = &world->sim;
    int64_t bodies = s->slots, contacts = (int64_t)s->counts->contacts;
#pragma omp parallel for num_threads(world->context->worker_count) if (bodies >= PARALLEL_BODIES)
    for (int64_t i = 0; i < bodies; ++i)
        psvi_end_body(s, step, (uint32_t)i);
    s->counts->kept_mask = psvi_kept_mask(s->counts->contacts);
    memset(s->kept, 0, (s->counts->kept_mask + 1) * sizeof *s->kept);
#pragma omp parallel for num_threads(world->context->worker_count) if (contacts >= PARALLEL_BODIES)
    for (int64_t i = 0; i < contacts; ++i)
        psvi_keep_contact(s, &s->sorted[i], &s->leads[i]);
    ++s->counts->steps;
    return PSV_OK;
}

static bool cpu_poll(psv_world *world, psvi_step_counts *counts, bool wait) {
    (void)wait;
    *counts = *world->sim.counts;
    counts->halted = 0;
    return true;
}

const psvi_sim_ops psvi_sim_ops_cpu = {
    .create = cpu_create,
    .destroy = cpu_destroy,
    .make_room = cpu_make_sorter,
    .begin = cpu_begin,
    .attract = cpu_attract,
    .narrow = cpu_narrow,
    .solve = cpu_solve,
    .finish = cpu_finish,
    .poll = cpu_poll,
};
