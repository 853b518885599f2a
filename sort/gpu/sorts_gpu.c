// What OpenGL and Vulkan have for the sort layer.
#include "gpu_methods.h"

static const psvi_sort_method *const methods[] = {&psvi_sort_radix_gpu,  &psvi_sort_radix4_gpu,  &psvi_sort_split_gpu,
                                                  &psvi_sort_hybrid_gpu, &psvi_sort_bitonic_gpu, NULL};
static const char *const auto_candidates[] = {"radix", "bitonic", NULL};

#define MODULE                                                                                                         \
    {                                                                                                                  \
        .methods = methods, .auto_candidates = auto_candidates, .auto_largest = UINT64_MAX,                            \
        .largest_count = UINT32_MAX, .largest_wide_count = (uint64_t)1 << 31,                                          \
        .write_identity = psvi_gpu_write_identity, .gather_records = psvi_gpu_gather_records,                          \
        .check_order = psvi_gpu_check_order,                                                                           \
    }

#if PSV_HAVE_GL
const psvi_sort_module psvi_gl_sorts = MODULE;
#endif
#if PSV_HAVE_VULKAN
const psvi_sort_module psvi_vulkan_sorts = MODULE;
#endif
