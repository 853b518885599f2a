// The list of sorting methods of each backend, in the order in which help texts show them.
#include <string.h>

#include "../cpu/merge_cpu.h"
#include "../cpu/qsort_cpu.h"
#include "../cpu/radix_cpu.h"
#include "auto.h"
#include "sort_method.h"
#if PSV_HAVE_CUDA
#include "../cuda/cuda_methods.h"
#endif
#if PSV_HAVE_GL
#include "../gl/gl_methods.h"
#endif

const psvi_sort_method *const psvi_sort_methods_cpu[] = {
    &psvi_sort_radix_cpu,
    &psvi_sort_merge_cpu,
    &psvi_sort_qsort_cpu,
    NULL,
};

#if PSV_HAVE_CUDA
extern const psvi_sort_method psvi_sort_radix_cuda;
const psvi_sort_method *const psvi_sort_methods_cuda[] = {
    &psvi_sort_radix_cuda, &psvi_sort_radix4,     &psvi_sort_split, &psvi_sort_hybrid,
    &psvi_sort_bitonic,    &psvi_sort_merge_cuda, &psvi_sort_cub,   NULL,
};
#endif

#if PSV_HAVE_GL
const psvi_sort_method *const psvi_sort_methods_gl[] = {&psvi_sort_radix_gl, &psvi_sort_split_gl, &psvi_sort_bitonic_gl,
                                                        NULL};
#endif

static const psvi_sort_method *const *methods_of(psv_backend backend) {
    if (backend == PSV_BACKEND_CPU) return psvi_sort_methods_cpu;
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_CUDA) return psvi_sort_methods_cuda;
#endif
#if PSV_HAVE_GL
    if (backend == PSV_BACKEND_GL) return psvi_sort_methods_gl;
#endif
    return NULL;
}

static const psvi_sort_method *auto_of(psv_backend backend) {
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_CUDA) return &psvi_sort_auto_cuda;
#endif
#if PSV_HAVE_GL
    if (backend == PSV_BACKEND_GL) return &psvi_sort_auto_gl;
#endif
    (void)backend;
    return &psvi_sort_auto_cpu;
}

const psvi_sort_method *psvi_find_sort_method(psv_backend backend, const char *name) {
    const psvi_sort_method *const *methods = methods_of(backend);
    if (methods != NULL && name != NULL && strcmp(name, "auto") == 0) return auto_of(backend);
    for (; methods != NULL && *methods != NULL && name != NULL; ++methods)
        if (strcmp((*methods)->name, name) == 0) return *methods;
    return NULL;
}

const char *psv_sort_method_name(psv_backend backend, uint32_t index) {
    const psvi_sort_method *const *methods = methods_of(backend);
    if (methods == NULL) return NULL;
    for (; *methods != NULL; ++methods)
        if (index-- == 0) return (*methods)->name;
    return NULL;
}

const char *psv_sort_method_description(psv_backend backend, const char *method) {
    const psvi_sort_method *found = psvi_find_sort_method(backend, method);
    return found == NULL ? NULL : found->description;
}
