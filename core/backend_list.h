// The one list of the backends and of the layers that each of them has in this build. Each layer makes the table of its
// own modules from this list: backend_list.c, sort/src/sort_methods.c, collision/src/methods.c,
// sim/world/sim_backends.c. So a layer that is not linked is not referenced. Another backend is a folder and a line
// here.
#ifndef PAIRSIEVE_CORE_BACKEND_LIST_H
#define PAIRSIEVE_CORE_BACKEND_LIST_H

#define PSVI_HAS(module) &module
#define PSVI_LACKS(module) NULL
#if PSV_HAVE_CUDA
#define PSVI_WITH_CUDA PSVI_HAS
#else
#define PSVI_WITH_CUDA PSVI_LACKS
#endif
#if PSV_HAVE_GL
#define PSVI_WITH_GL PSVI_HAS
#else
#define PSVI_WITH_GL PSVI_LACKS
#endif
#if PSV_HAVE_VULKAN
#define PSVI_WITH_VULKAN PSVI_HAS
#else
#define PSVI_WITH_VULKAN PSVI_LACKS
#endif

// A line of a backend that is kept outside of this list: define it before this header, for the files named above.
#ifndef PSVI_FURTHER_BACKENDS
#define PSVI_FURTHER_BACKENDS(X)
#endif

// X(name, psv_backend, core, sort, collision, sim). The name is that of messages and of the modules: psvi_NAME_ops,
// psvi_NAME_sorts, psvi_NAME_collision, psvi_NAME_sim.
#define PSVI_BACKENDS(X)                                                                                               \
    X(cpu, PSV_BACKEND_CPU, PSVI_HAS, PSVI_HAS, PSVI_HAS, PSVI_HAS)                                                    \
    X(cuda, PSV_BACKEND_CUDA, PSVI_WITH_CUDA, PSVI_WITH_CUDA, PSVI_WITH_CUDA, PSVI_WITH_CUDA)                          \
    X(gl, PSV_BACKEND_GL, PSVI_WITH_GL, PSVI_WITH_GL, PSVI_WITH_GL, PSVI_WITH_GL)                                      \
    X(vulkan, PSV_BACKEND_VULKAN, PSVI_WITH_VULKAN, PSVI_WITH_VULKAN, PSVI_WITH_VULKAN, PSVI_WITH_VULKAN)              \
    PSVI_FURTHER_BACKENDS(X)

#endif
