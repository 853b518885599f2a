// The list of broad-phase methods of each backend, in the order in which help texts show them, and the choice of
// «auto».
#include <string.h>

#include "finder_common.h"

extern const psvi_broad_phase psvi_broad_phase_brute_cpu;
extern const psvi_broad_phase psvi_broad_phase_lbvh_cpu;
extern const psvi_broad_phase psvi_broad_phase_rows_cpu;
extern const psvi_broad_phase psvi_broad_phase_sap3_cpu;
extern const psvi_broad_phase psvi_broad_phase_sweep_cpu;

const psvi_broad_phase *const psvi_broad_phases_cpu[] = {
    &psvi_broad_phase_rows_cpu,  &psvi_broad_phase_lbvh_cpu,  &psvi_broad_phase_sap3_cpu,
    &psvi_broad_phase_sweep_cpu, &psvi_broad_phase_brute_cpu, NULL,
};

#if PSV_HAVE_CUDA
extern const psvi_broad_phase psvi_broad_phase_brute_cuda;
extern const psvi_broad_phase psvi_broad_phase_grid_cuda;
extern const psvi_broad_phase psvi_broad_phase_lbvh_cuda;
extern const psvi_broad_phase psvi_broad_phase_rows_cuda;
extern const psvi_broad_phase psvi_broad_phase_sap3_cuda;
extern const psvi_broad_phase psvi_broad_phase_sweep_cuda;

const psvi_broad_phase *const psvi_broad_phases_cuda[] = {
    &psvi_broad_phase_rows_cuda,
    &psvi_broad_phase_lbvh_cuda,
    &psvi_broad_phase_grid_cuda,
    &psvi_broad_phase_sap3_cuda,
    &psvi_broad_phase_sweep_cuda,
    &psvi_broad_phase_brute_cuda,
    NULL,
};
#endif

#if PSV_HAVE_GL
extern const psvi_broad_phase psvi_broad_phase_brute_gl;
extern const psvi_broad_phase psvi_broad_phase_lbvh_gl;
extern const psvi_broad_phase psvi_broad_phase_rows_gl;

const psvi_broad_phase *const psvi_broad_phases_gl[] = {
    &psvi_broad_phase_rows_gl,
    &psvi_broad_phase_lbvh_gl,
    &psvi_broad_phase_brute_gl,
    NULL,
};
#endif

static const psvi_broad_phase *const *methods_of(psv_backend backend) {
    if (backend == PSV_BACKEND_CPU) return psvi_broad_phases_cpu;
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_CUDA) return psvi_broad_phases_cuda;
#endif
#if PSV_HAVE_GL
    if (backend == PSV_BACKEND_GL) return psvi_broad_phases_gl;
#endif
    return NULL;
}

const psvi_collision_ops *psvi_collision_ops_of(psv_backend backend) {
    if (backend == PSV_BACKEND_CPU) return &psvi_collision_ops_cpu;
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_CUDA) return &psvi_collision_ops_cuda;
#endif
#if PSV_HAVE_GL
    if (backend == PSV_BACKEND_GL) return &psvi_collision_ops_gl;
#endif
    return NULL;
}

const psvi_broad_phase *psvi_find_broad_phase(psv_backend backend, const char *name) {
    const psvi_broad_phase *const *methods = methods_of(backend);
    for (; methods != NULL && *methods != NULL && name != NULL; ++methods)
        if (strcmp((*methods)->name, name) == 0) return *methods;
    return NULL;
}

const char *psv_broad_phase_name(psv_backend backend, uint32_t index) {
    const psvi_broad_phase *const *methods = methods_of(backend);
    if (methods == NULL) return NULL;
    for (; *methods != NULL; ++methods)
        if (index-- == 0) return (*methods)->name;
    return NULL;
}

const char *psv_pair_sort_name(psv_backend backend, uint32_t index) {
    if (methods_of(backend) == NULL) return NULL;
    return index == 0 ? PSVI_SORT_CELLS : psv_sort_method_name(backend, index - 1);
}

const char *psv_pair_sorter_name(const char *sort_method) {
    return sort_method != NULL && strcmp(sort_method, PSVI_SORT_CELLS) == 0 ? "radix" : sort_method;
}

const char *psv_broad_phase_description(psv_backend backend, const char *method) {
    const psvi_broad_phase *found = psvi_find_broad_phase(backend, method);
    return found == NULL ? NULL : found->description;
}

// «auto» is `rows`, on the CPU `brute` for few boxes. There `rows` took less time than `lbvh` on every scene that was
// tried with more, of even and of mixed sizes, and on meshes (.3 to .96 of it). On
// CUDA `rows` wins even for few (H200: 0.035 ms against 0.085 at 256 boxes), and on an OpenGL GPU on every scene that
// was tried (docs/gl.md). On llvmpipe it takes half of the time of `lbvh` where sizes are alike, two to three times as
// much where they are mixed.
enum { CPU_ROWS = 0, CPU_BRUTE = 1 }; // choices of «auto» on the CPU

uint32_t psvi_list_choices(psv_backend backend, const char *name, const psvi_broad_phase **choices) {
    if (strcmp(name, "auto") != 0) {
        choices[0] = psvi_find_broad_phase(backend, name);
        return choices[0] != NULL;
    }
    if (backend == PSV_BACKEND_CPU) {
        choices[CPU_ROWS] = &psvi_broad_phase_rows_cpu;
        choices[CPU_BRUTE] = &psvi_broad_phase_brute_cpu;
        return CPU_BRUTE + 1;
    }
    choices[0] = psvi_find_broad_phase(backend, "rows");
    return choices[0] != NULL;
}

#define BRUTE_LIMIT 256 // to this count testing all pairs is cheaper than ordering the boxes

uint32_t psvi_pick_choice(const psv_pair_finder *finder, const psvi_find_input *input) {
    const psvi_finder_common *common = psvi_common(finder);
    if (common->choice_count < 2) return 0;
    uint64_t count = input->a.count + (input->between ? input->b.count : 0);
    return count <= BRUTE_LIMIT ? CPU_BRUTE : CPU_ROWS;
}
