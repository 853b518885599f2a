// The cache of `auto`: one text file, one line for each kind of sort:
//   kind<TAB>count=method count=method ...
// in $XDG_CACHE_HOME/pairsieve or ~/.cache/pairsieve (Windows: %LOCALAPPDATA%/pairsieve). A line that cannot be read is
// as good as none. Writing goes through a file of its own and a rename, so that readers and other writers see a whole
// file.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"

#define HEADER "pairsieve sort auto 2\n" // 1: measured one candidate after another
#define MAX_FILE_BYTES (1 << 20)
#define MAX_PATH_BYTES 1024

static bool is_absolute(const char *path) {
#if defined(_WIN32)
    if (path != NULL && path[0] != '\0' && path[1] == ':') return true;
#endif
    return path != NULL && path[0] == '/';
}

// The folder; false when the user has none.
static bool cache_folder(char *folder, size_t bytes) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (is_absolute(cache))
        length = snprintf(folder, bytes, "%s/pairsieve", cache);
    else if (is_absolute(home))
        length = snprintf(folder, bytes, "%s/.cache/pairsieve", home);
#if defined(_WIN32)
    else if (getenv("LOCALAPPDATA") != NULL)
        length = snprintf(folder, bytes, "%s/pairsieve", getenv("LOCALAPPDATA"));
#endif
    return length > 0 && (size_t)length < bytes;
}

static bool cache_path(char *path, size_t bytes) {
    char folder[MAX_PATH_BYTES];
    if (!cache_folder(folder, sizeof folder)) return false;
    const int length = snprintf(path, bytes, "%s/sort-auto.txt", folder);
    return length > 0 && (size_t)length < bytes;
}

// The file's text, to be freed; NULL when there is none with our header.
static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = malloc(MAX_FILE_BYTES + 1);
    const size_t length = text == NULL ? 0 : fread(text, 1, MAX_FILE_BYTES, file);
    (void)fclose(file);
    if (text == NULL) return NULL;
    text[length] = '\0';
    if (strlen(text) != length || strncmp(text, HEADER, strlen(HEADER)) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

// "count=method count=method ..." to a table; every method must be of this build, counts must ascend.
static bool parse_table(const char *text, psv_backend backend, psvi_auto_table *table) {
    *table = (psvi_auto_table){0};
    while (*text != '\0' && *text != '\n') {
        unsigned long long count = 0;
        char method[16];
        int used = 0;
        if (sscanf(text, "%llu=%15[a-z0-9_]%n", &count, method, &used) != 2) return false;
        const uint32_t i = table->size_count;
        if (i == PSVI_AUTO_SIZES || (i > 0 && count <= table->sizes[i - 1].count)) return false;
        if (strcmp(method, "auto") == 0 || psvi_find_sort_method(backend, method) == NULL) return false;
        table->sizes[i].count = count;
        memcpy(table->sizes[i].method, method, sizeof method);
        table->size_count++;
        text += used;
        if (*text == ' ') ++text;
    }
    return table->size_count > 0 && *text == '\n';
}

// Start of the line of a kind, or NULL.
static const char *find_line(const char *text, const char *kind) {
    const size_t length = strlen(kind);
    for (const char *line = strchr(text, '\n'); line != NULL && *++line != '\0'; line = strchr(line, '\n'))
        if (strncmp(line, kind, length) == 0 && line[length] == '\t') return line;
    return NULL;
}

bool psvi_auto_read_cache(const char *kind, psv_backend backend, psvi_auto_table *table) {
    char path[MAX_PATH_BYTES];
    if (!cache_path(path, sizeof path)) return false;
    char *text = read_file(path);
    if (text == NULL) return false;
    const char *line = find_line(text, kind);
    const bool found = line != NULL && parse_table(line + strlen(kind) + 1, backend, table);
    free(text);
    return found;
}

// Makes the folder and its parents.
static bool make_folder(void) {
    char folder[MAX_PATH_BYTES];
    if (!cache_folder(folder, sizeof folder)) return false;
    for (char *slash = strchr(folder + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL) *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
        if (slash == NULL) return true;
        *slash = '/';
    }
}

static bool write_lines(FILE *file, const char *old, const char *kind, const psvi_auto_table *table) {
    (void)fputs(HEADER, file);
    const char *replaced = old == NULL ? NULL : find_line(old, kind);
    for (const char *line = old == NULL ? NULL : strchr(old, '\n'); line != NULL && *++line != '\0';) {
        const char *end = strchr(line, '\n');
        if (end != NULL && line != replaced) (void)fwrite(line, 1, (size_t)(end - line) + 1, file);
        line = end;
    }
    (void)fprintf(file, "%s\t", kind);
    for (uint32_t i = 0; i < table->size_count; ++i)
        (void)fprintf(file, "%s%llu=%s", i > 0 ? " " : "", (unsigned long long)table->sizes[i].count,
                      table->sizes[i].method);
    (void)fputc('\n', file);
    return ferror(file) == 0;
}

void psvi_auto_write_cache(const char *kind, const psvi_auto_table *table) {
    char path[MAX_PATH_BYTES], fresh[MAX_PATH_BYTES + 16];
    if (!cache_path(path, sizeof path) || !make_folder()) return;
    (void)snprintf(fresh, sizeof fresh, "%s.XXXXXX", path);
    const int descriptor = mkstemp(fresh);
    if (descriptor < 0) return;
    FILE *file = fdopen(descriptor, "w");
    if (file == NULL) {
        (void)close(descriptor);
        (void)unlink(fresh);
        return;
    }
    char *old = read_file(path);
    const bool wrote = write_lines(file, old, kind, table);
    free(old);
    if (fclose(file) != 0 || !wrote || rename(fresh, path) != 0) (void)unlink(fresh);
}
