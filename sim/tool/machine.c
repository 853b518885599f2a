// The machine and the build, as JSON.
#include "machine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/utsname.h>
#endif

#include "commit.h" // made by the build: PAIRSIEVE_COMMIT
#include "tool.h"

static long processors(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

static double load_average(void) {
#if defined(_WIN32)
    return 0;
#else
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : 0;
#endif
}

double tool_machine_load(void) { return load_average() / (double)processors(); }

static void set_system(json_t *machine) {
#if defined(_WIN32)
    json_object_set_new(machine, "system", json_string("Windows"));
#else
    struct utsname names;
    char text[256];
    if (uname(&names) != 0) return;
    (void)snprintf(text, sizeof text, "%.60s %.120s %.60s", names.sysname, names.release, names.machine);
    json_object_set_new(machine, "system", tool_json_text(text));
#endif
}

// The processor's clock at this moment in MHz, from /proc/cpuinfo; 0: not known.
static double clock_mhz(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    double mhz = 0;
    while (file != NULL && mhz == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "cpu MHz", 7) == 0 && strchr(line, ':') != NULL) mhz = strtod(strchr(line, ':') + 1, NULL);
    if (file != NULL) (void)fclose(file);
    return mhz;
}

static void set_date(json_t *machine) {
    char text[32];
    const time_t now = time(NULL);
    struct tm parts;
#if defined(_WIN32)
    if (gmtime_s(&parts, &now) != 0) return;
#else
    if (gmtime_r(&now, &parts) == NULL) return;
#endif
    if (strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        json_object_set_new(machine, "date", json_string(text));
}

// The GPU of the context, and its driver.
static void set_gpu(json_t *machine, const psv_context *context) {
    const psv_backend backend = psv_context_backend(context);
    if (backend == PSV_BACKEND_CPU) return;
    json_object_set_new(machine, "gpu", tool_json_text(psv_context_device_name(context)));
    if (backend != PSV_BACKEND_CUDA) return;
    const psv_device_info info = psv_context_device_info(context);
    json_object_set_new(machine, "gpu_driver", json_integer(info.driver_version));
    json_object_set_new(machine, "gpu_runtime", json_integer(info.runtime_version));
    json_object_set_new(machine, "gpu_multiprocessors", json_integer(info.multiprocessors));
}

// The processor's name, as a CPU context reports it.
static void set_processor(json_t *machine, const psv_context *context) {
    psv_context_def def = psv_default_context_def();
    psv_context *own = NULL;
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    const bool given = context != NULL && psv_context_backend(context) == PSV_BACKEND_CPU;
    if (!given && psv_create_context(&def, &own) != PSV_OK) return;
    json_object_set_new(machine, "processor", tool_json_text(psv_context_device_name(given ? context : own)));
    psv_destroy_context(own);
}

json_t *tool_machine_json(const psv_context *context) {
    char version[32];
    (void)snprintf(version, sizeof version, "%d.%d.%d", PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    json_t *machine =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:f}", "version", version, "commit", PAIRSIEVE_COMMIT,
                  "compiler", PAIRSIEVE_COMPILER, "build_type", PAIRSIEVE_BUILD_TYPE, "cores", (json_int_t)processors(),
                  "memory_bytes", pages > 0 && page_bytes > 0 ? (json_int_t)pages * page_bytes : (json_int_t)0,
                  "load_average", load_average(), "clock_mhz", clock_mhz());
    if (machine == NULL) return NULL;
    set_date(machine);
    set_system(machine);
    set_processor(machine, context);
    if (context != NULL) {
        json_object_set_new(machine, "workers", json_integer(psv_context_worker_count(context)));
        set_gpu(machine, context);
    }
    return machine;
}
