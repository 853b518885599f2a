// What OpenGL has for the sort layer.
#include "gl_methods.h"

static const psvi_sort_method *const methods[] = {&psvi_sort_radix_gl, &psvi_sort_split_gl, &psvi_sort_bitonic_gl,
                                                  NULL};
static const char *const auto_candidates[] = {"radix", "bitonic", NULL};

const psvi_sort_module psvi_gl_sorts = {
    .methods = methods,
    .auto_candidates = auto_candidates,
    .auto_largest = UINT64_MAX,
    .largest_count = UINT32_MAX,
    .largest_wide_count = (uint64_t)1 << 31,
    .write_identity = psvi_gl_write_identity,
    .gather_records = psvi_gl_gather_records,
    .check_order = psvi_gl_check_order,
};
