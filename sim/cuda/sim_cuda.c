// A world's step on CUDA: enqueues the kernels; the host looks at a step's counters without waiting for it.
#include "../../core/cuda/cuda_backend.h"
#include "../queries/body_queries.h"
#include "solver_data.h"
#include "step_kernels.h"
#include "tuning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct cuda_state {
    psvi_published *published;                           // host memory that the device writes
    psvi_published *device;                              // its address there
    int colour_blocks, solve_blocks[PSVI_SOLVE_KINDS];   // of all processors together
    int colour_cluster, solve_cluster[PSVI_SOLVE_KINDS]; // of one cluster
    psvi_solver solver;
    uint64_t bodies, contacts, points; // that the solver has room for
    uint32_t shapes_seen;
    bool general; // among them is one that is not round
} cuda_state;

static psv_status alloc_row(psv_world *world, void *field, uint64_t bytes) {
    void *address = psvi_alloc(world->context, bytes);
    memcpy(field, &address, sizeof address);
    return address != NULL ? PSV_OK
                           : psvi_fail(world->context, PSV_ERROR_MEMORY,
                                       "no CUDA memory for %" PRIu64 " bytes of the world's solver", bytes);
}

// clang-format off
#define BODY_ROWS(X, n) \
    X(movers.motion, (n) * sizeof(psvi_motion)) \
    X(movers.pushed, (n) * sizeof(psvi_motion)) \
    X(movers.moved, (n) * sizeof(psvi_f4)) \
    X(movers.turned, (n) * sizeof(psvi_f4)) \
    X(movers.swing, (n) * sizeof(psvi_f4)) \
    X(awake, (n) * sizeof(uint32_t)) \
    X(bins, PSVI_BINS * sizeof(psvi_bin)) \
    X(block_bins, PSVI_BINS * sizeof(uint32_t) * (uint64_t)state->colour_blocks)
#define CONTACT_ROWS(X, n, m) \
    X(bodies, (n) * sizeof(psvi_two_bodies)) \
    X(normal, (n) * sizeof(psvi_f4)) \
    X(impulse, (n) * sizeof(psvi_f4)) \
    X(arms, (n) * sizeof(psvi_f2)) \
    X(bounce, (n) * sizeof(psvi_f2)) \
    X(hit, (n) * sizeof(float)) \
    X(points[0], (m) * sizeof(psvi_f4)) \
    X(points[1], (m) * sizeof(psvi_f4)) \
    X(points[2], (m) * sizeof(psvi_f4)) \
    X(points[3], (m) * sizeof(psvi_f4)) \
    X(points[4], (m) * sizeof(psvi_f4)) \
    X(points[5], (m) * sizeof(psvi_f4)) \
    X(points[6], (m) * sizeof(psvi_f4)) \
    X(point_hit, (m) * sizeof(float)) \
    X(place, (n) * sizeof(uint32_t)) \
    X(lists[0], (n) * sizeof(uint32_t)) \
    X(lists[1], (n) * sizeof(uint32_t))
// clang-format on

#define ALLOCATE_ROW(name, bytes)                                                                                      \
    if (status == PSV_OK) status = alloc_row(world, &v->name, bytes);
#define RELEASE_ROW(name, bytes)                                                                                       \
    psvi_free(world->context, v->name, bytes);                                                                         \
    v->name = NULL;

static psv_status cuda_create(psv_world *world) {
    psv_context *context = world->context;
    if (!context->info.cooperative_launch)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED, "%s cannot launch cooperative kernels, which the solver needs",
                         context->info.name);
    cuda_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for a world's CUDA state");
    world->state = state;
    void *host = NULL, *device = NULL;
    psv_status status = psvi_cuda_alloc_pinned(context, sizeof *state->published, &host, &device);
    state->published = host;
    state->device = device;
    if (status == PSV_OK)
        status = psvi_cuda_status(context, psvi_colour_team(&state->colour_blocks, &state->colour_cluster),
                                  "occupancy of psvk_colour");
    for (int kind = 0; kind < PSVI_SOLVE_KINDS && status == PSV_OK; ++kind)
        status = psvi_cuda_status(
            context, psvi_solve_team((psvi_solve_kind)kind, &state->solve_blocks[kind], &state->solve_cluster[kind]),
            "occupancy of psvk_solve");
    if (status != PSV_OK) return status;
    if (state->colour_blocks > PSVI_TEAM_BLOCKS) state->colour_blocks = PSVI_TEAM_BLOCKS;
    state->colour_blocks *= context->info.multiprocessors;
    for (int kind = 0; kind < PSVI_SOLVE_KINDS; ++kind)
        state->solve_blocks[kind] *= context->info.multiprocessors;
    psvi_solver *v = &state->solver;
    state->bodies = world->def.max_bodies;
    BODY_ROWS(ALLOCATE_ROW, state->bodies)
    if (status == PSV_OK) // no zeros: those would be the records of a sleeper
        status = context->ops->fill(context, v->movers.motion, 0xff, state->bodies * sizeof *v->movers.motion);
    return status;
}

