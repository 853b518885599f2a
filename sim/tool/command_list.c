// `pairsieve list` and `pairsieve info`: the choices, and the devices of this machine.
#include <inttypes.h>

#include "info_memory.h"
#include "pairsieve/collision.h"
#include "pairsieve/sim.h"
#include "pairsieve/sort.h"
#include "tool.h"

typedef const char *(*name_function)(psv_backend backend, uint32_t index);
typedef const char *(*description_function)(psv_backend backend, const char *name);

// The methods of a build do not depend on the machine's devices, so the table of the build is used.
static void print_methods(const char *title, name_function name_at, description_function describe) {
    printf("%s\n", title);
    for (int b = PSV_BACKEND_CPU; b <= PSV_BACKEND_VULKAN; ++b) {
        const psv_backend backend = (psv_backend)b;
        const char *name;
        for (uint32_t i = 0; (name = name_at(backend, i)) != NULL; ++i) {
            const char *description = describe(backend, name);
            printf("  %-6s %-10s %s\n", psv_backend_name(backend), name, description != NULL ? description : "");
        }
    }
}

static json_t *methods_json(name_function name_at, psv_backend backend) {
    json_t *names = json_array();
    const char *name;
    for (uint32_t i = 0; (name = name_at(backend, i)) != NULL; ++i)
        json_array_append_new(names, json_string(name));
    return names;
}

static int parse_simple(const char *name, const char *summary, bool *json, int argc, char **argv) {
    const tool_option options[] = {
        {.name = "--json", .help = "print one JSON object and nothing else", .kind = OPTION_FLAG, .target = json}};
    tool_command command = {
        .name = name, .usage = "[--json]", .summary = summary, .options = options, .option_count = 1};
    return tool_parse_options(&command, argc, argv);
}

// "sort" and "broad_phase": the methods of each backend.
static void add_methods(json_t *object) {
    json_t *sort = json_object(), *broad_phase = json_object();
    for (int b = PSV_BACKEND_CPU; b <= PSV_BACKEND_VULKAN; ++b) {
        const char *backend = psv_backend_name((psv_backend)b);
        json_object_set_new(sort, backend, methods_json(psv_sort_method_name, (psv_backend)b));
        json_object_set_new(broad_phase, backend, methods_json(psv_broad_phase_name, (psv_backend)b));
    }
    json_object_set_new(object, "sort", sort);
    json_object_set_new(object, "broad_phase", broad_phase);
}

static int list_json(void) {
    json_t *scenes = json_array();
    for (uint32_t i = 0; psv_shipped_scene_name(i) != NULL; ++i)
        json_array_append_new(scenes, json_string(psv_shipped_scene_name(i)));
    json_t *object = json_pack("{s:o}", "scenes", scenes);
    add_methods(object);
    return tool_print_json(object);
}

int command_list(int argc, char **argv) {
    bool json = false;
    int code = parse_simple("list", "Lists the scenes for 'pairsieve run' and the methods of each backend.", &json,
                            argc, argv);
    if (code != TOOL_CONTINUE) return code;
    if (json) return list_json();
    printf("scenes (pairsieve run SCENE; a path to a scene file works too)\n");
    for (uint32_t i = 0; psv_shipped_scene_name(i) != NULL; ++i)
        printf("  %-14s %s\n", psv_shipped_scene_name(i), psv_shipped_scene_description(i));
    print_methods("\nsorting methods (--sort, --method; auto chooses)", psv_sort_method_name,
                  psv_sort_method_description);
    print_methods("\nbroad-phase methods (--broad-phase; auto chooses)", psv_broad_phase_name,
                  psv_broad_phase_description);
    return TOOL_DONE;
}

// --- info -----------------------------------------------------------------------------------------------------------

typedef struct device_facts {
    bool available;
    char name[128];
    int workers;
    uint64_t free_bytes, total_bytes;
    psv_device_info info;
} device_facts;

static device_facts ask_device(psv_backend backend) {
    device_facts facts = {.available = false};
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    psv_context *context;
    if (!psv_backend_available(backend) || psv_create_context(&def, &context) != PSV_OK) return facts;
    facts.available = true;
    (void)snprintf(facts.name, sizeof facts.name, "%s", psv_context_device_name(context));
    facts.workers = psv_context_worker_count(context);
    facts.info = psv_context_device_info(context);
    if (psv_memory_info(context, &facts.free_bytes, &facts.total_bytes) != PSV_OK)
        facts.free_bytes = facts.total_bytes = 0;
    psv_destroy_context(context);
    return facts;
}

#define BACKENDS 4 // CPU, CUDA, OpenGL, Vulkan

static const char *absence_of(psv_backend backend) {
    if (backend == PSV_BACKEND_CUDA)
        return PAIRSIEVE_BUILT_WITH_CUDA ? "no usable GPU on this machine" : "not in this build (PAIRSIEVE_CUDA)";
    if (backend == PSV_BACKEND_GL)
        return PAIRSIEVE_BUILT_WITH_GL ? "no OpenGL 4.5 without a window on this machine"
                                       : "not in this build (PAIRSIEVE_GL)";
    if (backend == PSV_BACKEND_VULKAN)
        return PAIRSIEVE_BUILT_WITH_VULKAN ? "no Vulkan 1.2 on this machine" : "not in this build (PAIRSIEVE_VULKAN)";
    return "not available";
}

// Capabilities as people write them: 9.0, not 90.
static const char *capability_text(int capability, char text[16]) {
    (void)snprintf(text, 16, "%d.%d", capability / 10, capability % 10);
    return text;
}

