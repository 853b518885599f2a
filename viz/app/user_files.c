#include "user_files.h"

#include "../../core/portable/path_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_NAMES 10000

static bool fits(int length) { return length > 0 && length < VIEW_PATH_BYTES; }

static const char *home_folder(void) {
    const char *home = getenv("HOME");
#if defined(_WIN32)
    if (home == NULL || home[0] == '\0') home = getenv("USERPROFILE");
#endif
    return home != NULL && home[0] != '\0' ? home : NULL;
}

// A line of user-dirs.dirs: XDG_PICTURES_DIR="$HOME/..." or an absolute path. False for any other line.
static bool parse_folder(const char *line, const char *home, char *folder) {
    static const char key[] = "XDG_PICTURES_DIR=\"", variable[] = "$HOME";
    while (isspace((unsigned char)*line))
        ++line;
    if (strncmp(line, key, sizeof key - 1) != 0) return false;
    line += sizeof key - 1;
    const char *end = strchr(line, '"');
    const bool below = strncmp(line, variable, sizeof variable - 1) == 0;
    if (end == NULL || (!below && line[0] != '/')) return false;
    if (below) line += sizeof variable - 1;
    return fits(snprintf(folder, VIEW_PATH_BYTES, "%s%.*s", below ? home : "", (int)(end - line), line));
}

static bool read_user_folders(const char *home, char *folder) {
    char path[VIEW_PATH_BYTES], line[VIEW_PATH_BYTES];
    const char *settings = getenv("XDG_CONFIG_HOME");
    const bool set = settings != NULL && settings[0] == '/';
    if (!fits(snprintf(path, sizeof path, "%s%s/user-dirs.dirs", set ? settings : home, set ? "" : "/.config")))
        return false;
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = parse_folder(line, home, folder);
    if (file != NULL) (void)fclose(file);
    return found;
}

// The user's folder of pictures; the working folder for a user without a home.
static void find_pictures(char *folder) {
    const char *set = getenv("XDG_PICTURES_DIR"), *home = home_folder();
    if (set != NULL && set[0] == '/' && fits(snprintf(folder, VIEW_PATH_BYTES, "%s", set))) return;
    if (home != NULL && read_user_folders(home, folder)) return;
    if (home == NULL || !fits(snprintf(folder, VIEW_PATH_BYTES, "%s/Pictures", home)))
        (void)snprintf(folder, VIEW_PATH_BYTES, ".");
}

// Makes the folder and those above it.
static bool make_folders(const char *folder) {
    char part[VIEW_PATH_BYTES];
    struct stat is;
    for (size_t i = 1; folder[i] != '\0'; ++i) {
        if (folder[i] != '/') continue;
        (void)snprintf(part, sizeof part, "%.*s", (int)i, folder);
        if (stat(part, &is) != 0) (void)mkdir(part, 0755);
    }
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) return false;
    return access(folder, W_OK) == 0;
}

// The scene's name without its folder and ending, in letters that every file system takes.
static void plain_name(const char *scene, char *name, size_t bytes) {
    const char *slash = psvi_last_slash(scene), *start = slash != NULL ? slash + 1 : scene;
    const char *dot = strrchr(start, '.');
    const size_t length = dot != NULL && dot != start ? (size_t)(dot - start) : strlen(start);
    size_t i = 0;
    for (; i < length && i + 1 < bytes; ++i)
        name[i] = (char)(isalnum((unsigned char)start[i]) ? start[i] : '_');
    name[i] = '\0';
}

bool view_name_user_file(char *path, const char *chosen, const char *scene, uint64_t frame, const char *ending,
                         view_message *message) {
    char folder[VIEW_PATH_BYTES], pictures[VIEW_PATH_BYTES], name[64], number[16] = "";
    struct stat is;
    find_pictures(pictures);
    const int length = chosen != NULL ? snprintf(folder, sizeof folder, "%s", chosen)
                                      : snprintf(folder, sizeof folder, "%s/pairsieve", pictures);
    if (!fits(length) || !make_folders(folder)) {
        view_say(message, "folder '%s' takes no files: %s; --folder names another", folder,
                 strerror(fits(length) ? errno : ENAMETOOLONG));
        return false;
    }
    plain_name(scene, name, sizeof name);
    for (int i = 1; i <= MOST_NAMES; ++i) {
        if (i > 1) (void)snprintf(number, sizeof number, "-%d", i);
        const int used = snprintf(path, VIEW_PATH_BYTES, "%s/pairsieve-%s-%06llu%s.%s", folder, name,
                                  (unsigned long long)frame, number, ending);
        if (!fits(used)) break;
        if (lstat(path, &is) != 0) return true;
    }
    view_say(message, "folder '%s' has no name left for a file of scene '%s'", folder, name);
    return false;
}