static void free_contact_rows(psv_world *world) {
    cuda_state *state = world->state;
    psvi_solver *v = &state->solver;
    CONTACT_ROWS(RELEASE_ROW, state->contacts, state->points)
}

static void cuda_destroy(psv_world *world) {
    cuda_state *state = world->state;
    psvi_solver *v = &state->solver;
    free_contact_rows(world);
    BODY_ROWS(RELEASE_ROW, state->bodies)
    psvi_cuda_free_pinned(world->context, state->published, sizeof *state->published);
    free(state);
    world->state = NULL;
}

// The solver's rows for as many contacts as the world has room for. No step is under way.
static psv_status cuda_make_room(psv_world *world) {
    cuda_state *state = world->state;
    psvi_solver *v = &state->solver;
    const psvi_sim *s = &world->sim;
    if (v->lists[1] != NULL && state->contacts == s->contact_capacity && state->points == s->point_capacity)
        return PSV_OK;
    free_contact_rows(world);
    state->contacts = s->contact_capacity;
    state->points = s->point_capacity;
    psv_status status = PSV_OK;
    CONTACT_ROWS(ALLOCATE_ROW, state->contacts, state->points)
    return status;
}

// Something that falls, or ground, is not round: then the solver for all kinds of contacts is needed.
static bool has_general(psv_world *world) {
    cuda_state *state = world->state;
    if (world->shape_count < state->shapes_seen) state->shapes_seen = 0;
    if (state->shapes_seen == 0) state->general = false;
    for (; state->shapes_seen < world->shape_count; ++state->shapes_seen) {
        uint32_t type = world->shapes[state->shapes_seen].data.type;
        if (type != PSV_SHAPE_PARTICLE && type != PSV_SHAPE_SPHERE && type != PSV_SHAPE_PLANE &&
            type != PSV_SHAPE_HEIGHT_FIELD)
            state->general = true;
    }
    return state->general;
}

static psv_status cuda_begin(psv_world *world, const psvi_step *step) {
    return psvi_cuda_status(world->context, psvi_launch_begin(&world->sim, step, world->context->stream), "psvk_begin");
}

static psv_status cuda_attract(psv_world *world, const psvi_step *step) {
    return psvi_cuda_status(world->context, psvi_launch_attract(&world->sim, step, world->context->stream),
                            "psvk_attract");
}

static psv_status cuda_narrow(psv_world *world, const psvi_step *step) {
    if (world->sim.island != NULL) {
        psv_context *context = world->context;
        psv_status status = psvi_cuda_status(
            context, psvi_launch_clear_wakes(&world->sim, context->info.multiprocessors, context->stream),
            "psvk_clear_wakes");
        if (status != PSV_OK) return status;
    }
    bool ground = world->terrain_bytes > (world->def.sub_world_count + 1ull) * sizeof(uint32_t);
    return psvi_cuda_status(world->context,
                            psvi_launch_narrow(&world->sim, step, ground, has_general(world),
                                               world->context->info.multiprocessors, world->context->stream),
                            "psvk_narrow");
}

static bool cuda_poll(psv_world *world, psvi_step_counts *counts, bool wait) {
    const cuda_state *state = world->state;
    if (wait && psv_synchronize(world->context) != PSV_OK) return false;
    for (int attempt = 0; attempt < 4; ++attempt) {
        uint64_t serial = state->published->serial;
        if (serial == 0) return false;
        __sync_synchronize();
        *counts = state->published->record[serial & 1];
        __sync_synchronize();
        // The record is written again two steps later only.
        if (state->published->serial - serial <= 1) return true;
    }
    return false;
}

// The device's own counts go on from the same serial.
static void cuda_believe(psv_world *world, const psvi_step_counts *counts) {
    const cuda_state *state = world->state;
    state->published->record[state->published->serial & 1] = *counts;
}

