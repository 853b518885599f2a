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
// tried with more, of even and of mixed sizes, and on meshes (.3 to .96 of it); where it tests far more boxes than
// there are pairs, as in a scene smaller than a float can tell, `lbvh` runs for some frames. On CUDA `rows` wins even
// for few (H200: 0.035 ms against 0.085 at 256 boxes). There and on OpenGL, where it takes longer than `lbvh` does on
// even scenes, that is tried as well: see trials.h.
enum { CPU_ROWS = PSVI_FIRST_CHOICE, CPU_LBVH = PSVI_OTHER_CHOICE, CPU_BRUTE = 2 }; // choices on the CPU

// Finders whose «auto» tries `lbvh`, which takes 64 bytes a box. With fewer boxes it cannot win (it takes 0.06 ms for
// any few); with more its memory is over a gigabyte.
#define TRIAL_LEAST_BOXES UINT64_C(16384)
#define TRIAL_MOST_BOXES (UINT64_C(1) << 24)

// `lbvh` on an H200 with cubes of one size, in ms: 0.066, 0.25 and 2.3 with 100K, 1M and 10M boxes on CUDA, 0.47, 1.9
// and 16.6 on OpenGL. On a lesser device it takes longer, and is tried in vain once.
#define LBVH_LEAST_MS 0.045
#define LBVH_LEAST_MS_A_BOX 0.2e-6
#define GL_LBVH_LEAST_MS 0.3
#define GL_LBVH_LEAST_MS_A_BOX 1.6e-6

double psvi_least_ms_of_other(psv_backend backend, uint64_t boxes) {
    if (backend == PSV_BACKEND_GL) return GL_LBVH_LEAST_MS + GL_LBVH_LEAST_MS_A_BOX * (double)boxes;
    return LBVH_LEAST_MS + LBVH_LEAST_MS_A_BOX * (double)boxes;
}

uint32_t psvi_list_choices(psv_backend backend, const psv_pair_finder_def *def, const psvi_broad_phase **choices) {
    if (strcmp(def->method, "auto") != 0) {
        choices[0] = psvi_find_broad_phase(backend, def->method);
        return choices[0] != NULL;
    }
    if (backend == PSV_BACKEND_CPU) {
        choices[CPU_ROWS] = &psvi_broad_phase_rows_cpu;
        choices[CPU_LBVH] = &psvi_broad_phase_lbvh_cpu;
        choices[CPU_BRUTE] = &psvi_broad_phase_brute_cpu;
        return CPU_BRUTE + 1;
    }
    choices[PSVI_FIRST_CHOICE] = psvi_find_broad_phase(backend, "rows");
    if (choices[PSVI_FIRST_CHOICE] == NULL) return 0;
    if (def->max_boxes < TRIAL_LEAST_BOXES || def->max_boxes > TRIAL_MOST_BOXES) return 1;
    choices[PSVI_OTHER_CHOICE] = psvi_find_broad_phase(backend, "lbvh");
    return 2;
}

#define BRUTE_LIMIT 256 // to this count testing all pairs is cheaper than ordering the boxes

// No clock decides here: frames of the CPU are the same every time.
uint32_t psvi_pick_choice(psv_pair_finder *finder, const psvi_find_input *input) {
    const uint64_t count = input->a.count + (input->between ? input->b.count : 0);
    if (count <= BRUTE_LIMIT) return CPU_BRUTE;
    return psvi_backoff_waits(&psvi_common(finder)->wasteful) ? CPU_LBVH : CPU_ROWS;
}

// A hundred boxes are tested in the time that `lbvh` takes for one, about (100,000 boxes of the scene denormal: 46,000
// tests a box, 1,250 ms, `lbvh` 68). A test that finds a pair is no waste.
#define WASTE_A_BOX 1000
#define WASTE_A_PAIR 8
#define WASTE_LEAST 32 // frames without `rows` after such a one,
#define WASTE_MOST 512 // and at most

void psvi_judge_choice(psv_pair_finder *finder, const psvi_frame_result *result) {
    psvi_finder_common *common = psvi_common(finder);
    if (common->choice_count < 2 || finder->method != &psvi_broad_phase_rows_cpu) return;
    if (result->candidates > WASTE_A_BOX * result->boxes + WASTE_A_PAIR * result->pair_count)
        psvi_backoff_failed(&common->wasteful, WASTE_LEAST, WASTE_MOST);
    else
        psvi_backoff_succeeded(&common->wasteful);
}
