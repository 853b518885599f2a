// Nearly sorted input: most elements lie close to their final places, a few anywhere.
//
//   1. Chunks of consecutive elements get pivots: medians of a few keys at the beginning of each. Bucket c holds the
//      elements between the pivots of chunks c and c + 1. Keys that equal a pivot are ordered by position, so buckets
//      are parts of the stable order. Each thread makes the elements of its chunks in place, and counts for each chunk
//      how many belong to the previous bucket, to the next bucket, and far away.
//   2. Far elements look up their buckets. If there are too many, or pivots are out of order, another route follows.
//   3. Each thread collects its buckets from three chunks each, sorts them and merges the far elements. A bucket with
//      few elements out of order is sorted by insertion, others by vector exchanges, which take less time the closer
//      elements lie to their places.
#include "radix_near.h"

#include <string.h>

#include "radix_near_kernels.h"

typedef struct near_chunk {
    psvi_near_tally tally;
    uint32_t far_in; // elements from far that belong to its bucket
} near_chunk;

// Where things are in the second array.
typedef struct near_memory {
    near_chunk *chunks;
    uint64_t *pivots; // one more than there are chunks
    uint64_t *lists;  // of far elements, each thread's behind the other: places, later with buckets above them
    uint64_t *collected, *other;
    // The thread's own, for one bucket.
    char *in, *out;
    uint32_t *codes, *rows;
} near_memory;

typedef struct near_sorter {
    radix_job *job;
    uint32_t w, team, chunks;
    near_memory memory;
    const psvi_near_kernels *kernels;
} near_sorter;

typedef enum near_shape { NEAR_NOT, NEAR_SORTED, NEAR_TURNED } near_shape;

static uint32_t chunk_count(const radix_job *job) { return (uint32_t)(job->count / NEAR_CHUNK); }

// A bucket of more elements is none. In memory it has room for one more, which some loops write.
#define BUCKET_MOST (3 * NEAR_CHUNK)
#define BUCKET_CODES ((BUCKET_MOST + NEAR_GROUP - 1) / NEAR_GROUP * NEAR_GROUP)

// Elements of a chunk that may be far from their places, in the mean: each costs about 120 to 200 ns.
#define FAR_MOST 3u

static uint64_t bucket_bytes(const radix_job *job) {
    return psvi_align(2 * (BUCKET_MOST + 1) * (uint64_t)job->format.element_bytes + sizeof(uint32_t) * BUCKET_CODES +
                      sizeof(uint32_t) * NEAR_ROWS * psvi_near_columns(BUCKET_MOST));
}

static uint64_t list_bytes(const radix_job *job) {
    return psvi_align(((uint64_t)chunk_count(job) * FAR_MOST + job->team) * sizeof(uint64_t));
}

static uint64_t chunk_bytes(const radix_job *job) {
    return psvi_align(chunk_count(job) * (sizeof(near_chunk) + sizeof(uint64_t)) + sizeof(uint64_t));
}

static near_memory make_memory(const radix_job *job, uint32_t w) {
    char *at = job->b;
    const uint64_t list = list_bytes(job), bucket = (BUCKET_MOST + 1) * (uint64_t)job->format.element_bytes;
    near_memory memory = {.pivots = (uint64_t *)at};
    memory.chunks = (near_chunk *)(memory.pivots + chunk_count(job) + 1);
    at += chunk_bytes(job);
    memory.lists = (uint64_t *)at;
    memory.collected = (uint64_t *)(at + list);
    memory.other = (uint64_t *)(at + 2 * list);
    at += 3 * list + w * bucket_bytes(job);
    memory.in = at;
    memory.out = at + bucket;
    memory.codes = (uint32_t *)(memory.out + bucket);
    memory.rows = memory.codes + BUCKET_CODES;
    return memory;
}

// Whether the second array holds it all. There are chunks enough for each thread to have some.
static bool fits(const radix_job *job) {
    return job->count >= 8 * NEAR_CHUNK && chunk_bytes(job) + 3 * list_bytes(job) + job->team * bucket_bytes(job) <=
                                               job->count * job->format.element_bytes;
}

// KEY & mask of the element that the key at `i` will be.
static uint64_t input_key(const radix_job *job, uint64_t i) {
    const psvi_key_order order = job->sorter->order;
    const void *keys = job->request->keys_in;
    const uint64_t key = order.is_wide ? psvi_transform_u64(((const uint64_t *)keys)[i], order)
                                       : psvi_transform_u32(((const uint32_t *)keys)[i], order);
    return key << job->format.key_shift & job->format.mask;
}