// Few threads wait for each other faster, many do more at a time. `items`: lanes or contacts at work together, as far
// as the host knows; the numbers do not depend on the choice.
static psvi_team team_for(uint64_t items, int block, int cluster, int most) {
    psvi_team team = {most, false};
    if (items <= (uint64_t)block) {
        team.blocks = 1;
    } else if (cluster > 1 && items <= PSVI_CLUSTER_TURNS * (uint64_t)block * (uint64_t)cluster) {
        team.blocks = cluster;
        team.cluster = true;
    }
    return team;
}

static psv_status cuda_solve(psv_world *world, const psvi_step *step) {
    const cuda_state *state = world->state;
    const psvi_sim *s = &world->sim;
    psv_context *context = world->context;
    psv_status status = cuda_make_room(world); // there already, unless memory had run out
    if (status != PSV_OK) return status;
    psvi_step_counts known = {0}; // of one of the last steps
    bool general = has_general(world), some = cuda_poll(world, &known, false);
    // A colour has about a tenth of the contacts; a body takes part in a pass too.
    uint64_t items = s->slots + (some ? known.points : 8 * (uint64_t)s->slots) / 8;
    psvi_team team = team_for(items, PSVI_COLOUR_BLOCK, state->colour_cluster, state->colour_blocks);
    status =
        psvi_cuda_status(context, psvi_launch_colour(s, &state->solver, step, team, context->stream), "psvk_colour");
    if (status != PSV_OK) return status;
    psvi_solve_kind kind = step->rolls ? PSVI_SOLVE_ROLLING : general ? PSVI_SOLVE_GENERAL : PSVI_SOLVE_ROUND;
    team = team_for(items, kind == PSVI_SOLVE_ROUND ? PSVI_SOLVE_ROUND_BLOCK : PSVI_SIM_BLOCK,
                    state->solve_cluster[kind], state->solve_blocks[kind]);
    return psvi_cuda_status(context, psvi_launch_solve(s, &state->solver, step, kind, team, context->stream),
                            "psvk_solve");
}

static psv_status cuda_finish(psv_world *world, const psvi_step *step) {
    const cuda_state *state = world->state;
    psv_context *context = world->context;
    return psvi_cuda_status(context,
                            psvi_launch_finish(&world->sim, &state->solver, step, state->device,
                                               context->info.multiprocessors, context->stream),
                            "psvk_finish");
}

static psv_status cuda_batch(psv_world *world, const psvi_batch *batch) {
    return psvi_cuda_status(world->context, psvi_launch_batch(&world->sim, batch, world->context->stream),
                            "psvk_batch");
}

static psv_status cuda_notice(psv_world *world, const psvi_step *step) {
    psv_context *context = world->context;
    return psvi_cuda_status(context,
                            psvi_launch_notice(&world->sim, step, context->info.multiprocessors, context->stream),
                            "psvk_notice_contacts");
}

static psv_status cuda_report(psv_world *world, const psvi_step *step) {
    psv_context *context = world->context;
    return psvi_cuda_status(context,
                            psvi_launch_report(&world->sim, step, context->info.multiprocessors, context->stream),
                            "psvk_report_contacts");
}

static psv_status cuda_rest(psv_world *world, const psvi_step *step) {
    psv_context *context = world->context;
    return psvi_cuda_status(
        context, psvi_launch_rest(&world->sim, step, context->info.multiprocessors, context->stream), "psvk_wake");
}

static psv_status cuda_forget(psv_world *world) {
    psv_context *context = world->context;
    return psvi_cuda_status(context, psvi_launch_forget(&world->sim, context->info.multiprocessors, context->stream),
                            "psvk_forget");
}

static uint64_t cuda_own_bytes(uint64_t bodies, uint64_t contacts, uint64_t points) {
    return bodies * (PSVI_MOVER_BYTES + sizeof(uint32_t)) + contacts * PSVI_SOLVER_CONTACT_BYTES +
           points * PSVI_SOLVER_POINT_BYTES;
}

const psvi_sim_ops psvi_sim_ops_cuda = {
    .grows_pairs = true,
    .own_bytes = cuda_own_bytes,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .make_room = cuda_make_room,
    .begin = cuda_begin,
    .attract = cuda_attract,
    .narrow = cuda_narrow,
    .solve = cuda_solve,
    .finish = cuda_finish,
    .batch = cuda_batch,
    .forget = cuda_forget,
    .rest = cuda_rest,
    .notice = cuda_notice,
    .report = cuda_report,
    .poll = cuda_poll,
    .believe = cuda_believe,
    .query_boxes = psvi_cuda_query_boxes,
    .query_bodies = psvi_cuda_query_bodies,
};
