// The bytes of a snapshot file, and where its parts lie: written down here once more, so that a change of the format
// does not go unnoticed.
#ifndef PAIRSIEVE_TESTS_SNAPSHOT_BYTES_H
#define PAIRSIEVE_TESTS_SNAPSHOT_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct snapshot_bytes {
    unsigned char data[1 << 20];
    uint64_t size;
} snapshot_bytes;

// Offsets of the world's numbers.
enum {
    SNAPSHOT_SELF_GRAVITY = 28,
    SNAPSHOT_BOUNDS_MIN = 36,
    SNAPSHOT_SUBSTEPS = 60,
    SNAPSHOT_MAX_SHAPES = 64,
    SNAPSHOT_SUB_WORLDS = 68,
    SNAPSHOT_SHAPE_COUNT = 72,
    SNAPSHOT_SLOTS = 76,
    SNAPSHOT_PARTS = 80,
    SNAPSHOT_PUSH_SPEED = 88,
    SNAPSHOT_MOST_GRAVITY = 92,
    SNAPSHOT_HIT_SPEED = 96,
    SNAPSHOT_EVENTS = 100,
    SNAPSHOT_SLEEPING = 104,
    SNAPSHOT_SLEEP_SPEED = 108,
    SNAPSHOT_MAX_BODIES = 112,
    SNAPSHOT_MAX_PAIRS = 120,
    SNAPSHOT_MAX_CONTACTS = 128,
    SNAPSHOT_FREE_COUNT = 136,
    SNAPSHOT_LIVING = 144,
    SNAPSHOT_STEPS = 152,
    SNAPSHOT_IDLE_STEPS = 160,
    SNAPSHOT_LOST = 168,
    SNAPSHOT_CONTACTS = 176,
    SNAPSHOT_SHAPE_BYTES = 68,
    SNAPSHOT_SHAPES = 248 // the first shape: SNAPSHOT_SHAPE_BYTES, then its lists
};

// Bytes of a body's place in each array, in the order of the file.
enum { SNAPSHOT_BODY_ARRAYS = 16 };
static const uint32_t snapshot_body_bytes[SNAPSHOT_BODY_ARRAYS] = {16, 16, 16, 16, 4, 1, 8, 4,
                                                                   24, 16, 8,  4,  4, 1, 4, 1};
enum {
    SNAPSHOT_POSITION,
    SNAPSHOT_ROTATION,
    SNAPSHOT_VELOCITY,
    SNAPSHOT_SPIN,
    SNAPSHOT_SHAPE,
    SNAPSHOT_FLAGS,
    SNAPSHOT_FILTER,
    SNAPSHOT_SUB_WORLD,
    SNAPSHOT_BOX,
    SNAPSHOT_FORCES, // of worlds whose bodies have some
    SNAPSHOT_USER,   // likewise
    SNAPSHOT_ISLAND, // these three of worlds that sleep
    SNAPSHOT_STILL,
    SNAPSHOT_WAKE,
    SNAPSHOT_GENERATION,
    SNAPSHOT_ALIVE
};

static inline uint64_t snapshot_mix(uint64_t x) { // Steele, Lea, Flood 2014: SplitMix64
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Of all bytes but the last eight, which hold it; eight at a time.
static inline uint64_t snapshot_sum(const snapshot_bytes *file) {
    const uint64_t count = file->size - 8;
    uint64_t sum = snapshot_mix(count), word = 0;
    for (uint64_t i = 0; i < count; ++i) {
        word = word << 8 | file->data[i];
        if (i % 8 == 7 || i + 1 == count) {
            sum = snapshot_mix(sum ^ word);
            word = 0;
        }
    }
    return sum;
}

static inline bool snapshot_read(snapshot_bytes *file, const char *path) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) return false;
    file->size = fread(file->data, 1, sizeof file->data, stream);
    return fclose(stream) == 0 && file->size > SNAPSHOT_SHAPES && file->size < sizeof file->data;
}

// With a checksum that fits.
static inline bool snapshot_write(snapshot_bytes *file, const char *path) {
    const uint64_t sum = snapshot_sum(file);
    memcpy(file->data + file->size - 8, &sum, sizeof sum);
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) return false;
    const bool whole = fwrite(file->data, 1, file->size, stream) == file->size;
    return fclose(stream) == 0 && whole;
}

static inline uint32_t snapshot_u32(const snapshot_bytes *file, uint64_t at) {
    uint32_t value;
    memcpy(&value, file->data + at, sizeof value);
    return value;
}

static inline uint64_t snapshot_u64(const snapshot_bytes *file, uint64_t at) {
    uint64_t value;
    memcpy(&value, file->data + at, sizeof value);
    return value;
}

// Where the bodies begin: behind the shapes and their lists.
static inline uint64_t snapshot_bodies(const snapshot_bytes *file) {
    uint64_t at = SNAPSHOT_SHAPES;
    for (uint32_t i = snapshot_u32(file, SNAPSHOT_SHAPE_COUNT); i > 0; --i) {
        const uint64_t children = snapshot_u32(file, at + 4), columns = snapshot_u32(file, at + 8);
        const uint64_t rows = snapshot_u32(file, at + 12), vertices = snapshot_u32(file, at + 16);
        const uint64_t triangles = snapshot_u32(file, at + 20);
        at += SNAPSHOT_SHAPE_BYTES + 44 * children + 4 * columns * rows + 12 * vertices + 12 * triangles;
    }
    return at;
}

// Where `array` begins; behind the last one is the list of free slots.
static inline uint64_t snapshot_array(const snapshot_bytes *file, int array) {
    const uint64_t slots = snapshot_u32(file, SNAPSHOT_SLOTS);
    uint64_t at = snapshot_bodies(file);
    for (int i = 0; i < array; ++i)
        at += slots * snapshot_body_bytes[i];
    return at;
}

static inline uint64_t snapshot_slot(const snapshot_bytes *file, int array, uint32_t slot) {
    return snapshot_array(file, array) + (uint64_t)slot * snapshot_body_bytes[array];
}

// The contacts follow the free slots.
static inline uint64_t snapshot_free_slots(const snapshot_bytes *file) {
    return snapshot_array(file, SNAPSHOT_BODY_ARRAYS);
}
static inline uint64_t snapshot_contacts(const snapshot_bytes *file) {
    return snapshot_free_slots(file) + 4 * snapshot_u64(file, SNAPSHOT_FREE_COUNT);
}

// The frames of points that are kept follow the contacts, of 12 bytes and 16 a point, and 16 bytes a contact of rolling
// friction, which some shape of the file has. The frame of the first contact that keeps its points: 64 bytes, of which
// word 11 is 1 or 2 and words 12 to 14 the normal; 0 without one.
static inline uint64_t snapshot_kept_frame(const snapshot_bytes *file) {
    const uint64_t count = snapshot_u64(file, SNAPSHOT_CONTACTS);
    uint64_t contact = snapshot_contacts(file), at = contact;
    for (uint64_t i = 0; i < count; ++i)
        at += 12 + 16 * (uint64_t)(snapshot_u32(file, at + 8) & 0xffu);
    at += 16 * count;
    for (uint64_t i = 0; i < count; ++i) {
        if (snapshot_u32(file, at + 44) != 0) return at;
        contact += 12 + 16 * (uint64_t)(snapshot_u32(file, contact + 8) & 0xffu);
        at += 64;
    }
    return 0;
}

#endif
