// `radix` in compute shaders: stable digit passes of 8 bits, each of three kernels: count, scan, scatter. No group
// waits for another one, so nothing is assumed about forward progress. radix_choice_gpu.c chooses the form of the
// kernels.
#include "radix_gpu.h"

#include <stdio.h>

#define DIGIT_BITS 8u
#define DIGITS 256u
#define LEAST_TILE 3072u // of the tiled forms
#define LEAST_RUN 64u
#define LEAST_PRIVATE_RUN 1024u
#define SOFTWARE_RUNS 1024u // runs that threads make on a processor, and on a device
#define DEVICE_RUNS 16384u

// A form of the count and scatter kernels.
struct psvi_gpu_radix_form {
    const char *name;
    const psvi_gpu_source *count, *scatter;
    uint32_t threads, items; // of a group; items a thread, of a tile. 0: threads take a run each
    bool software;           // it is for drivers that run shaders on a processor
};

#define TILED &psvi_glsl_radix_count, &psvi_glsl_radix_scatter
static const radix_form forms[] = {
    {"serial", &psvi_glsl_radix_count_serial, &psvi_glsl_radix_scatter_serial, 32, 0, false},
    {"private", &psvi_glsl_radix_count_private, &psvi_glsl_radix_scatter_private, 8, 0, true},
    {"votes 256x12", TILED, 256, 12, false},
    {"votes 256x16", TILED, 256, 16, false},
    {"votes 512x16", TILED, 512, 16, false},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)

const radix_form *psvi_gpu_radix_form_at(uint32_t index) { return index < FORM_COUNT ? &forms[index] : NULL; }
const char *psvi_gpu_radix_form_name(const radix_form *form) { return form->name; }

static uint32_t subgroups_of(const psvi_gpu *gpu, const radix_form *form) {
    return form->threads / gpu->subgroup_size > 0 ? form->threads / gpu->subgroup_size : 1;
}

bool psvi_gpu_radix_offers(const psvi_gpu *gpu, const radix_form *form) {
    if (form->items == 0) return gpu->software || !form->software;
    if (gpu->subgroup_size == 0) return false;
    uint32_t words = form->threads * form->items, counters = subgroups_of(gpu, form) * DIGITS;
    if (counters > words) words = counters;
    return 4 * words + 4 * DIGITS + 8 * subgroups_of(gpu, form) <= gpu->shared_bytes;
}

// How a request is divided: columns of the table, tiles (the work of a group) and parts.
typedef struct radix_plan {
    const radix_form *form;
    uint32_t column_items, tile, row;
    uint32_t parts, tiles_a_part;
} radix_plan;

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// Multiples of 4: runs begin where four words can be read at once.
static uint32_t run_for(uint64_t count, uint64_t runs, uint32_t least) {
    const uint64_t run = (ceil_div(count, runs) + 3) & ~(uint64_t)3;
    return (uint32_t)(run < least ? least : run);
}

static radix_plan plan_for(const psvi_gpu *gpu, const radix_form *form, uint64_t count, uint32_t element_bytes) {
    radix_plan plan = {.form = form};
    if (form->items == 0) {
        uint64_t runs = gpu->software ? SOFTWARE_RUNS : DEVICE_RUNS;
        const uint64_t most_runs = (gpu->block_bytes - 512) / (4 * DIGITS) - 64; // the table is one block
        if (runs > most_runs) runs = most_runs;
        plan.column_items = run_for(count, runs, form->software ? LEAST_PRIVATE_RUN : LEAST_RUN);
        plan.tile = form->threads * plan.column_items;
        plan.row = (uint32_t)ceil_div(count, plan.tile) * form->threads;
    } else {
        plan.column_items = plan.tile = form->threads * form->items;
        plan.row = (uint32_t)ceil_div(count, plan.tile);
    }
    const uint64_t tiles = ceil_div(count, plan.tile), most = (gpu->block_bytes - 512) / element_bytes / plan.tile;
    plan.tiles_a_part = (uint32_t)(tiles < most ? tiles : most);
    plan.parts = plan.tiles_a_part == 0 ? PSVI_GPU_MOST_PARTS + 1 : (uint32_t)ceil_div(tiles, plan.tiles_a_part);
    return plan;
}

// --- memory ----------------------------------------------------------------------------------------------------------

typedef struct radix_memory {
    char *state, *totals, *table;
    char *keys[2], *values[2];
} radix_memory;

// The form is not known before there is a device: the table has room for any.
static uint64_t layout(const psv_sorter_def *def, char *scratch, radix_memory *memory) {
    const uint64_t n = def->max_count, key_bytes = psv_key_type_bytes(def->key_type);
    const uint64_t most_runs = ceil_div(n, LEAST_RUN), tiles = ceil_div(n, LEAST_TILE);
    const uint64_t runs = (most_runs < DEVICE_RUNS ? most_runs : DEVICE_RUNS) + 32;
    char *at = scratch;
    memory->state = psvi_next_part(&at, PSVI_GPU_STATE_BYTES);
    memory->totals = psvi_next_part(&at, 4 * DIGITS);
    memory->table = psvi_next_part(&at, 4 * DIGITS * (runs > tiles ? runs : tiles));
    for (int i = 0; i < 2; ++i) {
        memory->keys[i] = psvi_next_part(&at, key_bytes * n);
        memory->values[i] = psvi_next_part(&at, (uint64_t)def->value_bytes * n);
    }
    return (uint64_t)(at - scratch);
}

