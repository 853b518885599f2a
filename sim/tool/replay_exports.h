// What `pairsieve run` and `pairsieve replay` make of a replay file.
#ifndef PAIRSIEVE_TOOL_REPLAY_EXPORTS_H
#define PAIRSIEVE_TOOL_REPLAY_EXPORTS_H

#include "tool.h"

typedef struct replay_exports {
    const char *web; // folder of a page; NULL: none
} replay_exports;

#define TOOL_EXPORT_OPTIONS(exports)                                                                                   \
    {                                                                                                                  \
        .name = "--web", .argument = "DIR",                                                                            \
        .help = "write a page that shows the replay in a browser: DIR/index.html, which needs nothing else",           \
        .kind = OPTION_TEXT, .target = &(exports).web                                                                  \
    }

// Before the work: makes the folder of the page, and looks whether the files can be written. An exit code.
int tool_prepare_exports(const replay_exports *exports);

// Writes what is asked for. An exit code.
int tool_export_replay(const replay_exports *exports, const char *replay_path);

#endif