static void add_device_info(json_t *backend, const psv_device_info *info) {
    char device[16], code[16];
    json_t *facts = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:b, s:b}", "capability", capability_text(info->capability, device),
        "code_capability", capability_text(info->code_capability, code), "multiprocessors", info->multiprocessors,
        "driver_version", info->driver_version, "runtime_version", info->runtime_version, "shared_bytes_per_block",
        (json_int_t)info->shared_bytes_per_block, "l2_bytes", (json_int_t)info->l2_bytes, "cooperative_launch",
        info->cooperative_launch, "cluster_launch", info->cluster_launch);
    json_object_update_new(backend, facts);
}

static void print_device_info(const psv_device_info *info) {
    char device[16], code[16];
    printf("        capability %s, code for %s; %d multiprocessors, %" PRIu64 " KB of shared memory a block, %" PRIu64
           " MB of L2; clusters %s\n",
           capability_text(info->capability, device), capability_text(info->code_capability, code),
           info->multiprocessors, info->shared_bytes_per_block / 1024, info->l2_bytes >> 20,
           info->cluster_launch ? "yes" : "no");
}

static int info_json(const device_facts facts[BACKENDS]) {
    json_t *backends = json_object();
    for (int b = 0; b < BACKENDS; ++b) {
        json_t *backend = json_pack("{s:b}", "available", facts[b].available);
        if (facts[b].available) {
            json_object_set_new(backend, "device", json_string(facts[b].name));
            json_object_set_new(backend, "free_bytes", json_integer((json_int_t)facts[b].free_bytes));
            json_object_set_new(backend, "total_bytes", json_integer((json_int_t)facts[b].total_bytes));
        }
        if (facts[b].available && b == 1) add_device_info(backend, &facts[b].info);
        if (facts[b].available && b == 0) json_object_set_new(backend, "workers", json_integer(facts[b].workers));
        json_object_set_new(backends, psv_backend_name((psv_backend)(b + 1)), backend);
    }
    char version[32];
    (void)snprintf(version, sizeof version, "%d.%d.%d", PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
    json_t *object =
        json_pack("{s:s, s:o, s:{s:b, s:b, s:b, s:s, s:s}}", "version", version, "backends", backends, "build", "cuda",
                  PAIRSIEVE_BUILT_WITH_CUDA, "gl", PAIRSIEVE_BUILT_WITH_GL, "vulkan", PAIRSIEVE_BUILT_WITH_VULKAN,
                  "type", PAIRSIEVE_BUILD_TYPE, "compiler", PAIRSIEVE_COMPILER);
    add_methods(object);
    return tool_print_json(object);
}

int command_info(int argc, char **argv) {
    bool json = false, memory = false, has_boxes = false;
    uint64_t boxes = 1000000;
    const char *method = NULL;
    const tool_option options[] = {
        {.name = "--memory",
         .help = "instead: what pair finders, sorters and trees take of each backend's memory, by part",
         .kind = OPTION_FLAG,
         .target = &memory},
        {.name = "--boxes",
         .argument = "N",
         .help = "with --memory: for so many boxes; 1M without it",
         .kind = OPTION_COUNT,
         .target = &boxes,
         .least = 1,
         .most = (uint64_t)1 << 30,
         .given = &has_boxes},
        {.name = "--broad-phase",
         .argument = "NAME",
         .help = "with --memory: of that method; auto without it",
         .kind = OPTION_TEXT,
         .target = &method},
        {.name = "--json", .help = "print one JSON object and nothing else", .kind = OPTION_FLAG, .target = &json}};
    tool_command command = {.name = "info",
                            .usage = "[--memory [--boxes N]] [--json]",
                            .summary = "Shows the backends and devices that can be used, the methods and the build.",
                            .options = options,
                            .option_count = sizeof options / sizeof *options};
    const int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    if (!memory && (has_boxes || method != NULL))
        return tool_fail(TOOL_REFUSED, "%s goes with --memory", has_boxes ? "--boxes" : "--broad-phase");
    if (memory) return info_memory(boxes, method, json);
    const device_facts facts[BACKENDS] = {ask_device(PSV_BACKEND_CPU), ask_device(PSV_BACKEND_CUDA),
                                          ask_device(PSV_BACKEND_GL), ask_device(PSV_BACKEND_VULKAN)};
    if (json) return info_json(facts);
    const double gib = 1024.0 * 1024.0 * 1024.0;
    printf("pairsieve %d.%d.%d, %s, %s; CUDA %s, OpenGL %s, Vulkan %s\n\nbackends\n", PSV_VERSION_MAJOR,
           PSV_VERSION_MINOR, PSV_VERSION_PATCH, PAIRSIEVE_BUILD_TYPE, PAIRSIEVE_COMPILER,
           PAIRSIEVE_BUILT_WITH_CUDA ? "on" : "off", PAIRSIEVE_BUILT_WITH_GL ? "on" : "off",
           PAIRSIEVE_BUILT_WITH_VULKAN ? "on" : "off");
    for (int b = 0; b < BACKENDS; ++b) {
        printf("  %-6s ", psv_backend_name((psv_backend)(b + 1)));
        if (!facts[b].available) {
            printf("%s\n", absence_of((psv_backend)(b + 1)));
            continue;
        }
        printf("%s", facts[b].name);
        if (facts[b].total_bytes != 0) // not every driver reports it
            printf(", %.1f of %.1f GiB free", (double)facts[b].free_bytes / gib, (double)facts[b].total_bytes / gib);
        printf(b == 0 ? ", %d threads\n" : "\n", facts[b].workers);
        if (b == 1) print_device_info(&facts[b].info);
    }
    print_methods("\nsorting methods", psv_sort_method_name, psv_sort_method_description);
    print_methods("\nbroad-phase methods", psv_broad_phase_name, psv_broad_phase_description);
    return TOOL_DONE;
}
