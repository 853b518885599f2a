// `pairsieve pairs` gives exactly the known pair counts of three real simulations (see README.md of the data).
// usage: test_mesh_counts BACKEND [I/N]. I/N: of N parts of the methods the one with number I, 0 to N - 1. Skips
// (77), saying why, where the data or the backend is not there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_scale.h"
#include "pairsieve/collision.h"
#include "tool_process.h"

#define SKIPPED 77

typedef struct mesh_scene {
    const char *frames[2];
    long long counts[4]; // in the order of `searches`
    bool small;          // brute force is fast enough on the CPU
} mesh_scene;

static const char *const searches[4] = {"--boxes edges", "--between vertices faces", "--boxes faces", "--boxes all"};

static const mesh_scene scenes[] = {
    {{"armadillo-rollers/frames/326.ply", "armadillo-rollers/frames/327.ply"},
     {5262435, 2104730, 2877204, 21238275},
     false},
    {{"cloth-ball/frames/cloth_ball92.ply", "cloth-ball/frames/cloth_ball93.ply"},
     {5901866, 1932231, 4539382, 25057379},
     false},
    {{"cloth-funnel/frames/227.ply", "cloth-funnel/frames/228.ply"}, {172385, 62771, 153821, 805888}, true},
};
#define SCENES (sizeof scenes / sizeof *scenes)

static bool data_is_there(void) {
    for (size_t s = 0; s < SCENES; ++s) {
        for (int f = 0; f < 2; ++f) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/scalable-ccd/%s", PAIRSIEVE_DATA_DIR, scenes[s].frames[f]);
            if (access(path, R_OK) == 0) continue;
            printf("skipped: %s is not there (set PAIRSIEVE_DATA_DIR to the folder of the meshes)\n", path);
            return false;
        }
    }
    return true;
}

static int count_failures(const char *backend, const char *method, const mesh_scene *scene) {
    int failures = 0;
    for (int s = test_thinning() > 1 ? 3 : 0; s < 4; ++s) {
        char arguments[3072];
        (void)snprintf(
            arguments, sizeof arguments,
            "pairs '%s/scalable-ccd/%s' '%s/scalable-ccd/%s' %s --backend %s --broad-phase %s --repeat 0 --json",
            PAIRSIEVE_DATA_DIR, scene->frames[0], PAIRSIEVE_DATA_DIR, scene->frames[1], searches[s], backend, method);
        json_t *object = tool_json(arguments);
        long long pairs = object != NULL ? (long long)json_integer_value(json_object_get(object, "pairs")) : -1;
        const char *used = json_string_value(json_object_get(object, "method"));
        bool right = pairs == scene->counts[s] && used != NULL && strcmp(used, method) == 0;
        printf("%-5s %-6s %-38s %-25s %9lld %s\n", backend, method, scene->frames[0], searches[s], pairs,
               right ? "exact" : "WRONG");
        if (!right) printf("      due: %lld by the method %s\n", scene->counts[s], method);
        failures += !right;
        json_decref(object);
    }
    return failures;
}

int main(int argc, char **argv) {
    psv_backend backend;
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    uint32_t part = 0, parts = 1;
    if (argc > 2) {
        char *end;
        part = (uint32_t)strtoul(argv[2], &end, 10);
        parts = *end == '/' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
        if (part >= parts) return 2;
    }
    if (!psv_backend_available(backend)) {
        printf("skipped: no usable device for the backend %s\n", argv[1]);
        return SKIPPED;
    }
    if (!data_is_there()) return SKIPPED;
    if (test_kernels_only()) {
        printf("skipped: these are the kernels of test_pairs\n");
        return SKIPPED;
    }
    int failures = 0, searched = 0;
    const char *method;
    for (uint32_t m = 0; (method = psv_broad_phase_name(backend, m)) != NULL; ++m) {
        if (m % parts != part) continue;
        // Brute force takes minutes on the CPU for the larger scenes, and sap3 is its reference form: quadratic there.
        bool slow = backend == PSV_BACKEND_CPU && (strcmp(method, "brute") == 0 || strcmp(method, "sap3") == 0);
        for (size_t s = 0; s < SCENES; ++s) {
            // Builds with sanitizers leave the large scenes to the others.
            bool reduced = test_scale() > 1 && (slow || !scenes[s].small);
            if (reduced || (slow && !scenes[s].small)) continue;
            failures += count_failures(argv[1], method, &scenes[s]);
            ++searched;
        }
    }
    return failures == 0 && searched > 0 ? 0 : 1;
}
