// The table of backends: names, operations, and which of them `auto` takes.
#include "backend_list.h"

#include <stdio.h>
#include <string.h>

#include "context.h"

typedef struct listed_backend {
    const char *name;
    psv_backend backend;
    const psvi_backend_ops *ops; // NULL: not in this build
} listed_backend;

#define DECLARE(name, backend, core, sort, collision, sim) extern const psvi_backend_ops psvi_##name##_ops;
PSVI_BACKENDS(DECLARE)

#define LIST(name, backend, core, sort, collision, sim) {#name, backend, core(psvi_##name##_ops)},
static const listed_backend backends[] = {PSVI_BACKENDS(LIST)};

#define BACKENDS (sizeof backends / sizeof *backends)

const psvi_backend_ops *psvi_backend_ops_of(psv_backend backend) {
    for (size_t i = 0; i < BACKENDS; ++i)
        if (backends[i].backend == backend) return backends[i].ops;
    return NULL;
}

// A backend with a processor of its own where there is one.
psv_backend psvi_resolve_backend(psv_backend backend) {
    if (backend != PSV_BACKEND_AUTO) return backend;
    for (size_t i = 0; i < BACKENDS; ++i)
        if (backends[i].ops != NULL && backends[i].ops->preferred && backends[i].ops->available())
            return backends[i].backend;
    return PSV_BACKEND_CPU;
}

bool psv_backend_available(psv_backend backend) {
    const psvi_backend_ops *ops = psvi_backend_ops_of(psvi_resolve_backend(backend));
    return ops != NULL && ops->available();
}

const char *psv_backend_name(psv_backend backend) {
    for (size_t i = 0; i < BACKENDS; ++i)
        if (backends[i].backend == backend) return backends[i].name;
    return backend == PSV_BACKEND_AUTO ? "auto" : "unknown backend";
}

const char *psvi_backend_names(bool built, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "auto");
    for (size_t i = 0; i < BACKENDS && used < bytes; ++i)
        if (!built || backends[i].ops != NULL)
            used += (size_t)snprintf(text + used, bytes - used, ", %s", backends[i].name);
    return text;
}

psv_status psv_parse_backend(const char *name, psv_backend *backend) {
    char names[PSVI_BACKEND_NAMES_BYTES];
    if (name == NULL || backend == NULL)
        return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "%s is NULL", name == NULL ? "name" : "backend");
    const listed_backend *found = NULL;
    for (size_t i = 0; i < BACKENDS; ++i)
        if (strcmp(name, backends[i].name) == 0) found = &backends[i];
    if (found != NULL || strcmp(name, "auto") == 0) {
        *backend = found != NULL ? found->backend : PSV_BACKEND_AUTO;
        return PSV_OK;
    }
    return psvi_fail(NULL, PSV_ERROR_ARGUMENT, "unknown backend '%.40s'; accepted: %s", name,
                     psvi_backend_names(false, names, sizeof names));
}
