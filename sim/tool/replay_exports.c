#include "replay_exports.h"

#include <errno.h>
#include <string.h>

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

int tool_prepare_exports(const replay_exports *exports) {
    char page[PATH_MAX];
    if (exports->web == NULL) return TOOL_DONE;
    if (exports->web[0] == 0) return tool_fail(TOOL_REFUSED, "--web needs a folder's name");
    if (make_folder(exports->web) != 0 && errno != EEXIST)
        return tool_fail(TOOL_REFUSED, "--web %s: %s", exports->web, strerror(errno));
    const int code = name_page(exports->web, page);
    const tool_file file = {.option = "--web", .path = page, .needs_name = true};
    return code == TOOL_DONE ? tool_check_files(&file, 1) : code;
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

int tool_export_replay(const replay_exports *exports, const char *replay_path) {
    return exports->web != NULL ? write_page(exports->web, replay_path) : TOOL_DONE;
}
