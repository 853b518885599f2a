// Row-sorted sweep and prune on CUDA, host side: memory, and the frame by its route.
#include <stdlib.h>
#include <string.h>

#include "../../../core/cuda/cuda_backend.h"
#include "../../../sort/src/sort_method.h"
#include "../launch_cuda.h"
#include "rows_kernels.h"

#define ROWS_SCAN_TILE (PSVI_BLOCK_THREADS * ROWS_SCAN_ITEMS)

// Routes that are left out for some frames after one that they did not suit.
enum { PAUSING_WORLDS, PAUSING_BINS, PAUSING_FUSED, PAUSING };

// What the device tells the host: failures of these routes, the pause in which another scene came, and whether the last
// frame with a plan of its own was the tree's.
enum { TOLD_CHANGED = PAUSING, TOLD_TREE, TOLD };

typedef struct rows_pause {
    uint32_t seen; // failures
    psvi_backoff backoff;
    uint32_t served; // frames since it last failed
} rows_pause;

typedef struct rows_state {
    psvi_rows_memory memory;
    psvi_rows_facts facts; // of the device and the finder
    psv_sorter *sorter;
    volatile uint32_t *told; // as far as the device has; NULL: no route pauses
    bool uses_bins;
    uint32_t bins_planned; // 0: bins have no plan yet; else one, and the host's pauses when it was made
    rows_pause pauses[PAUSING];
    uint32_t pauses_begun;
    bool has_frames; // it has run before
} rows_state;

static uint64_t room_of(const psv_pair_finder_def *def) { return def->max_boxes < 2 ? 2 : def->max_boxes; }

static psvi_rows_order order_of(const psv_pair_finder_def *def) {
    return psvi_rows_order_of(def->max_boxes, psvi_names_sorter(def));
}

static psv_sorter_def sorter_def(const psv_pair_finder_def *def) {
    psv_sorter_def made = psv_default_sorter_def();
    made.method = def->sort_method;
    made.key_type = PSV_KEY_U32;
    made.value_bytes = 4;
    made.max_count = room_of(def);
    made.end_bit = psvi_rows_key_bits(def->max_boxes, true);
    return made;
}

static uint64_t sorter_bytes(const psv_pair_finder_def *def) {
    if (order_of(def) != PSVI_ROWS_BY_SORTER) return 0;
    psv_sorter_def sort = sorter_def(def);
    return psv_sorter_scratch_bytes(PSV_BACKEND_CUDA, &sort);
}

// --- memory ----------------------------------------------------------------------------------------------------------

// Segments so small that most of them can be ordered on chip, if their boxes lie evenly; in those that cells of
// ROWS_CELLS_A_BOX a box reach into, room for twice the boxes that they would have then.
static void divide(const psvi_rows_memory *memory, psvi_rows_segments *segments) {
    const uint64_t cells = (uint64_t)1 << memory->key_bits, wanted = ROWS_CELLS_A_BOX * memory->room;
    uint32_t shift = ROWS_SEGMENT_CELL_BITS;
    while (shift > 4 && memory->room >> (memory->key_bits - shift) > ROWS_SEGMENT_BOXES)
        --shift;
    segments->shift = shift;
    segments->count = (uint32_t)(cells >> shift);
    const uint32_t sector_words = 8; // counters of many segments do not share a sector
    segments->place_stride = segments->count <= ROWS_TOGETHER_SEGMENTS ? 1 : sector_words;
    const uint64_t filled = (wanted < cells ? wanted : cells) >> shift;
    const uint64_t even = memory->room / (filled < 1 ? 1 : filled) + 1;
    const uint64_t held = (wanted + wanted / 64 + 8192) / ((uint64_t)1 << shift) + 2; // the plan rounds its cells up
    segments->held = held < segments->count ? (uint32_t)held : segments->count;
    const uint64_t most = UINT32_MAX / segments->held; // a place has 32 bits
    segments->room = (uint32_t)(2 * even < most ? 2 * even : most);
}

