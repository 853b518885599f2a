// Runs a fuzz target without libFuzzer: every file of a seed corpus, then damaged copies of them for some seconds.
// usage: fuzz_X_replay CORPUS_FOLDER SECONDS [SEED]
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fuzz_target.h"

#define MOST_SEEDS 256
#define MOST_BYTES 65536u

typedef struct seed_file {
    uint8_t *bytes;
    size_t size;
} seed_file;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static bool read_seed(const char *folder, const char *name, seed_file *seed) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    seed->bytes = malloc(MOST_BYTES);
    seed->size = seed->bytes != NULL ? fread(seed->bytes, 1, MOST_BYTES, file) : 0;
    (void)fclose(file);
    return seed->bytes != NULL;
}

// A copy of one seed with a few bytes changed, cut out, doubled, or taken from another seed.
static size_t mutate(const seed_file *seeds, size_t count, uint64_t *state, uint8_t *out) {
    static const uint8_t favourites[] = {0, 1, 127, 128, 255, '-', '9', '.', 'e', '\n', ' ', '"', '{', '[', ','};
    const seed_file *seed = &seeds[next_random(state) % count];
    size_t size = seed->size;
    memcpy(out, seed->bytes, size);
    for (uint64_t changes = 1 + next_random(state) % 6; changes > 0 && size > 0; --changes) {
        size_t at = next_random(state) % size, length = 1 + next_random(state) % 16;
        switch (next_random(state) % 6) {
        case 0: out[at] = (uint8_t)next_random(state); break;
        case 1: out[at] = favourites[next_random(state) % sizeof favourites]; break;
        case 2: out[at] ^= (uint8_t)(1u << next_random(state) % 8); break;
        case 3: // cut out
            if (at + length > size) length = size - at;
            memmove(out + at, out + at + length, size - at - length);
            size -= length;
            break;
        case 4: // double
            if (at + length > size) length = size - at;
            if (size + length > MOST_BYTES) break;
            memmove(out + at + length, out + at, size - at);
            size += length;
            break;
        default: { // splice
            const seed_file *other = &seeds[next_random(state) % count];
            if (other->size == 0) break;
            size_t from = next_random(state) % other->size;
            if (from + length > other->size) length = other->size - from;
            if (at + length > size) length = size - at;
            memcpy(out + at, other->bytes + from, length);
        }
        }
    }
    return next_random(state) % 8 == 0 && size > 0 ? next_random(state) % size : size;
}

// The target gets a copy of its exact size, so that the address sanitizer sees reads past the end.
static void run_target(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) return;
    memcpy(copy, bytes, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s CORPUS_FOLDER SECONDS [SEED]\n", argv[0]);
        return 2;
    }
    static seed_file seeds[MOST_SEEDS];
    static uint8_t input[MOST_BYTES];
    size_t count = 0;
    DIR *folder = opendir(argv[1]);
    for (struct dirent *entry = NULL; folder != NULL && count < MOST_SEEDS && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && read_seed(argv[1], entry->d_name, &seeds[count])) ++count;
    if (folder != NULL) (void)closedir(folder);
    if (count == 0) {
        (void)fprintf(stderr, "%s: no seeds in %s\n", argv[0], argv[1]);
        return 1;
    }
    double seconds = strtod(argv[2], NULL);
    uint64_t state = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL), runs = 0;
    if (state == 0) state = 1;
    printf("%zu seeds, %g seconds of damaged copies, random seed %llu\n", count, seconds, (unsigned long long)state);
    (void)fflush(stdout); // before anything can crash
    for (size_t i = 0; i < count; ++i)
        run_target(seeds[i].bytes, seeds[i].size);
    for (clock_t begin = clock(); (double)(clock() - begin) < seconds * CLOCKS_PER_SEC; ++runs)
        run_target(input, mutate(seeds, count, &state, input));
    printf("%llu inputs\n", (unsigned long long)runs);
    for (size_t i = 0; i < count; ++i)
        free(seeds[i].bytes);
    return runs > 0 ? 0 : 1;
}
