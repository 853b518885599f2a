// Distributions of keys, keys from files, and the check of a sorted result.
#include "sort_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "key_values.h"
#include "tool.h"

enum { UNIFORM, GAUSSIAN, SORTED, REVERSED, NEARLY, FEW, CONSTANT };
const char *const tool_distributions[] = {"uniform", "gaussian", "sorted",   "reversed",
                                          "nearly",  "few",      "constant", NULL};

#define NEARLY_SORTED_REACH 32 // places that a key of «nearly» may be from its own
#define FEW_KEYS 16

// --- keys -----------------------------------------------------------------------------------------------------------

// SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double next_unit(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

// The sum of twelve uniform numbers, moved to the middle of [0, 1) with a deviation of 1/12: cut at 6 deviations.
static double next_gaussian(uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 12; ++i)
        sum += next_unit(state);
    return sum / 12;
}

static double unit_of(int distribution, uint64_t i, uint64_t count, uint64_t *state) {
    double place = (double)i / (double)count;
    switch (distribution) {
    case GAUSSIAN: return next_gaussian(state);
    case SORTED:
    case NEARLY: return place;
    case REVERSED: return (double)(count - 1 - i) / (double)count;
    case FEW: return (double)(next_random(state) % FEW_KEYS) / FEW_KEYS;
    case CONSTANT: return 0.3;
    default: return next_unit(state);
    }
}

static void swap_keys(uint8_t *keys, uint32_t bytes, uint64_t a, uint64_t b) {
    uint8_t held[TOOL_KEY_BYTES];
    memcpy(held, keys + a * bytes, bytes);
    memcpy(keys + a * bytes, keys + b * bytes, bytes);
    memcpy(keys + b * bytes, held, bytes);
}

void tool_fill_keys(void *keys, uint64_t count, psv_key_type type, int distribution, uint64_t seed) {
    const uint32_t bytes = psv_key_type_bytes(type);
    uint64_t state = seed;
    for (uint64_t i = 0; i < count; ++i)
        tool_make_key(type, unit_of(distribution, i, count, &state), (uint8_t *)keys + i * bytes);
    // Shuffled within blocks, so that no key is further from its place than the block is long.
    for (uint64_t i = 0; distribution == NEARLY && i < count; ++i) {
        uint64_t begin = i - i % NEARLY_SORTED_REACH;
        swap_keys(keys, bytes, i, begin + next_random(&state) % (i - begin + 1));
    }
}

// --- files ----------------------------------------------------------------------------------------------------------

static int read_lines(FILE *file, const char *path, psv_key_type type, uint8_t **keys, uint64_t *count) {
    char text[128];
    uint64_t room = 0;
    uint32_t bytes = psv_key_type_bytes(type);
    for (uint64_t line = 1; fgets(text, sizeof text, file) != NULL; ++line) {
        if (line == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0) memmove(text, text + 3, strlen(text + 3) + 1);
        if (strchr(text, '\n') == NULL && !feof(file) && strlen(text) + 1 < sizeof text)
            return tool_fail(TOOL_REFUSED,
                             "%s: line %llu has a zero byte: this is no text; raw keys are in files named .bin", path,
                             (unsigned long long)line);
        if (strchr(text, '\n') == NULL && !feof(file))
            return tool_fail(TOOL_REFUSED, "%s: line %llu is longer than a number: '%.40s...'", path,
                             (unsigned long long)line, text);
        if (text[strspn(text, " \t\r\n")] == 0) continue;
        if (*count == room) {
            uint64_t larger = room == 0 ? 4096 : 2 * room;
            uint8_t *grown = realloc(*keys, larger * bytes);
            if (grown == NULL)
                return tool_fail(TOOL_REFUSED, "%s: no memory for %llu keys", path, (unsigned long long)larger);
            *keys = grown;
            room = larger;
        }
        uint8_t key[TOOL_KEY_BYTES];
        text[strcspn(text, "\r\n")] = 0;
        if (!tool_parse_key(type, text, key))
            return tool_fail(TOOL_REFUSED, "%s: line %llu: '%.40s' is no %s key", path, (unsigned long long)line, text,
                             psv_key_type_name(type));
        memcpy(*keys + *count * bytes, key, bytes);
        ++*count;
    }
    return TOOL_DONE;
}