static uint64_t radix_scratch_bytes(const psv_sorter_def *def) {
    radix_memory memory;
    return layout(def, (char *)256, &memory);
}

// --- passes ----------------------------------------------------------------------------------------------------------

static psvi_gpu_block part_block(const char *array, uint32_t element_bytes, uint64_t first, uint64_t items) {
    return (psvi_gpu_block){array == NULL ? NULL : array + first * element_bytes, items * element_bytes};
}

// What the count and scatter kernels of a part have in common.
static psvi_gpu_call part_call(const psv_sorter *sorter, const psvi_sort_request *request, const radix_plan *plan,
                               const radix_memory *memory, const psvi_gpu_pass *pass, uint32_t part) {
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    const uint64_t first_tile = (uint64_t)part * plan->tiles_a_part, first = first_tile * plan->tile;
    const uint64_t most = (uint64_t)plan->tiles_a_part * plan->tile;
    const uint64_t items = request->count - first < most ? request->count - first : most;
    psvi_gpu_call call = {
        .blocks = {{memory->state, PSVI_GPU_STATE_BYTES},
                   {memory->table, (uint64_t)4 * DIGITS * plan->row},
                   {memory->totals, 4 * DIGITS},
                   part_block(pass->keys, key_bytes, first, items)},
        .groups = ceil_div(items, plan->tile),
    };
    if (request->count_device != NULL) call.indirect = memory->state + 8 + 12 * (uint64_t)part;
    psvi_gpu_pass_params(&sorter->order, pass, plan->row, call.params);
    call.params[8] = (uint32_t)first_tile;
    call.params[9] = (uint32_t)first;
    call.params[10] = plan->column_items;
    call.params[11] = (uint32_t)items;
    return call;
}

static void form_defines(const psvi_gpu *gpu, const radix_plan *plan, char *text, size_t bytes) {
    const radix_form *form = plan->form;
    text[0] = '\0';
    if (form->items != 0)
        (void)snprintf(
            text, bytes,
            "#define THREADS %u\n#define ITEMS %u\n#define SUBGROUPS %u\n#define LANES %u\n#define PARTS %d\n"
            "#define VOTES 1\n#define WIDE %d\n",
            form->threads, form->items, subgroups_of(gpu, form), gpu->subgroup_size, plan->parts > 1,
            gpu->subgroup_size > 32);
}

static psv_status count_part(psv_sorter *sorter, const psvi_sort_request *request, const radix_plan *plan,
                             const radix_memory *memory, const psvi_gpu_pass *pass, uint32_t part) {
    char defines[PSVI_GPU_DEFINES], more[96] = "";
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    psvi_gpu_call call = part_call(sorter, request, plan, memory, pass, part);
    const psvi_gpu_pass counted = {.first = pass->first};
    const psvi_sort_request keys_only = {0};
    if (plan->form->items != 0)
        (void)snprintf(more, sizeof more, "#define THREADS %uu\n#define TILE %uu\n#define ITEMS %u\n",
                       plan->form->threads, plan->tile, plan->form->items);
    psvi_gpu_pass_defines(defines, sorter, &keys_only, &counted, more);
    call.source = plan->form->count;
    call.defines = defines;
    // The key after the part, to be compared with the part's last one.
    const uint64_t next = call.params[9] + (uint64_t)call.params[11];
    if (pass->first)
        call.blocks[4] = next < request->count ? part_block(pass->keys, key_bytes, next, 1) : call.blocks[3];
    return psvi_gpu_run(sorter->context, &call);
}

// Every part is read once for each part that is written: the others' elements are left out. One part is the rule.
static psv_status scatter_part(psv_sorter *sorter, const psvi_sort_request *request, const radix_plan *plan,
                               const radix_memory *memory, const psvi_gpu_pass *pass, uint32_t part, uint32_t target) {
    char defines[PSVI_GPU_DEFINES], more[160];
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    psvi_gpu_call call = part_call(sorter, request, plan, memory, pass, part);
    const uint64_t most = (uint64_t)plan->tiles_a_part * plan->tile, first = target * most;
    const uint64_t items = request->count - first < most ? request->count - first : most;
    form_defines(psvi_gpu_of(sorter->context), plan, more, sizeof more);
    psvi_gpu_pass any = *pass;
    any.first = false; // the scatter kernels are the same in every pass
    psvi_gpu_pass_defines(defines, sorter, request, &any, more);
    call.source = plan->form->scatter;
    call.defines = defines;
    call.blocks[5] = part_block(pass->keys_out, key_bytes, first, items);
    call.blocks[6] = part_block(pass->values, request->value_bytes, call.params[9], call.params[11]);
    call.blocks[7] = part_block(pass->values_out, request->value_bytes, first, items);
    call.params[12] = (uint32_t)first;
    call.params[13] = (uint32_t)items;
    return psvi_gpu_run(sorter->context, &call);
}