static void carve_segments(psvi_carver *carver, psvi_rows_memory *memory) {
    psvi_rows_segmented *const own = &memory->segmented;
    psvi_rows_segments *const segments = &own->segments;
    divide(memory, segments);
    segments->starts = psvi_carve(carver, 4 * ((uint64_t)segments->count + 1));
    segments->place = psvi_carve(carver, 4 * (uint64_t)segments->place_stride * segments->count);
    own->progress = psvi_carve(carver, sizeof *own->progress);
    own->split = psvi_carve(carver, 32 * (uint64_t)segments->room * segments->held);
    own->rounded = psvi_carve(carver, 8 * (memory->room + 1)); // they are read in pairs
    own->left = psvi_carve(carver, memory->room / 32 + 1);
}

// As many bins as the cells and the boxes may ask for, with five and a half times the room that the boxes need, so that
// uneven scenes fit. Memory that is not written costs only its place.
static void carve_bins(psvi_carver *carver, uint64_t boxes, psvi_rows_bins *bins) {
    bins->most = psvi_rows_most_bins(boxes, false);
    if (bins->most == 0) return;
    bins->entry_room = 11 * boxes / 2 + 4096;
    bins->state = psvi_carve(carver, sizeof *bins->state);
    bins->counts = psvi_carve(carver, 4 * (uint64_t)bins->most);
    bins->starts = psvi_carve(carver, 4 * ((uint64_t)bins->most + 1));
    bins->entries = psvi_carve(carver, 16 * bins->entry_room);
}

static void carve_counted(psvi_carver *carver, const psv_pair_finder_def *def, psvi_rows_memory *memory) {
    const uint64_t cells = (uint64_t)1 << memory->key_bits;
    memory->fused = psvi_carve(carver, sizeof *memory->fused);
    memory->counted.ranks = psvi_carve(carver, 4 * memory->room);
    carve_bins(carver, memory->room, &memory->bins);
    if (memory->bins.most == 0 && def->world_count > 1) // find_counted_at_once
        memory->bins.state = psvi_carve(carver, sizeof *memory->bins.state);
    memory->counted.cell_counts = psvi_carve(carver, 4 * (cells + 4));
    memory->counted.scan_states = psvi_carve(carver, 8 * (cells / ROWS_SCAN_TILE + 2));
}

static void carve_sorted(psvi_carver *carver, psvi_rows_memory *memory) {
    memory->sorted.keys = psvi_carve(carver, 4 * memory->room);
    memory->sorted.order = psvi_carve(carver, 4 * memory->room);
    memory->sorted.sorted_keys = psvi_carve(carver, 4 * memory->room);
}

// The tree of frames whose sweep would cost more lies where the sort's entries or records were, if they have room for
// it. They are not asked for any more then. `there`: that place, with so many bytes.
static void carve_tree(psvi_carver *carver, const psv_pair_finder_def *def, void *there, uint64_t bytes,
                       psvi_lbvh_at_once *tree) {
    psvi_carver measure = {NULL, 0}, inside = {there, 0};
    psvi_lay_out_lbvh_at_once(&measure, def, tree);
    const bool fits = measure.used <= bytes;
    psvi_lay_out_lbvh_at_once(fits ? &inside : carver, def, tree);
    tree->progress = psvi_carve(carver, sizeof *tree->progress);
}

static void carve_tree_of(psvi_carver *carver, const psv_pair_finder_def *def, psvi_rows_memory *memory) {
    const psvi_rows_segments *const segments = &memory->segmented.segments;
    if (memory->bins.most > 0)
        carve_tree(carver, def, memory->bins.entries, 16 * memory->bins.entry_room, &memory->tree);
    else if (memory->order == PSVI_ROWS_BY_SEGMENTS)
        carve_tree(carver, def, memory->segmented.split, 32 * (uint64_t)segments->room * segments->held, &memory->tree);
    else
        carve_tree(carver, def, NULL, 0, &memory->tree);
}

