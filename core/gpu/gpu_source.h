// Shaders as the build puts them into the library (cmake/embed_glsl.cmake).
#ifndef PAIRSIEVE_CORE_GPU_SOURCE_H
#define PAIRSIEVE_CORE_GPU_SOURCE_H

#include <stdint.h>

// SPIR-V of a shader with one set of defines: "NAME=VALUE NAME=VALUE".
typedef struct psvi_gpu_variant {
    const char *defines;
    const uint32_t *words;
    uint32_t bytes;
} psvi_gpu_variant;

// `name` is the file's; `text` is GLSL with its includes. Without the Vulkan backend there are no variants. `constants`
// ends with NULL: defines that are specialization constants in SPIR-V, by their place.
typedef struct psvi_gpu_source {
    const char *name, *text;
    const psvi_gpu_variant *variants;
    uint32_t variant_count;
    const char *const *constants;
} psvi_gpu_source;

#endif