static psv_status run_pass(psv_sorter *sorter, const psvi_sort_request *request, const radix_plan *plan,
                           const radix_memory *memory, const psvi_gpu_pass *pass) {
    psv_status status = PSV_OK;
    for (uint32_t part = 0; part < plan->parts && status == PSV_OK; ++part)
        status = count_part(sorter, request, plan, memory, pass, part);
    if (status == PSV_OK)
        status = psvi_gpu_scan(sorter->context, memory->state, memory->table, memory->totals, DIGITS, plan->row,
                               plan->column_items);
    for (uint32_t part = 0; part < plan->parts && status == PSV_OK; ++part)
        for (uint32_t target = 0; target < plan->parts && status == PSV_OK; ++target)
            status = scatter_part(sorter, request, plan, memory, pass, part, target);
    return status;
}

psv_status psvi_gpu_radix_run(psv_sorter *sorter, const psvi_sort_request *request, const radix_form *form) {
    psv_context *context = sorter->context;
    const uint32_t key_bytes = psv_key_type_bytes(sorter->def.key_type);
    const uint32_t element = key_bytes > request->value_bytes ? key_bytes : request->value_bytes;
    const radix_plan plan = plan_for(psvi_gpu_of(context), form, request->count, element);
    const uint32_t passes = (sorter->order.end_bit - sorter->order.begin_bit + DIGIT_BITS - 1) / DIGIT_BITS;
    if (plan.parts > PSVI_GPU_MOST_PARTS)
        return psvi_fail(context, PSV_ERROR_UNSUPPORTED,
                         "%llu elements need over %u storage blocks of %llu bytes, this driver's limit",
                         (unsigned long long)request->count, PSVI_GPU_MOST_PARTS,
                         (unsigned long long)psvi_gpu_of(context)->block_bytes);
    radix_memory memory;
    (void)layout(&sorter->def, sorter->scratch, &memory);
    psvi_sort_request run = *request;
    psv_status status = psvi_gpu_begin_sort(context, request, memory.state, plan.tile, plan.tiles_a_part, plan.parts,
                                            sorter->def.order_check);
    // One pass cannot work in place: its input is moved away.
    if (passes == 1 && run.keys_in == run.keys_out && status == PSV_OK) {
        run.keys_in = memory.keys[1];
        status = context->ops->copy(context, run.keys_in, request->keys_in, run.count * key_bytes, PSVI_COPY_INSIDE);
    }
    if (passes == 1 && run.values_in != NULL && run.values_in == run.values_out && status == PSV_OK) {
        run.values_in = memory.values[1];
        status = context->ops->copy(context, run.values_in, request->values_in, run.count * run.value_bytes,
                                    PSVI_COPY_INSIDE);
    }
    for (uint32_t p = 0; p < passes && status == PSV_OK; ++p) {
        const psvi_gpu_pass pass = psvi_gpu_pass_of(sorter, &run, p, passes, DIGIT_BITS, memory.keys, memory.values);
        status = run_pass(sorter, &run, &plan, &memory, &pass);
    }
    sorter->statistics = (psv_sort_statistics){.passes_run = passes};
    return status == PSV_OK ? psvi_gpu_finish_sorted(sorter, request, memory.state) : status;
}

static psv_status radix_run(psv_sorter *sorter, const psvi_sort_request *request) {
    const uint32_t choice = psvi_gpu_of(sorter->context)->radix_choice;
    return psvi_gpu_radix_run(sorter, request, &forms[choice == 0 ? 0 : choice - 1]);
}

static psv_status radix_create(psv_sorter *sorter) {
    psv_status status =
        psvi_gpu_of(sorter->context)->radix_choice == 0 ? psvi_gpu_choose_radix(sorter->context) : PSV_OK;
    return status == PSV_OK ? psvi_gpu_prepare(sorter) : status;
}

// Only the device knows whether the input was in order.
static psv_status radix_statistics(psv_sorter *sorter, psv_sort_statistics *statistics) {
    psv_context *context = sorter->context;
    radix_memory memory;
    uint32_t unsorted = 1;
    (void)layout(&sorter->def, sorter->scratch, &memory);
    if (statistics->passes_run == 0) return PSV_OK;
    psv_status status = context->ops->copy(context, &unsorted, memory.state, sizeof unsorted, PSVI_COPY_DOWNLOAD);
    if (status == PSV_OK && unsorted == 0)
        *statistics = (psv_sort_statistics){.passes_skipped = statistics->passes_run};
    return status;
}

const psvi_sort_method psvi_sort_radix_gpu = {
    .name = "radix",
    .description = "stable 8-bit digit passes by count, scan and scatter",
    .scratch_bytes = radix_scratch_bytes,
    .create = radix_create,
    .run = radix_run,
    .statistics = radix_statistics,
};