// Returns the sorter's part.
static void *layout(psvi_carver *carver, const psv_pair_finder_def *def, psvi_rows_memory *memory) {
    *memory = (psvi_rows_memory){.order = order_of(def), .room = room_of(def)};
    memory->key_bits = psvi_rows_key_bits(def->max_boxes, psvi_names_sorter(def));
    memory->plan = psvi_carve(carver, sizeof *memory->plan);
    memory->watch = psvi_carve(carver, sizeof *memory->watch);
    if (def->world_count > 1) memory->worlds = psvi_carve(carver, sizeof *memory->worlds);
    if (memory->order == PSVI_ROWS_BY_COUNTING)
        carve_counted(carver, def, memory);
    else if (memory->order == PSVI_ROWS_BY_SEGMENTS)
        carve_segments(carver, memory);
    else
        carve_sorted(carver, memory);
    carve_tree_of(carver, def, memory);
    memory->starts = psvi_carve(carver, 4 * (psvi_rows_start_cells(memory) + 4));
    memory->records = psvi_carve(carver, 32 * memory->room + 1024); // see rows_uniform_arrays
    return psvi_carve(carver, sorter_bytes(def));
}

static uint64_t rows_scratch_bytes(const psv_pair_finder_def *def) {
    psvi_carver carver = {NULL, 0};
    psvi_rows_memory memory;
    (void)layout(&carver, def, &memory);
    return carver.used;
}

static void rows_destroy(psvi_choice *choice) {
    rows_state *state = choice->state;
    if (state == NULL) return;
    psv_destroy_sorter(state->sorter);
    psvi_cuda_free_pinned(choice->context, state->told, TOLD * sizeof *state->told);
    free(state);
    choice->state = NULL;
}

// --- creation --------------------------------------------------------------------------------------------------------

static psvi_rows_facts facts_of_choice(const psvi_choice *choice) {
    const psvi_device_info *info = &choice->context->info;
    return (psvi_rows_facts){.code_capability = info->code_capability,
                             .multiprocessors = info->multiprocessors,
                             .shared_bytes = info->shared_bytes_per_block,
                             .cooperative = info->cooperative_launch,
                             .room = choice->def.max_boxes,
                             .sorter_named = psvi_names_sorter(&choice->def)};
}

static cudaError_t prepare_bins(rows_state *state) {
    psvi_rows_memory *const memory = &state->memory;
    cudaError_t error = psvi_prepare_rows_bins_split(memory);
    if (error == cudaSuccess) error = psvi_prepare_rows_bins_order(memory);
    state->uses_bins = error == cudaSuccess;
    return error;
}

// The words by which the host learns that a route did not serve, or may serve again.
static psv_status make_told(psv_context *context, rows_state *state) {
    void *host = NULL, *device = NULL;
    psv_status status = psvi_cuda_alloc_pinned(context, TOLD * sizeof *state->told, &host, &device);
    state->told = host;
    state->memory.worlds_told = (uint32_t *)device + PAUSING_WORLDS;
    state->memory.bins.told = (uint32_t *)device + PAUSING_BINS;
    state->memory.fused_told = (uint32_t *)device + PAUSING_FUSED;
    state->memory.changed_told = (uint32_t *)device + TOLD_CHANGED;
    state->memory.tree_told = (uint32_t *)device + TOLD_TREE;
    return status;
}

static cudaError_t prepare_segments(psvi_rows_memory *memory) {
    cudaError_t error = psvi_prepare_rows_segments_split(memory);
    if (error == cudaSuccess) error = psvi_prepare_rows_segments_order(memory);
    if (error == cudaSuccess) error = psvi_prepare_rows_segments_sweep();
    if (error == cudaSuccess) error = psvi_prepare_rows_segments_sweep_ruled();
    return error;
}

static bool facts_have_bins(const psvi_rows_facts *facts, const psvi_rows_memory *memory) {
    return facts->code_capability >= ROWS_BIN_CODE && memory->bins.tile != 0;
}