// Decides by a sample of the keys. Most other input is recognised by its first few keys.
static near_shape find_shape(const radix_job *job) {
    if (!fits(job)) return NEAR_NOT;
    uint64_t sample[NEAR_SAMPLES];
    uint32_t descents = 0, ascents = 0, apart = 0, moved = 0, across = 0;
    for (uint32_t s = 0; s < NEAR_SAMPLES; ++s) {
        sample[s] = input_key(job, s * job->count / NEAR_SAMPLES);
        if (s == 0) continue;
        descents += sample[s - 1] > sample[s];
        ascents += sample[s - 1] < sample[s];
        if (descents > NEAR_APART / 2 && ascents > 0) return NEAR_NOT;
    }
    if (descents > NEAR_APART / 2) return NEAR_TURNED;
    for (uint32_t s = 0; s < NEAR_SAMPLES; ++s) {
        const uint64_t at = s * (job->count - NEAR_CHUNK / 4) / NEAR_SAMPLES, key = input_key(job, at);
        apart += key > input_key(job, at + NEAR_CHUNK / 4);
        moved += key > input_key(job, at + 1);
        across += s + NEAR_SAMPLES / 4 < NEAR_SAMPLES && sample[s] > sample[s + NEAR_SAMPLES / 4];
        if (apart > NEAR_APART || across > NEAR_APART) return NEAR_NOT;
    }
    if (moved <= NEAR_APART) return NEAR_SORTED;
    // What fits the cache is sorted by digits as fast as elements that moved with others from far among them.
    if (!psvi_near_can_order() || (descents > 0 && job->count <= RADIX_CACHED_MAX)) return NEAR_NOT;
    return NEAR_SORTED;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

// The median of the five keys about the beginning of a chunk; below all keys before the first chunk's, above all keys
// behind the last one's.
static uint64_t middle_key(const near_sorter *s, int64_t chunk) {
    if (chunk <= 0) return 0;
    if (chunk >= s->chunks) return UINT64_MAX;
    uint64_t keys[5];
    for (uint32_t k = 0; k < 5; ++k)
        keys[k] = input_key(s->job, (uint64_t)chunk * NEAR_CHUNK + k - 2);
    const uint64_t low = keys[0] < keys[1] ? keys[0] : keys[1], high = keys[0] < keys[1] ? keys[1] : keys[0];
    const uint64_t low2 = keys[2] < keys[3] ? keys[2] : keys[3], high2 = keys[2] < keys[3] ? keys[3] : keys[2];
    return median(low > low2 ? low : low2, high < high2 ? high : high2, keys[4]);
}

// Pivots of consecutive chunks from `first` on: middle keys, except where one is out of order with both neighbours.
typedef struct pivot_walk {
    uint64_t middle[3];
    int64_t next;
} pivot_walk;

static pivot_walk walk_from(const near_sorter *s, int64_t first) {
    return (pivot_walk){.middle = {0, middle_key(s, first - 1), middle_key(s, first)}, .next = first};
}

static uint64_t next_pivot(const near_sorter *s, pivot_walk *walk) {
    const int64_t chunk = walk->next++;
    walk->middle[0] = walk->middle[1];
    walk->middle[1] = walk->middle[2];
    walk->middle[2] = middle_key(s, chunk + 1);
    if (chunk <= 0) return 0;
    if (chunk >= s->chunks) return UINT64_MAX;
    return median(walk->middle[0], walk->middle[1], walk->middle[2]);
}

static uint32_t first_chunk(const near_sorter *s, uint32_t w) { return (uint32_t)((uint64_t)s->chunks * w / s->team); }

static uint64_t chunk_begin(const near_sorter *s, uint32_t chunk) {
    return chunk == s->chunks ? s->job->count : (uint64_t)chunk * NEAR_CHUNK;
}

static uint64_t *far_list(const near_sorter *s, uint32_t w) {
    return s->memory.lists + first_chunk(s, w) * FAR_MOST + w;
}

// Makes elements of the thread's chunks and tallies them; false when too many are far from where they belong.
static bool tally_chunks(near_sorter *s) {
    radix_job *job = s->job;
    const uint32_t first = first_chunk(s, s->w), end = first_chunk(s, s->w + 1);
    const uint64_t room = (end - first) * FAR_MOST;
    uint64_t *list = far_list(s, s->w), found = 0;
    pivot_walk walk = walk_from(s, (int64_t)first - 1);
    uint64_t pivots[4];
    for (int p = 1; p < 4; ++p)
        pivots[p] = next_pivot(s, &walk);
    for (uint32_t c = first; c < end; ++c) {
        memmove(pivots, pivots + 1, 3 * sizeof *pivots);
        pivots[3] = next_pivot(s, &walk);
        if (pivots[1] > pivots[2]) return false;
        const uint64_t begin = chunk_begin(s, c), count = chunk_begin(s, c + 1) - begin;
        char *elements = (char *)job->a + begin * job->format.element_bytes;
        psvi_radix_load(&job->format, job->request->keys_in, job->request->values_in, begin, (uint32_t)count, elements);
        near_chunk *chunk = &s->memory.chunks[c];
        s->memory.pivots[c] = pivots[1];
        chunk->tally = s->kernels->tally(elements, count, job->format.mask, pivots);
        chunk->far_in = 0;
        if (chunk->tally.far == 0) continue;
        // Too many show early.
        const uint64_t so_far = (c - first + 1) * FAR_MOST + room / 16 + 64;
        if (found + chunk->tally.far > (so_far < room ? so_far : room)) return false;
        found +=
            s->kernels->list_far(elements, count, job->format.mask, pivots, chunk->tally.staying, begin, list + found);
    }
    if (end == s->chunks) s->memory.pivots[end] = UINT64_MAX;
    job->workers[s->w].near_far = (uint32_t)found;
    return true;
}

// The bucket of the element at `place`.
static uint32_t find_bucket(const near_sorter *s, uint64_t place) {
    const uint64_t key = input_key(s->job, place);
    // Pivots of chunks up to the element's own may equal it; pivots behind must be less.
    const uint32_t own = place / NEAR_CHUNK < s->chunks ? (uint32_t)(place / NEAR_CHUNK) : s->chunks - 1;
    const bool later = key > s->memory.pivots[own];
    uint32_t bucket = later ? own : 0, left = later ? s->chunks - own : own + 1;
    while (left > 1) {
        const uint32_t half = left / 2;
        const uint64_t pivot = s->memory.pivots[bucket + half];
        bucket += (later ? pivot < key : pivot <= key) ? half : 0;
        left -= half;
    }
    return bucket;
}

static void find_buckets(near_sorter *s) {
    uint64_t *list = far_list(s, s->w);
    for (uint32_t f = 0; f < s->job->workers[s->w].near_far; ++f) {
        const uint32_t bucket = find_bucket(s, list[f]);
        __atomic_fetch_add(&s->memory.chunks[bucket].far_in, 1, __ATOMIC_RELAXED);
        list[f] |= (uint64_t)bucket << 32;
    }
}

static uint64_t bucket_count(const near_sorter *s, uint32_t c) {
    const near_chunk *chunk = &s->memory.chunks[c];
    const psvi_near_tally own = chunk->tally;
    uint64_t count = chunk_begin(s, c + 1) - chunk_begin(s, c) - own.before - own.after - own.far + chunk->far_in;
    if (c > 0) count += chunk[-1].tally.after;
    if (c + 1 < s->chunks) count += chunk[1].tally.before;
    return count;
}

// All lists' elements of the thread's buckets, by bucket and place.
static const uint64_t *collect_far(near_sorter *s, uint64_t skipped, uint64_t count) {
    const uint64_t first = first_chunk(s, s->w), end = first_chunk(s, s->w + 1);
    uint64_t *mine = s->memory.collected + skipped, found = 0;
    if (count == 0) return mine;
    for (uint32_t w = 0; w < s->job->team; ++w) {
        const uint64_t *list = far_list(s, w);
        for (uint32_t f = 0; f < s->job->workers[w].near_far; ++f)
            if (list[f] >> 32 >= first && list[f] >> 32 < end) mine[found++] = list[f];
    }
    return psvi_radix_kernels_for(8)->sort(mine, s->memory.other + skipped, count, UINT64_MAX << 32, RADIX_SPARE_BITS);
}

static char *sort_collected(near_sorter *s, const psvi_near_bucket *bucket, uint64_t count) {
    const near_memory *memory = &s->memory;
    const psvi_radix_kernels *kernels = s->job->kernels;
    const uint64_t mask = s->job->format.mask;
    if (count < 2) return memory->in;
    uint64_t low = bucket->low, high = bucket->high;
    // There is no pivot below the first bucket and none above the last.
    if (bucket->begin == 0 || bucket->end == s->job->count) s->kernels->extremes(memory->in, count, mask, &low, &high);
    char *in = memory->in, *out = memory->out;
    const uint64_t descents = s->kernels->encode(in, count, mask, low, high, memory->codes);
    if (descents == 0) return in;
    if (descents * NEAR_INSERTION_SHARE <= count) {
        if (kernels->insert(in, count, mask)) return in;
        (void)s->kernels->encode(in, count, mask, low, high, memory->codes);
    }
    if (psvi_near_can_order()) {
        const bool differ = psvi_near_order(memory->codes, count, memory->rows);
        s->kernels->gather(in, memory->rows, count, out);
        // Else keys of one code are as they came.
        if (differ || kernels->insert(out, count, mask)) return out;
        in = memory->out;
        out = memory->in;
    }
    return kernels->sort(in, out, count, mask, psvi_radix_spare_bits(s->job->sorter->order, true));
}

// Merges elements from far, given by place, into the sorted elements of a bucket that begins at `begin`.
static char *merge_far(near_sorter *s, char *sorted, uint64_t count, const uint64_t *far, uint64_t far_count,
                       uint64_t begin) {
    const radix_job *job = s->job;
    const size_t bytes = job->format.element_bytes;
    const uint32_t spare = psvi_radix_spare_bits(job->sorter->order, true);
    // Behind the others there is room for them, and in the other memory too.
    char *other = sorted == s->memory.in ? s->memory.out : s->memory.in;
    char *few = sorted + count * bytes, *few_other = other + count * bytes;
    uint64_t earlier = 0;
    for (uint64_t f = 0; f < far_count; ++f) {
        const uint64_t place = far[f] & UINT32_MAX;
        memcpy(few + f * bytes, (const char *)job->a + place * bytes, bytes);
        earlier += place < begin;
    }
    // Of equal keys the earlier come before all of the bucket and the later behind.
    const uint64_t begins[3] = {0, earlier, far_count};
    for (int side = 0; side < 2; ++side) {
        char *from = few + begins[side] * bytes;
        const uint64_t here = begins[side + 1] - begins[side];
        if (here < 2) continue;
        const char *ordered = job->kernels->sort(from, few_other + begins[side] * bytes, here, job->format.mask, spare);
        if (ordered != from) memcpy(from, ordered, here * bytes);
    }
    if (earlier > 0) {
        s->kernels->merge(sorted, count, few, earlier, job->format.mask, true, other);
        if (earlier == far_count) return other;
        memcpy(other + (count + earlier) * bytes, few + earlier * bytes, (far_count - earlier) * bytes);
        char *swap = sorted;
        sorted = other;
        other = swap;
    }
    const uint64_t before = count + earlier;
    s->kernels->merge(sorted, before, sorted + before * bytes, far_count - earlier, job->format.mask, false, other);
    return other;
}

static void sort_buckets(near_sorter *s, uint64_t place, const uint64_t *far) {
    radix_job *job = s->job;
    const near_chunk *chunks = s->memory.chunks;
    const uint64_t *pivots = s->memory.pivots;
    void *values = job->request->value_bytes == 0 ? NULL : job->request->values_out;
    const uint32_t first = first_chunk(s, s->w), end = first_chunk(s, s->w + 1);
    for (uint32_t c = first; c < end; ++c) {
        const psvi_near_bucket bucket = {.low = pivots[c],
                                         .high = pivots[c + 1],
                                         .begin = chunk_begin(s, c),
                                         .end = chunk_begin(s, c + 1),
                                         .staying = chunks[c].tally.staying,
                                         .from_before = c > 0 ? chunks[c - 1].tally.after : 0,
                                         .from_after = c + 1 < s->chunks ? chunks[c + 1].tally.before : 0};
        const uint32_t far_count = chunks[c].far_in;
        for (uint32_t f = 0; f < far_count; ++f)
            __builtin_prefetch((const char *)job->a + (far[f] & UINT32_MAX) * job->format.element_bytes);
        uint64_t count = s->kernels->collect(job->a, &bucket, job->format.mask, s->memory.in);
        char *sorted = sort_collected(s, &bucket, count);
        if (far_count > 0) {
            sorted = merge_far(s, sorted, count, far, far_count, bucket.begin);
            far += far_count;
            count += far_count;
        }
        psvi_radix_store(&job->format, sorted, count, job->request->keys_out, values, place);
        place += count;
    }
}

static bool all_went_well(const radix_job *job) {
    for (uint32_t w = 0; w < job->team; ++w)
        if (job->workers[w].near_failed) return false;
    return true;
}

// --- descending order ------------------------------------------------------------------------------------------------

static void scan_turned(void *data, uint32_t w) {
    const radix_job *job = data;
    psvi_key_order turned = job->sorter->order;
    turned.flip = ~turned.flip;
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    job->workers[w].near_failed =
        psvi_radix_scan_keys(turned, job->request->keys_in, begin, end, job->count, true).descends;
}

static void load_turned(void *data, uint32_t w) {
    const radix_job *job = data;
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    psvi_radix_load(&job->format, job->request->keys_in, job->request->values_in, begin, (uint32_t)(end - begin),
                    (char *)job->a + begin * job->format.element_bytes);
}

static void store_turned(void *data, uint32_t w) {
    const radix_job *job = data;
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    const size_t bytes = job->format.element_bytes;
    size_t first;
    const size_t count = psvi_near_kernels_for(job->format.element_bytes)
                             ->turn(job->a, job->count, begin, end, job->format.mask, job->b, &first);
    psvi_radix_store_bucket(job, &job->workers[w], (char *)job->b + first * bytes, first, count);
    psvi_stream_end();
}

// Elements in the order of the input, then from the last on, equal ones as they were.
static bool sort_turned(radix_job *job) {
    psvi_run_stage(job->crew, job->team, scan_turned, job);
    if (!all_went_well(job)) return false;
    psvi_run_stage(job->crew, job->team, load_turned, job);
    psvi_run_stage(job->crew, job->team, store_turned, job);
    return true;
}

// --- nearly in order -------------------------------------------------------------------------------------------------

static near_sorter sorter_of(radix_job *job, uint32_t w) {
    return (near_sorter){.job = job,
                         .w = w,
                         .team = job->team,
                         .chunks = chunk_count(job),
                         .memory = make_memory(job, w),
                         .kernels = psvi_near_kernels_for(job->format.element_bytes)};
}

static void tally_part(void *data, uint32_t w) {
    near_sorter s = sorter_of(data, w);
    s.job->workers[w].near_failed = !tally_chunks(&s);
}

static void find_part(void *data, uint32_t w) {
    near_sorter s = sorter_of(data, w);
    find_buckets(&s);
}

// Where each worker's buckets begin; false when one has too many elements.
static bool place_buckets(radix_job *job) {
    const near_sorter s = sorter_of(job, 0);
    uint64_t place = 0, skipped = 0;
    for (uint32_t w = 0; w < job->team; ++w) {
        radix_worker *worker = &job->workers[w];
        worker->near_place = place;
        worker->near_skipped = skipped;
        for (uint32_t c = first_chunk(&s, w); c < first_chunk(&s, w + 1); ++c) {
            const uint64_t count = bucket_count(&s, c);
            if (count > BUCKET_MOST) return false;
            place += count;
            skipped += s.memory.chunks[c].far_in;
        }
        worker->near_mine = skipped - worker->near_skipped;
    }
    return true;
}

static void sort_part(void *data, uint32_t w) {
    near_sorter s = sorter_of(data, w);
    const radix_worker *worker = &s.job->workers[w];
    sort_buckets(&s, worker->near_place, collect_far(&s, worker->near_skipped, worker->near_mine));
}

static bool sort_near(radix_job *job) {
    psvi_run_stage(job->crew, job->team, tally_part, job);
    if (!all_went_well(job)) return false;
    uint64_t far = 0;
    for (uint32_t w = 0; w < job->team; ++w)
        far += job->workers[w].near_far;
    if (far > 0) psvi_run_stage(job->crew, job->team, find_part, job);
    if (!place_buckets(job)) return false;
    psvi_run_stage(job->crew, job->team, sort_part, job);
    return true;
}

bool psvi_near_sort(radix_job *job) {
    switch (find_shape(job)) {
    case NEAR_SORTED: return sort_near(job);
    case NEAR_TURNED: return sort_turned(job);
    default: return false;
    }
}
