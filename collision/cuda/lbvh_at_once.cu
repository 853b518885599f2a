// All of `lbvh` in one launch, behind a sweep of `rows`. Where it is not wanted it ends at once, so it is one launch
// and not ten.
#include "../../core/cuda/early_launch.cuh"
#include "launch_cuda.h"
#include "lbvh_at_once.cuh"

// As many blocks as the device holds.
template <bool ASKS>
__global__ void __launch_bounds__(LBVH_ONCE_THREADS, 2)
    psvk_lbvh_at_once(const __grid_constant__ psvi_find_input input, const __grid_constant__ psvi_lbvh_at_once its) {
    psvd_wait_for_front();
    if (its.wanted != NULL && *(const volatile uint32_t *)its.wanted == 0) return;
    extern __shared__ __align__(16) unsigned char dynamic[];
    lbvh_at_once::find<ASKS>(input, its, *reinterpret_cast<lbvh_at_once::lbvh_once_shared *>(dynamic));
}

extern "C" void psvi_lay_out_lbvh_at_once(psvi_carver *carver, const psv_pair_finder_def *def, psvi_lbvh_at_once *its) {
    psvi_lay_out_lbvh(carver, def, &its->memory);
    const uint64_t room = its->memory.room;
    its->pairs[0] = psvi_carve(carver, 8 * room);
    its->pairs[1] = psvi_carve(carver, 8 * room);
    its->memory.keys = static_cast<uint32_t *>(its->pairs[0]);
    its->memory.order = its->memory.keys == NULL ? NULL : its->memory.keys + room;
    its->tile_room = (uint32_t)((room + PSVI_LBVH_TILE - 1) / PSVI_LBVH_TILE + 128) / 128 *
                     128; // one more than there are tiles, at least
    its->counts = static_cast<uint32_t *>(psvi_carve(carver, 4 * (uint64_t)its->tile_room * PSVI_LBVH_DIGITS));
}

extern "C" cudaError_t psvi_prepare_lbvh_at_once(void) {
    const auto allow = [](auto *kernel) {
        return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)sizeof(lbvh_at_once::lbvh_once_shared));
    };
    const cudaError_t error = allow(psvk_lbvh_at_once<false>);
    return error == cudaSuccess ? allow(psvk_lbvh_at_once<true>) : error;
}

extern "C" cudaError_t psvi_launch_lbvh_at_once(const psvi_find_input *input, const psvi_lbvh_at_once *its,
                                                int multiprocessors, bool early, cudaStream_t stream) {
    const auto kernel = psvd_overlap_decides(*input) ? psvk_lbvh_at_once<false> : psvk_lbvh_at_once<true>;
    const uint32_t blocks = 2 * (uint32_t)(multiprocessors > 0 ? multiprocessors : 1);
    return psvi_launch_early(early, stream, kernel, blocks, LBVH_ONCE_THREADS, sizeof(lbvh_at_once::lbvh_once_shared),
                             *input, *its);
}
