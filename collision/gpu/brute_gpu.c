// The all-pairs method in compute shaders, host side.
#include "gpu_frame.h"

#define TILE 64u
#define LEAST_GROUPS 4096u // to keep a device busy

static uint64_t brute_scratch_bytes(const psv_pair_finder_def *def) {
    psvi_carver carver = {NULL, 0};
    (void)psvi_gpu_carve_frame(&carver, def);
    return carver.used;
}

static psv_status brute_create(psvi_choice *choice) { return psvi_gpu_check_room(choice, "brute", 32); }

static psv_status brute_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    psvi_carver carver = {choice->scratch, 0};
    const psvi_gpu_frame frame = psvi_gpu_carve_frame(&carver, &choice->def);
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    psv_status status = psvi_gpu_load_boxes(context, input, &frame);
    const uint64_t own = input->between ? input->a.room : psvi_gpu_slots(input), rows = (own + TILE - 1) / TILE;
    if (status == PSV_OK && rows > 0) {
        uint64_t splits = (LEAST_GROUPS + rows - 1) / rows;
        if (splits > rows) splits = rows;
        psvi_gpu_call call = psvi_gpu_frame_call(input, &frame, &psvi_glsl_brute_pairs, rows * splits);
        call.params[4] = (uint32_t)splits;
        status = psvi_gpu_run(context, &call);
    }
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return status;
}

const psvi_broad_phase psvi_broad_phase_brute_gpu = {
    .name = "brute",
    .description = "tests all pairs; the oracle for the other methods",
    .scratch_bytes = brute_scratch_bytes,
    .create = brute_create,
    .find = brute_find,
};