#define MOST_STREAM_BYTES (1ull << 30) // of a device that may never end

static bool is_plain(FILE *file) {
    struct stat found;
    return fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode);
}

static int read_raw(FILE *file, const char *path, psv_key_type type, uint8_t **keys, uint64_t *count) {
    uint64_t size = 0, room = 0;
    uint32_t bytes = psv_key_type_bytes(type);
    for (size_t got = 1; got > 0; size += got) {
        if (size > MOST_STREAM_BYTES && !is_plain(file))
            return tool_fail(TOOL_REFUSED, "%s: more than %llu bytes are not read from what is no plain file", path,
                             (unsigned long long)MOST_STREAM_BYTES);
        if (size == room) {
            room = room == 0 ? 65536 : 2 * room;
            uint8_t *grown = realloc(*keys, room);
            if (grown == NULL)
                return tool_fail(TOOL_REFUSED, "%s: no memory for %llu bytes", path, (unsigned long long)room);
            *keys = grown;
        }
        got = fread(*keys + size, 1, room - size, file);
    }
    *count = size / bytes;
    if (size % bytes == 0) return TOOL_DONE;
    return tool_fail(TOOL_REFUSED, "%s: %llu bytes are not a whole number of %s keys of %u bytes", path,
                     (unsigned long long)size, psv_key_type_name(type), bytes);
}

int tool_read_keys(const char *path, psv_key_type type, void **keys, uint64_t *count) {
    *keys = NULL;
    *count = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return tool_fail(TOOL_REFUSED, "%s: %s", path, strerror(errno));
    size_t length = strlen(path);
    bool raw = length >= 4 && strcmp(path + length - 4, ".bin") == 0;
    uint8_t *read = NULL;
    int code = raw ? read_raw(file, path, type, &read, count) : read_lines(file, path, type, &read, count);
    if (code == TOOL_DONE && ferror(file)) code = tool_fail(TOOL_REFUSED, "%s: %s", path, strerror(errno));
    fclose(file);
    *keys = read;
    return code;
}

// --- check ----------------------------------------------------------------------------------------------------------

static uint64_t value_at(const void *values, uint32_t value_bytes, uint64_t i) {
    return value_bytes == 4 ? ((const uint32_t *)values)[i] : ((const uint64_t *)values)[i];
}

bool tool_check_sorted(const void *input, const void *keys, const void *values, uint32_t value_bytes, uint64_t count,
                       psv_key_type type, tool_sort_check *check) {
    uint32_t bytes = psv_key_type_bytes(type);
    uint8_t *seen = calloc(count / 8 + 1, 1);
    if (seen == NULL) return false;
    *check = (tool_sort_check){true, true};
    for (uint64_t i = 0; i < count && check->sorted; ++i) {
        uint64_t from = value_at(values, value_bytes, i);
        bool fresh = from < count && (seen[from / 8] >> (from % 8) & 1) == 0;
        check->sorted =
            fresh && memcmp((const uint8_t *)input + from * bytes, (const uint8_t *)keys + i * bytes, bytes) == 0;
        if (!check->sorted) break;
        seen[from / 8] |= (uint8_t)(1u << (from % 8));
        const uint8_t *key = (const uint8_t *)keys + i * bytes;
        int order = i == 0 ? -1 : tool_compare_keys(type, key - bytes, key);
        if (order > 0) check->sorted = false;
        if (order == 0 && value_at(values, value_bytes, i - 1) > from) check->stable = false;
    }
    if (!check->sorted) check->stable = false;
    free(seen);
    return true;
}