static cudaError_t prepare(rows_state *state) {
    psvi_rows_memory *const memory = &state->memory;
    cudaError_t error = psvi_prepare_lbvh_at_once();
    if (error == cudaSuccess) error = psvi_prepare_rows_exact();
    if (error == cudaSuccess) error = psvi_prepare_rows_exact_ruled();
    if (error == cudaSuccess && memory->order == PSVI_ROWS_BY_SEGMENTS) error = prepare_segments(memory);
    if (error == cudaSuccess && memory->fused_blocks > 0) error = psvi_prepare_rows_fused();
    if (error == cudaSuccess && memory->fused_blocks > 0) error = psvi_prepare_rows_fused_ruled();
    if (error == cudaSuccess && facts_have_bins(&state->facts, memory)) error = prepare_bins(state);
    return error;
}

static psv_status rows_create(psvi_choice *choice) {
    rows_state *state = calloc(1, sizeof *state);
    if (state == NULL) return psvi_fail(choice->context, PSV_ERROR_MEMORY, "%zu bytes of host memory", sizeof *state);
    choice->state = state;
    psvi_carver carver = {choice->scratch, 0};
    psvi_rows_memory *const memory = &state->memory;
    void *scratch = layout(&carver, &choice->def, memory);
    const psvi_rows_facts facts = state->facts = facts_of_choice(choice);
    memory->multiprocessors = (uint32_t)facts.multiprocessors;
    memory->policy = psvi_rows_policy_of((uint32_t)facts.code_capability);
    memory->early = facts.code_capability >= 90;
    memory->tree.wanted = &memory->plan->bound.over;
    memory->tree.route = PSVI_ROWS_TREE;
    memory->tree.veto = PSVI_ROWS_VETO_COST;
    memory->fused_blocks = memory->order == PSVI_ROWS_BY_COUNTING ? psvi_rows_fused_blocks(&facts) : 0;
    memory->bins.tile = psvi_rows_bin_tile(facts.shared_bytes, memory->bins.most);
    psv_status status = psvi_cuda_status(choice->context, prepare(state), "rows: cudaFuncSetAttribute");
    const bool pausing = state->uses_bins || memory->fused_blocks > 0 || choice->def.world_count > 1;
    if (status == PSV_OK && pausing) status = make_told(choice->context, state);
    if (status == PSV_OK)
        status = choice->context->ops->fill(choice->context, choice->scratch, 0, choice->scratch_bytes);
    if (status == PSV_OK && memory->order == PSVI_ROWS_BY_SORTER) {
        psv_sorter_def def = sorter_def(&choice->def);
        def.scratch = psv_buffer_of(scratch, sorter_bytes(&choice->def));
        status = psv_create_sorter(choice->context, &def, &state->sorter);
    }
    if (status != PSV_OK) rows_destroy(choice);
    return status;
}

// --- frames ----------------------------------------------------------------------------------------------------------

static psv_status sort_keys(rows_state *state, const psvi_find_input *input) {
    const bool counted = input->a.count_device != NULL || input->b.count_device != NULL;
    const psvi_sort_request request = {
        .keys_in = state->memory.sorted.keys,
        .keys_out = state->memory.sorted.sorted_keys,
        .values_out = state->memory.sorted.order,
        .value_bytes = 4,
        .implicit_index = true,
        .count = psvi_most_boxes(input),
        .count_device = counted ? &state->memory.plan->slots : NULL,
    };
    return psvi_sort_run(state->sorter, &request);
}

typedef cudaError_t rows_launcher(const psvi_find_input *, const psvi_rows_memory *, cudaStream_t);

// The sweeps of frames without and with rules of pairs.
typedef struct rows_sweeps {
    rows_launcher *fused, *uniform, *exact, *counted_exact, *segments;
} rows_sweeps;

static const rows_sweeps *sweeps_of(const psvi_find_input *input) {
    static const rows_sweeps plain = {psvi_launch_rows_fused, psvi_launch_rows_uniform, psvi_launch_rows_exact,
                                      psvi_launch_rows_counted_exact, psvi_launch_rows_segments_sweep};
    static const rows_sweeps ruled = {psvi_launch_rows_fused_ruled, psvi_launch_rows_uniform_ruled,
                                      psvi_launch_rows_exact_ruled, psvi_launch_rows_counted_exact_ruled,
                                      psvi_launch_rows_segments_sweep_ruled};
    static const rows_sweeps listed = {psvi_launch_rows_fused_ruled, psvi_launch_rows_uniform_listed,
                                       psvi_launch_rows_exact_ruled, psvi_launch_rows_counted_exact_ruled,
                                       psvi_launch_rows_segments_sweep_ruled};
    return input->rules == NULL ? &plain : input->partners == NULL ? &ruled : &listed;
}

