// What `pairsieve run` and `pairsieve replay` make of a replay file.
#ifndef PAIRSIEVE_TOOL_REPLAY_EXPORTS_H
#define PAIRSIEVE_TOOL_REPLAY_EXPORTS_H

#include "tool.h"

typedef struct replay_exports {
    const char *web;     // folder of a page; NULL: none
    const char *gltf;    // file; NULL: none
    uint64_t gltf_frame; // with `one_frame`
    bool one_frame;
} replay_exports;

#define TOOL_EXPORT_OPTIONS(exports)                                                                                   \
    {.name = "--web",                                                                                                  \
     .argument = "DIR",                                                                                                \
     .help = "write a page that shows the replay in a browser: DIR/index.html, which needs nothing else",              \
     .kind = OPTION_TEXT,                                                                                              \
     .target = &(exports).web},                                                                                        \
        {.name = "--gltf",                                                                                             \
         .argument = "FILE",                                                                                           \
         .help = "write the run as an animation, binary glTF (.glb)",                                                  \
         .kind = OPTION_TEXT,                                                                                          \
         .target = &(exports).gltf},                                                                                   \
    {                                                                                                                  \
        .name = "--gltf-frame", .argument = "N",                                                                       \
        .help = "with --gltf: frame N alone, its bodies as instances (EXT_mesh_gpu_instancing)", .kind = OPTION_COUNT, \
        .target = &(exports).gltf_frame, .most = UINT32_MAX, .given = &(exports).one_frame                             \
    }

// Before the work: makes the folder of the page, and looks whether the files can be written. An exit code.
int tool_prepare_exports(const replay_exports *exports);

// Something is to be made of the replay.
bool tool_wants_exports(const replay_exports *exports);

// Writes what is asked for. An exit code.
int tool_export_replay(const replay_exports *exports, const char *replay_path);

#endif
