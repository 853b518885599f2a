#include "replay_exports.h"

#include <errno.h>
#include <string.h>

#include "replay_gltf.h"
#include "replay_page.h"

#if defined(_WIN32)
#include <direct.h>
#define make_folder(path) _mkdir(path)
#else
#define make_folder(path) mkdir(path, 0777)
#endif

static int name_page(const char *folder, char path[PATH_MAX]) {
    const int length = snprintf(path, PATH_MAX, "%s/index.html", folder);
    return length > 0 && length < PATH_MAX ? TOOL_DONE
                                           : tool_fail(TOOL_REFUSED, "--web: the name of the folder is too long");
}

bool tool_wants_exports(const replay_exports *exports) { return exports->web != NULL || exports->gltf != NULL; }

static int prepare_page(const char *folder, char path[PATH_MAX]) {
    if (folder[0] == 0) return tool_fail(TOOL_REFUSED, "--web needs a folder's name");
    if (make_folder(folder) != 0 && errno != EEXIST)
        return tool_fail(TOOL_REFUSED, "--web %s: %s", folder, strerror(errno));
    return name_page(folder, path);
}

int tool_prepare_exports(const replay_exports *exports) {
    char page[PATH_MAX];
    if (exports->one_frame && exports->gltf == NULL)
        return tool_fail(TOOL_REFUSED, "--gltf-frame goes with --gltf, which names the file");
    const int code = exports->web != NULL ? prepare_page(exports->web, page) : TOOL_DONE;
    const tool_file files[] = {{.option = "--web", .path = exports->web != NULL ? page : NULL},
                               {.option = "--gltf", .path = exports->gltf, .needs_name = true}};
    return code == TOOL_DONE ? tool_check_files(files, 2) : code;
}

static int write_page(const char *folder, const char *replay_path) {
    replay_error error;
    tool_output output;
    char path[PATH_MAX];
    int code = name_page(folder, path);
    if (code == TOOL_DONE) code = tool_open_output(&output, path);
    if (code != TOOL_DONE) return code;
    const bool good = replay_write_page(output.stream, replay_path, &error);
    code = tool_close_output(&output, good);
    return good ? code : tool_fail(TOOL_FAILED, "%s", error.text);
}

static int write_gltf(const replay_exports *exports, replay_reader *reader) {
    replay_error error;
    tool_output output;
    const uint32_t frames = replay_frame_count(reader);
    if (exports->one_frame && exports->gltf_frame >= frames)
        return tool_fail(TOOL_REFUSED, "--gltf-frame %llu: the replay has frames 0 to %u",
                         (unsigned long long)exports->gltf_frame, frames - 1);
    int code = tool_open_output(&output, exports->gltf);
    if (code != TOOL_DONE) return code;
    const uint64_t frame = exports->one_frame ? exports->gltf_frame : REPLAY_WHOLE_RUN;
    const bool good = replay_write_gltf(output.stream, reader, frame, &error);
    code = tool_close_output(&output, good);
    return good ? code : tool_fail(TOOL_REFUSED, "--gltf %s: %s", exports->gltf, error.text);
}

int tool_export_replay(const replay_exports *exports, const char *replay_path) {
    replay_error error;
    int code = exports->web != NULL ? write_page(exports->web, replay_path) : TOOL_DONE;
    if (code != TOOL_DONE || exports->gltf == NULL) return code;
    replay_reader *reader = replay_open(replay_path, false, &error);
    if (reader == NULL) return tool_fail(TOOL_FAILED, "%s", error.text);
    code = write_gltf(exports, reader);
    replay_close(reader);
    return code;
}
