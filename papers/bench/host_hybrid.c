// The hybrid sort of Sintorn & Assarsson on the host.
#include "host_hybrid.h"

#include <stdlib.h>
#include <string.h>

void host_merge_lists(const float *a, uint64_t a_count, const float *b, uint64_t b_count, float *to) {
    while (a_count > 0 && b_count > 0)
        if (*b < *a) {
            *to++ = *b++;
            --b_count;
        } else {
            *to++ = *a++;
            --a_count;
        }
    memcpy(to, a, a_count * sizeof *to);
    memcpy(to + a_count, b, b_count * sizeof *to);
}

// --- pivots: section III of the paper -------------------------------------------------------------------------------

// Numbers of keys in bins of equal width between the least and the greatest key.
static void fill_histogram(const float *keys, uint64_t count, float low, float high, uint32_t bins, uint64_t *sizes) {
    const double scale = high > low ? bins / ((double)high - low) : 0;
    memset(sizes, 0, bins * sizeof *sizes);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bin = (uint64_t)(((double)keys[i] - low) * scale);
        ++sizes[bin < bins ? bin : bins - 1];
    }
}

// `pivots` gets the buckets - 1 values that divide the histogram's keys evenly; within a bin keys count as even.
static void find_pivots(const uint64_t *sizes, uint32_t bins, uint64_t count, float low, float high, uint32_t buckets,
                        float *pivots) {
    const double width = ((double)high - low) / bins;
    uint64_t before = 0;
    uint32_t bin = 0;
    for (uint32_t p = 1; p < buckets; ++p) {
        const double wanted = (double)count * p / buckets;
        while (bin + 1 < bins && (double)(before + sizes[bin]) < wanted)
            before += sizes[bin++];
        const double inside = sizes[bin] > 0 ? (wanted - (double)before) / (double)sizes[bin] : 0;
        pivots[p - 1] = (float)(low + width * (bin + inside));
    }
}

// How many pivots are at most the key: the bucket that takes it.
static uint32_t bucket_of(const float *pivots, uint32_t buckets, float key) {
    uint32_t low = 0, high = buckets - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (pivots[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// --- lists ----------------------------------------------------------------------------------------------------------

// Merge sort from vectors of four on, as the paper's; the result is in `keys`.
static void sort_list(float *keys, float *room, uint64_t count) {
    for (uint64_t first = 0; first < count; first += 4)
        for (uint64_t i = first + 1; i < first + 4 && i < count; ++i) {
            const float key = keys[i];
            uint64_t at = i;
            for (; at > first && keys[at - 1] > key; --at)
                keys[at] = keys[at - 1];
            keys[at] = key;
        }
    float *from = keys, *to = room;
    for (uint64_t run = 4; run < count; run *= 2) {
        for (uint64_t first = 0; first < count; first += 2 * run) {
            const uint64_t left = count - first, a = left < run ? left : run, b = left - a < run ? left - a : run;
            host_merge_lists(from + first, a, from + first + a, b, to + first);
        }
        float *held = from;
        from = to;
        to = held;
    }
    if (from != keys) memcpy(keys, from, count * sizeof *keys);
}

typedef struct hybrid_memory {
    uint64_t *histogram, *starts; // bins; buckets + 1
    float *pivots;
    uint16_t *bucket; // of each key
} hybrid_memory;

static bool take_memory(hybrid_memory *memory, uint64_t count, const host_hybrid_options *options) {
    memory->histogram = malloc(options->bins * sizeof *memory->histogram);
    memory->starts = calloc((size_t)options->buckets + 1, sizeof *memory->starts);
    memory->pivots = malloc(options->buckets * sizeof *memory->pivots);
    memory->bucket = malloc(count * sizeof *memory->bucket + 1);
    return memory->histogram != NULL && memory->starts != NULL && memory->pivots != NULL && memory->bucket != NULL;
}

static void free_memory(hybrid_memory *memory) {
    free(memory->histogram);
    free(memory->starts);
    free(memory->pivots);
    free(memory->bucket);
}

// The bucket of each key, and in starts the first place of each list in `room`, where the keys go.
static void fill_lists(const hybrid_memory *memory, const float *keys, float *room, uint64_t count,
                       const host_hybrid_options *options) {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(options->threads) schedule(static)
#endif
    for (uint64_t i = 0; i < count; ++i)
        memory->bucket[i] = (uint16_t)bucket_of(memory->pivots, options->buckets, keys[i]);
    for (uint64_t i = 0; i < count; ++i)
        ++memory->starts[memory->bucket[i] + 1];
    for (uint32_t b = 0; b < options->buckets; ++b)
        memory->starts[b + 1] += memory->starts[b];
    for (uint64_t i = 0; i < count; ++i)
        room[memory->starts[memory->bucket[i]]++] = keys[i];
    for (uint32_t b = options->buckets; b > 0; --b) // each start has come to the next one
        memory->starts[b] = memory->starts[b - 1];
    memory->starts[0] = 0;
}

bool host_hybrid_sort(float *keys, float *room, uint64_t count, const host_hybrid_options *options, double *fullest) {
    hybrid_memory memory = {0};
    *fullest = 1;
    if (count < 2) return true;
    if (!take_memory(&memory, count, options)) return free_memory(&memory), false;
    float low = keys[0], high = keys[0];
    for (uint64_t i = 1; i < count; ++i) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    fill_histogram(keys, count, low, high, options->bins, memory.histogram);
    find_pivots(memory.histogram, options->bins, count, low, high, options->buckets, memory.pivots);
    fill_lists(&memory, keys, room, count, options);
    uint64_t most = 0;
    for (uint32_t b = 0; b < options->buckets; ++b)
        most = memory.starts[b + 1] - memory.starts[b] > most ? memory.starts[b + 1] - memory.starts[b] : most;
    *fullest = (double)most * options->buckets / (double)count;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(options->threads) schedule(dynamic)
#endif
    for (uint32_t b = 0; b < options->buckets; ++b) {
        const uint64_t first = memory.starts[b], size = memory.starts[b + 1] - first;
        memcpy(keys + first, room + first, size * sizeof *keys);
        sort_list(keys + first, room + first, size);
    }
    free_memory(&memory);
    return true;
}
