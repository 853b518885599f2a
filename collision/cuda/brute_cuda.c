// The all-pairs method on CUDA, host side.
#include "../../core/cuda/cuda_backend.h"
#include "brute_kernels.h"

static uint64_t brute_scratch_bytes(const psv_pair_finder_def *def) {
    (void)def;
    return 256;
}

static psv_status brute_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    cudaError_t error = psvi_launch_brute(input, context->info.multiprocessors, context->stream);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return psvi_cuda_status(context, error, "brute: a kernel launch");
}

const psvi_broad_phase psvi_broad_phase_brute_cuda = {
    .name = "brute",
    .description = "tests all pairs; the oracle for the other methods",
    .scratch_bytes = brute_scratch_bytes,
    .find = brute_find,
};
