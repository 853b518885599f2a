// The files of the command line: checks before the work, and outputs that replace the old content only when they are
// complete.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static bool is_stdout(const char *path) { return strcmp(path, "-") == 0; }

// The folder of a file that does not exist yet, links followed, and the file's name behind the last slash.
static bool resolve_folder(const char *path, char folder[PATH_MAX], const char **name) {
    char text[PATH_MAX];
    const char *slash = psvi_last_slash(path);
    const size_t length = slash == NULL ? 1 : (size_t)(slash - path) + 1;
    if (length >= sizeof text) return false;
    memcpy(text, slash == NULL ? "." : path, length);
    text[length] = 0;
    *name = slash == NULL ? path : slash + 1;
    return realpath(text, folder) != NULL;
}

static bool same_file(const char *a, const char *b) {
    if (is_stdout(a) || is_stdout(b)) return strcmp(a, b) == 0;
    struct stat first, second;
    const bool has_first = stat(a, &first) == 0, has_second = stat(b, &second) == 0;
    if (has_first != has_second) return false;
#if !defined(_WIN32) // which has no file numbers
    if (has_first)   // two outputs may go to one device or pipe
        return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
#endif
    char folder_a[PATH_MAX], folder_b[PATH_MAX];
    const char *name_a, *name_b;
    return resolve_folder(a, folder_a, &name_a) && resolve_folder(b, folder_b, &name_b) &&
           strcmp(folder_a, folder_b) == 0 && strcmp(name_a, name_b) == 0;
}

static int check_writable(const char *path) {
    struct stat old;
    const bool existed = stat(path, &old) == 0;
    if (existed && S_ISFIFO(old.st_mode)) // opened once only, for who reads it sees its end when it is closed
        return access(path, W_OK) == 0 ? TOOL_DONE : tool_fail(TOOL_REFUSED, "%s: %s", path, strerror(errno));
    FILE *file = fopen(path, "ab");
    if (file == NULL) return tool_fail(TOOL_REFUSED, "%s: %s", path, strerror(errno));
    (void)fclose(file);
    if (!existed) (void)remove(path);
    return TOOL_DONE;
}

static int check_pair(const tool_file *a, const tool_file *b) {
    const bool only_read = a->is_input && b->is_input, same = same_file(a->path, b->path);
    if (only_read || !same) return TOOL_DONE;
    const bool snapshots = a->is_input != b->is_input && a->needs_name && b->needs_name;
    if (snapshots) return TOOL_DONE;
    if (a->is_input || b->is_input)
        return tool_fail(TOOL_REFUSED, "%s %s: the file is %s that is read", a->is_input ? b->option : a->option,
                         b->path, a->is_input ? a->option : b->option);
    return tool_fail(TOOL_REFUSED, "%s and %s both go to %s", a->option, b->option,
                     is_stdout(a->path) ? "standard output" : b->path);
}

int tool_check_files(const tool_file *files, uint32_t count) {
    int code = TOOL_DONE;
    for (uint32_t i = 0; i < count && code == TOOL_DONE; ++i) {
        if (files[i].path == NULL || files[i].is_input) continue;
        if (files[i].path[0] == 0) return tool_fail(TOOL_REFUSED, "%s needs a file's name", files[i].option);
        if (is_stdout(files[i].path)) {
            if (files[i].needs_name)
                return tool_fail(TOOL_REFUSED, "%s -: standard output takes no snapshot; a file's name is needed",
                                 files[i].option);
            continue;
        }
        code = check_writable(files[i].path);
    }
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < i && code == TOOL_DONE; ++k)
            if (files[i].path != NULL && files[k].path != NULL) code = check_pair(&files[k], &files[i]);
    return code;
}

bool tool_uses_stdout(const tool_file *files, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        if (files[i].path != NULL && !files[i].is_input && is_stdout(files[i].path)) return true;
    return false;
}

int tool_open_output(tool_output *output, const char *path) {
    output->path = path;
    output->stream = stdout;
    if (is_stdout(path)) return TOOL_DONE;
    if (!psvi_open_replaced(&output->file, path)) return tool_fail(TOOL_REFUSED, "%s: %s", path, strerror(errno));
    output->stream = output->file.stream;
    return TOOL_DONE;
}

int tool_close_output(tool_output *output, bool keep) {
    if (output->stream != stdout) {
        if (psvi_close_replaced(&output->file, keep)) return TOOL_DONE;
        return tool_fail(TOOL_FAILED, "%s: could not be written: %s", output->path, strerror(errno));
    }
    if (fflush(stdout) == 0 && !ferror(stdout)) return TOOL_DONE;
    return tool_fail(TOOL_FAILED, "could not write the output");
}