static psv_status run_phase(const psvi_choice *choice, psv_phase phase, rows_launcher *launch,
                            const psvi_find_input *input) {
    psv_context *context = choice->context;
    rows_state *state = choice->state;
    psvi_phase_begin(context, phase);
    cudaError_t error = launch(input, &state->memory, context->stream);
    psvi_phase_end(context, phase);
    return psvi_cuda_status(context, error, "rows: a kernel launch");
}

// The same for a kernel that runs other phases too and tells how long they took.
static psv_status run_split_phase(const psvi_choice *choice, psv_phase phase, rows_launcher *launch,
                                  const psvi_find_input *input) {
    psv_context *context = choice->context;
    rows_state *state = choice->state;
    psvi_find_input timed = *input;
    psvi_phase_begin(context, phase);
    timed.times = psvi_phase_split(context);
    cudaError_t error = launch(&timed, &state->memory, context->stream);
    psvi_phase_end(context, phase);
    return psvi_cuda_status(context, error, "rows: a kernel launch");
}

static psv_status find_segmented(const psvi_choice *choice, const psvi_find_input *input) {
    psv_status status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_plan, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SORT, psvi_launch_rows_segments_split, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SORT, psvi_launch_rows_segments_order, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SWEEP, sweeps_of(input)->segments, input);
    return status;
}

// What the kernels in front have left: all of a frame that did not suit them, else nothing.
static psv_status find_counted_at_once(const psvi_choice *choice, const psvi_find_input *input) {
    return run_split_phase(choice, PSV_PHASE_SWEEP, sweeps_of(input)->counted_exact, input);
}

// By bins and the uniform sweep; by counting and the exact sweep, in one launch, where these did not suit the frame.
static psv_status find_binned(const psvi_choice *choice, const psvi_find_input *input) {
    rows_state *const state = choice->state;
    psv_status status = PSV_OK;
    if (state->bins_planned != state->memory.bins.pauses + 1)
        status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_bins_plan, input);
    state->bins_planned = state->memory.bins.pauses + 1;
    if (status == PSV_OK) status = run_split_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_bins_split, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SORT, psvi_launch_rows_bins_order, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SWEEP, sweeps_of(input)->uniform, input);
    return status == PSV_OK ? find_counted_at_once(choice, input) : status;
}

// Can a frame be counted and swept in one launch? This is done after a frame that went by the tree: then the sweep has
// likely nothing to do, and the tree takes less time in a launch of its own.
static bool counts_at_once(const rows_state *state, uint32_t route) {
    return route == PSVI_ROWS_COUNTED_EXACT && state->memory.bins.state != NULL && state->told != NULL;
}

static psv_status find_counted(const psvi_choice *choice, const psvi_find_input *input) {
    rows_state *const state = choice->state;
    state->memory.at_once =
        state->memory.has_tree && counts_at_once(state, input->route) && state->told[TOLD_TREE] != 0;
    if (state->memory.at_once) {
        const psv_status planned = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_plan, input);
        return planned == PSV_OK ? find_counted_at_once(choice, input) : planned;
    }
    psv_status status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_keys, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SORT, psvi_launch_rows_counted_scan, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SORT, psvi_launch_rows_counted_scatter, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SWEEP, sweeps_of(input)->exact, input);
    return status;
}

static psv_status find_sorted(const psvi_choice *choice, const psvi_find_input *input) {
    psv_status status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_keys, input);
    if (status != PSV_OK || psvi_most_boxes(input) < 2) return status;
    status = sort_keys(choice->state, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_GATHER, psvi_launch_rows_sorted_gather, input);
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SWEEP, sweeps_of(input)->exact, input);
    return status;
}

