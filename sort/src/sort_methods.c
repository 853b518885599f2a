// The sort modules of the backends (core/backend_list.h), and the look-up of a method by its name.
#include <string.h>

#include "../../core/backend_list.h"
#include "auto.h"
#include "word_keys.h"

#define DECLARE(name, backend, core, sort, collision, sim)                                                             \
    extern const psvi_sort_module psvi_##name##_sorts;                                                                 \
    PSVI_AUTO_METHOD(name, backend)                                                                                    \
    PSVI_WORDS_METHOD(name, backend)
PSVI_BACKENDS(DECLARE)

#define LIST(name, backend, core, sort, collision, sim)                                                                \
    {backend, sort(psvi_##name##_sorts), &auto_##name, &words_##name},
static const struct {
    psv_backend backend;
    const psvi_sort_module *module;
    const psvi_sort_method *automatic, *words;
} modules[] = {PSVI_BACKENDS(LIST)};

#define MODULES (sizeof modules / sizeof *modules)

const psvi_sort_module *psvi_sort_module_of(psv_backend backend) {
    for (size_t i = 0; i < MODULES; ++i)
        if (modules[i].backend == backend) return modules[i].module;
    return NULL;
}

static const psvi_sort_method *auto_of(psv_backend backend) {
    for (size_t i = 0; i < MODULES; ++i)
        if (modules[i].backend == backend) return modules[i].automatic;
    return NULL;
}

const psvi_sort_method *psvi_words_method_of(psv_backend backend) {
    for (size_t i = 0; i < MODULES; ++i)
        if (modules[i].backend == backend) return modules[i].words;
    return NULL;
}

const psvi_sort_method *psvi_find_sort_method(psv_backend backend, const char *name) {
    const psvi_sort_module *module = psvi_sort_module_of(backend);
    if (module == NULL || name == NULL) return NULL;
    if (strcmp(name, "auto") == 0) return auto_of(backend);
    for (const psvi_sort_method *const *method = module->methods; *method != NULL; ++method)
        if (strcmp((*method)->name, name) == 0) return *method;
    return NULL;
}

const char *psv_sort_method_name(psv_backend backend, uint32_t index) {
    const psvi_sort_module *module = psvi_sort_module_of(backend);
    if (module == NULL) return NULL;
    for (const psvi_sort_method *const *method = module->methods; *method != NULL; ++method)
        if (index-- == 0) return (*method)->name;
    return NULL;
}

const char *psv_sort_method_description(psv_backend backend, const char *method) {
    const psvi_sort_method *found = psvi_find_sort_method(backend, method);
    return found == NULL ? NULL : found->description;
}
