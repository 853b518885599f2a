// The sim modules of the backends (core/backend_list.h).
#include "../../core/backend_list.h"
#include "world.h"

#define DECLARE(name, backend, core, sort, collision, sim) extern const psvi_sim_module psvi_##name##_sim;
PSVI_BACKENDS(DECLARE)

#define LIST(name, backend, core, sort, collision, sim) {backend, sim(psvi_##name##_sim)},
static const struct {
    psv_backend backend;
    const psvi_sim_module *module;
} modules[] = {PSVI_BACKENDS(LIST)};

static const psvi_sim_module *module_of(psv_backend backend) {
    for (size_t i = 0; i < sizeof modules / sizeof *modules; ++i)
        if (modules[i].backend == backend) return modules[i].module;
    return NULL;
}

const psvi_sim_module *psvi_sim_module_of(psv_backend backend) {
    const psvi_sim_module *module = module_of(backend);
    return module == NULL || module->ops == NULL ? NULL : module;
}

const struct psvi_render_ops *psvi_render_ops_of(psv_backend backend) {
    const psvi_sim_module *module = module_of(backend);
    return module == NULL ? NULL : module->render;
}