// Is a route left out of a frame that it could do? So for some after one that it did not suit: the device keeps such
// frames right, but not fast. That is known when the device tells, some frames later. Boxes of another scene end it.
static bool pauses(rows_state *state, uint32_t which) {
    rows_pause *const pause = &state->pauses[which];
    const uint32_t failures = state->told[which];
    if (failures != pause->seen) {
        psvi_backoff_failed(&pause->backoff, ROWS_ROUTE_PAUSE, 16 * ROWS_ROUTE_PAUSE);
        pause->seen = failures;
        pause->served = 0;
        ++state->pauses_begun;
        if (which == PAUSING_BINS) ++state->memory.bins.pauses;
    }
    if (state->told[TOLD_CHANGED] == state->pauses_begun) pause->backoff.left = 0;
    if (psvi_backoff_waits(&pause->backoff)) return true;
    if (pause->served < ROWS_ROUTE_PAUSE && ++pause->served == ROWS_ROUTE_PAUSE)
        psvi_backoff_succeeded(&pause->backoff);
    return false;
}

static psvi_rows_facts facts_of_frame(const rows_state *state, const psvi_find_input *input) {
    psvi_rows_facts facts = state->facts;
    const psvi_box_view *const view = &input->a;
    facts.boxes = psvi_most_boxes(input);
    facts.two_sets = input->between;
    facts.worlds = input->world_count > 1;
    facts.listed_worlds = facts.worlds && view->worlds != NULL ? input->world_count : 0;
    facts.listed = view->worlds != NULL;
    return facts;
}

// Leaves out the routes that pause. The first frame of a finder takes a route that plans for shapes and few larger
// boxes too: it shows whether the fused kernel suits the scene. Not in a graph, which would keep that route.
static psvi_rows_choice choose_route(rows_state *state, psvi_rows_facts *facts, bool is_first) {
    static const psvi_rows_route pausing[PAUSING] = {
        [PAUSING_WORLDS] = PSVI_ROWS_WORLDS, [PAUSING_BINS] = PSVI_ROWS_BINS, [PAUSING_FUSED] = PSVI_ROWS_FUSED};
    psvi_rows_choice choice = psvi_rows_choose_route(facts);
    state->memory.fused_waits =
        is_first && choice.route == PSVI_ROWS_FUSED && facts->boxes >= ROWS_FUSED_TOLD && !facts->two_sets;
    for (uint32_t which = 0; which < PAUSING; ++which) {
        if (choice.route != pausing[which] || !(state->memory.fused_waits || pauses(state, which))) continue;
        facts->paused |= 1u << choice.route;
        choice = psvi_rows_choose_route(facts);
    }
    if (state->memory.fused_waits) choice.veto = PSVI_ROWS_VETO_FIRST;
    state->memory.pause = facts->paused != 0 ? state->pauses_begun : 0;
    state->memory.fused_pauses = (facts->paused >> PSVI_ROWS_FUSED & 1) != 0 && !state->memory.fused_waits;
    return choice;
}

// The result is cleared already, but by FUSED.
static psv_status find_by(const psvi_choice *choice, const psvi_find_input *frame) {
    switch (frame->route) {
    case PSVI_ROWS_BINS: return find_binned(choice, frame);
    case PSVI_ROWS_FUSED: return run_split_phase(choice, PSV_PHASE_SWEEP, sweeps_of(frame)->fused, frame);
    case PSVI_ROWS_COUNTED_EXACT: return find_counted(choice, frame);
    case PSVI_ROWS_SEGMENTS_UNIFORM:
    case PSVI_ROWS_SEGMENTS_NEAR: return find_segmented(choice, frame);
    case PSVI_ROWS_SORTER: return find_sorted(choice, frame);
    default: return PSV_OK; // no boxes
    }
}

