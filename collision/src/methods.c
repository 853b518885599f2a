// The collision modules of the backends (core/backend_list.h), the look-up of a method by its name, and the choice of
// «auto».
#include <string.h>

#include "../../core/backend_list.h"
#include "finder.h"

#define DECLARE(name, backend, core, sort, collision, sim) extern const psvi_collision_module psvi_##name##_collision;
PSVI_BACKENDS(DECLARE)

#define LIST(name, backend, core, sort, collision, sim) {backend, collision(psvi_##name##_collision)},
static const struct {
    psv_backend backend;
    const psvi_collision_module *module;
} modules[] = {PSVI_BACKENDS(LIST)};

const psvi_collision_module *psvi_collision_module_of(psv_backend backend) {
    for (size_t i = 0; i < sizeof modules / sizeof *modules; ++i)
        if (modules[i].backend == backend) return modules[i].module;
    return NULL;
}

const psvi_collision_ops *psvi_collision_ops_of(psv_backend backend) {
    const psvi_collision_module *module = psvi_collision_module_of(backend);
    return module == NULL ? NULL : module->ops;
}

static const psvi_broad_phase *const *methods_of(psv_backend backend) {
    const psvi_collision_module *module = psvi_collision_module_of(backend);
    return module == NULL ? NULL : module->broad_phases;
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

// «auto» is `rows`, on the CPU `brute` for few boxes. With more boxes `rows` took .3 to .96 of the time of `lbvh` on
// every scene that was tried: even sizes, mixed sizes, meshes. Where its tests would take longer than `lbvh`, it gives
// up, and `lbvh` runs in the same frame. On CUDA `rows` wins even for few (H200: 0.035 ms against 0.085 at 256 boxes),
// and goes by the tree itself in frames whose sweep would cost more. On OpenGL, where it takes longer than `lbvh` does
// on even scenes, that is tried as well: see trials.h.
#define FEW_BOXES_CHOICE 2

// Finders whose «auto» tries `lbvh` on OpenGL, which takes 64 bytes a box. With more its memory is over a gigabyte.
#define TRIAL_LEAST_BOXES UINT64_C(16384)
#define TRIAL_MOST_BOXES (UINT64_C(1) << 24)

uint32_t psvi_list_choices(psv_backend backend, const psv_pair_finder_def *def, const psvi_broad_phase **choices) {
    if (strcmp(def->method, "auto") != 0) {
        choices[0] = psvi_find_broad_phase(backend, def->method);
        return choices[0] != NULL;
    }
    const psvi_collision_module *module = psvi_collision_module_of(backend);
    if (module == NULL) return 0;
    const bool clocked = module->other_least_ms > 0;
    uint32_t count = 0;
    while (count < PSVI_MAX_CHOICES && module->auto_choices[count] != NULL) {
        choices[count] = module->auto_choices[count];
        ++count;
    }
    if (count == 0) choices[count++] = module->broad_phases[0];
    return clocked && (def->max_boxes < TRIAL_LEAST_BOXES || def->max_boxes > TRIAL_MOST_BOXES) ? 1 : count;
}

#define BRUTE_LIMIT 256 // to this count testing all pairs is cheaper than ordering the boxes

// No clock decides here: the first choice gives up where the other one would take less time.
uint32_t psvi_pick_choice(const psv_pair_finder *finder, const psvi_find_input *input) {
    const uint64_t count = input->a.count + (input->between ? input->b.count : 0);
    const bool few = count <= BRUTE_LIMIT && finder->choice_count > FEW_BOXES_CHOICE;
    return few ? FEW_BOXES_CHOICE : PSVI_FIRST_CHOICE;
}
