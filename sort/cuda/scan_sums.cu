#include <cub/device/device_scan.cuh>

#include "../../core/cuda/cuda_backend.h"
#include "scan_sums.h"

extern "C" psv_status psvi_scan_check(psv_context *context, uint64_t count) {
    size_t bytes = 0;
    psv_status status = psvi_cuda_status(
        context, cub::DeviceScan::ExclusiveSum(NULL, bytes, (const uint32_t *)NULL, (uint32_t *)NULL, (uint32_t)count),
        "scan size query");
    if (status == PSV_OK && bytes > psvi_scan_bytes(count))
        return psvi_fail(context, PSV_ERROR_INTERNAL, "this toolkit's scan wants %llu bytes for %llu sums",
                         (unsigned long long)bytes, (unsigned long long)count);
    return status;
}

extern "C" psv_status psvi_scan_sums(psv_context *context, const uint32_t *sums, uint32_t *prefix, uint64_t count,
                                     void *temporary) {
    size_t bytes = psvi_scan_bytes(count);
    return psvi_cuda_status(
        context,
        cub::DeviceScan::ExclusiveSum(temporary, bytes, sums, prefix, (uint32_t)count, (cudaStream_t)context->stream),
        "cub::DeviceScan");
}