// All boxes, if they lie in order of world; else none. The other route, which is not FUSED, has none or all of them: by
// counting that is one launch behind the plan.
static psv_status find_in_worlds(const psvi_choice *choice, psvi_rows_facts facts, const psvi_find_input *input) {
    const rows_state *const state = choice->state;
    facts.paused |= 1u << PSVI_ROWS_WORLDS | 1u << PSVI_ROWS_FUSED;
    psvi_find_input rest = *input;
    rest.a.count_device = &state->memory.worlds->rest;
    rest.route = psvi_rows_choose_route(&facts).route;
    rest.veto = PSVI_ROWS_VETO_ORDER;
    psv_status status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_worlds_check, input);
    if (status == PSV_OK && rest.route == PSVI_ROWS_COUNTED_EXACT) {
        status = run_phase(choice, PSV_PHASE_KEYS, psvi_launch_rows_plan, &rest);
        if (status == PSV_OK) status = find_counted_at_once(choice, &rest);
    } else if (status == PSV_OK) {
        status = find_by(choice, &rest);
    }
    if (status == PSV_OK) status = run_phase(choice, PSV_PHASE_SWEEP, psvi_launch_rows_worlds, input);
    return status;
}

// Behind a sweep: does nothing unless that was given up, or not begun, as it would cost more than the tree.
static psv_status find_by_tree(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    const rows_state *const state = choice->state;
    if (!state->memory.tree_behind) return PSV_OK;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    const cudaError_t error = psvi_launch_lbvh_at_once(input, &state->memory.tree, (int)state->memory.multiprocessors,
                                                       state->memory.early, context->stream);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return psvi_cuda_status(context, error, "rows: a kernel launch");
}

static psv_status rows_find(const psvi_choice *choice, const psvi_find_input *input) {
    rows_state *const state = choice->state;
    psvi_rows_facts facts = facts_of_frame(state, input);
    const bool is_first = !state->has_frames && !psvi_is_captured(choice->context);
    const psvi_rows_choice taken = choose_route(state, &facts, is_first);
    state->has_frames = true;
    state->memory.has_tree =
        taken.route != PSVI_ROWS_WORLDS && taken.route != PSVI_ROWS_NO_ROUTE &&
        (taken.route != PSVI_ROWS_FUSED || !psvi_rows_fused_is_local(&state->memory, facts.boxes)) &&
        facts.room <= ROWS_TREE_MOST;
    // In the last launch of the sweep it is already, but of many boxes and where pairs have rules.
    state->memory.tree_behind =
        state->memory.has_tree &&
        (input->rules != NULL || state->memory.order == PSVI_ROWS_BY_SEGMENTS || counts_at_once(state, taken.route));
    state->memory.at_once = false;
    if (taken.route == PSVI_ROWS_WORLDS) return find_in_worlds(choice, facts, input); // which clears the result
    psvi_find_input frame = *input;
    frame.route = taken.route;
    frame.veto = taken.veto;
    psv_status status = taken.route == PSVI_ROWS_FUSED ? PSV_OK : psvi_clear_result(choice->context, input);
    if (status == PSV_OK) status = find_by(choice, &frame);
    return status == PSV_OK ? find_by_tree(choice, &frame) : status;
}

static psv_status rows_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    rows_state *state = choice->state;
    if (state->memory.order != PSVI_ROWS_BY_SORTER) {
        const bool twice = state->memory.order == PSVI_ROWS_BY_SEGMENTS ||
                           strcmp(statistics->route, psvi_rows_route_name(PSVI_ROWS_BINS)) == 0;
        const bool sorted = strcmp(statistics->route, psvi_rows_route_name(PSVI_ROWS_WORLDS)) != 0;
        statistics->sort_passes = !sorted ? 0 : twice ? 2 : 1;
        statistics->sort_method = PSVI_SORT_CELLS;
        return PSV_OK;
    }
    return psvi_add_sort_statistics(state->sorter, statistics);
}

const psvi_broad_phase psvi_broad_phase_rows_cuda = {
    .name = "rows",
    .description = "row-sorted sweep and prune: one key sort, then each box sweeps a few neighbouring rows",
    .scratch_bytes = rows_scratch_bytes,
    .create = rows_create,
    .destroy = rows_destroy,
    .find = rows_find,
    .statistics = rows_statistics,
    .route_name = psvi_rows_route_name,
    .veto_name = psvi_rows_veto_name,
    .veto_text = psvi_rows_veto_text,
    .clears_result = true,
};
