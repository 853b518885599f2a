// `radix` on the CPU: stable, parallel. For most inputs, memory is read three times for the keys and once for the
// values. It is written once for the elements and once for the output. The rest happens in the caches.
//
//   1. One read of the keys finds the bits in which they differ, and whether they are sorted. If they are not, a sample
//      shows whether they are nearly sorted, or descending: radix_near.c.
//   2. Few keys: one thread packs keys and values into elements and sorts them within its cache.
//   3. Many keys: the threads split the elements by the highest differing bits into buckets that fit the cache; samples
//      decide how many bits. Each thread writes its part of the input. The split is stable, because counts are scanned
//      digit by digit, thread by thread.
//   4. One thread sorts each bucket in its cache and writes it to the output (radix_passes.h). It makes digit passes
//      over enough high bits to separate nearly all keys, then an insertion sort; or over all bits, where samples show
//      that the high bits are not enough. The passes alternate between the bucket and memory of the thread's own, which
//      stays in its cache.
//   5. If a few buckets hold nearly all elements, the split would leave threads idle. Then all threads make digit
//      passes together over all differing bits, unless most keys of the largest bucket are equal and need no sort.
// The input is read before the output is written, so they may be the same memory.
// Routes in psv_sort_statistics: in_order or nearly (1), cached (2), split (3 and 4), passes (5, veto «uneven»).
#include "radix_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "radix_elements.h"
#include "radix_kernels.h"
#include "radix_near.h"
#include "records_cpu.h"

static uint32_t max_workers(uint64_t count) {
    const uint64_t workers = count / RADIX_CACHED_MAX;
    return workers < 1 ? 1 : workers > RADIX_MAX_WORKERS ? RADIX_MAX_WORKERS : (uint32_t)workers;
}

// The widest elements that a call may need: with positions for keys that do not survive their transform.
static uint64_t most_element_bytes(const psv_sorter_def *def) {
    const bool wide = psv_key_type_bytes(def->key_type) == 8;
    const bool is_float = def->key_type == PSV_KEY_F32 || def->key_type == PSV_KEY_F64;
    if (wide) return def->value_bytes > 0 || is_float ? 16 : 8;
    if (def->value_bytes == 8) return 16;
    return def->value_bytes > 0 || is_float ? 8 : 4;
}

static uint64_t array_bytes(const psv_sorter_def *def) { return psvi_align(def->max_count * most_element_bytes(def)); }

static uint64_t radix_scratch_bytes(const psv_sorter_def *def) {
    return 2 * array_bytes(def) + psvi_align(max_workers(def->max_count) * sizeof(radix_worker));
}

// Writes a sorted input to where it is wanted.
static void move_sorted(void *data, uint32_t worker) {
    const radix_job *job = data;
    const psvi_sort_request *request = job->request;
    const uint64_t begin = psvi_radix_part(job, worker), count = psvi_radix_part(job, worker + 1) - begin;
    const size_t key_bytes = job->sorter->order.is_wide ? 8 : 4, value_bytes = request->value_bytes;
    if (request->keys_out != NULL && request->keys_out != request->keys_in)
        memcpy((char *)request->keys_out + begin * key_bytes, (const char *)request->keys_in + begin * key_bytes,
               count * key_bytes);
    if (value_bytes == 0) return;
    if (request->implicit_index) {
        for (uint64_t i = begin; i < begin + count; ++i)
            ((uint32_t *)request->values_out)[i] = (uint32_t)i;
    } else if (request->values_out != request->values_in) {
        memcpy((char *)request->values_out + begin * value_bytes,
               (const char *)request->values_in + begin * value_bytes, count * value_bytes);
    }
}

// Bits of the split's digit.
static uint32_t split_bits(uint64_t count) {
    uint32_t bits = 1;
    while (bits < RADIX_SPLIT_BITS && count >> bits > 2 * RADIX_BUCKET_TARGET - 1)
        ++bits;
    while (bits < RADIX_SPLIT_BITS + 2 && count >> bits > 8 * RADIX_BUCKET_TARGET - 1)
        ++bits;
    while (bits < RADIX_MAX_DIGIT_BITS && count >> bits > RADIX_CACHED_MAX)
        ++bits;
    return bits;
}

// Chooses the route from the results of the scans.
static void choose_plan(radix_job *job) {
    psvi_radix_scan all = {0};
    for (uint32_t other = 0; other < job->team; ++other) {
        const psvi_radix_scan *scan = &job->workers[other].scan;
        all.varying |= scan->varying;
        all.descends |= scan->descends;
        all.lossy |= scan->lossy;
    }
    const psvi_sort_request *request = job->request;
    job->gather = all.lossy && request->keys_out != NULL;
    job->format = psvi_radix_make_format(job->sorter->order, request->value_bytes,
                                         job->gather || (request->implicit_index && request->value_bytes != 0));
    job->kernels = psvi_radix_kernels_for(job->format.element_bytes);
    const uint64_t varying = all.varying << job->format.key_shift & job->format.mask;
    const uint32_t width = job->sorter->order.end_bit - job->sorter->order.begin_bit;
    const uint32_t passes = psvi_plan_digits(job->count, width).passes;
    if (!all.descends || varying == 0) {
        job->plan = PLAN_SORTED;
        job->sorter->statistics = (psv_sort_statistics){.passes_skipped = passes, .route = "in_order", .veto = "none"};
        return;
    }
    job->near = !all.lossy && job->sorter->def.order_check;
    job->low = (uint32_t)__builtin_ctzll(varying);
    job->high = 64 - (uint32_t)__builtin_clzll(varying);
    const uint32_t needed = psvi_plan_digits(job->count, job->high - job->low).passes;
    job->sorter->statistics = (psv_sort_statistics){.passes_run = needed, .passes_skipped = passes - needed};
    job->plan = PLAN_CACHED;
    if (job->team == 1 && job->count <= RADIX_CACHED_MAX) return;
    job->plan = PLAN_SPLIT;
    const uint32_t most = job->high - job->low;
    job->bits = split_bits(job->count);
    if (job->bits > most) job->bits = most;
    job->shift = job->high - job->bits;
}

// 32-bit integers: one operation makes an element of key and value, so they go straight to their places.
static bool is_plain(const radix_job *job) { return !job->sorter->order.is_wide && !job->sorter->order.is_float; }

static void scan_part(void *data, uint32_t w) {
    const radix_job *job = data;
    job->workers[w].scan = psvi_radix_scan_keys(job->sorter->order, job->request->keys_in, psvi_radix_part(job, w),
                                                psvi_radix_part(job, w + 1), job->count, job->sorter->def.order_check);
}

// Counts this worker's part of the input by the split's digit.
static void count_input(void *data, uint32_t w) {
    const radix_job *job = data;
    radix_worker *worker = &job->workers[w];
    const psvi_sort_request *request = job->request;
    // Values do not matter here: elements of keys alone.
    const psvi_radix_format keys = psvi_radix_make_format(job->sorter->order, 0, false);
    const psvi_radix_kernels *kernels = psvi_radix_kernels_for(keys.element_bytes);
    memset(worker->counts, 0, sizeof *worker->counts << job->bits);
    if (is_plain(job)) {
        const uint32_t *raw = (const uint32_t *)request->keys_in + psvi_radix_part(job, w);
        psvi_radix_count_keys(raw, psvi_radix_part(job, w + 1) - psvi_radix_part(job, w),
                              (uint32_t)job->sorter->order.flip, job->shift - job->format.key_shift, job->bits,
                              worker->counts);
        return;
    }
    for (uint64_t i = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1); i < end;) {
        const uint32_t block = end - i < RADIX_BLOCK ? (uint32_t)(end - i) : RADIX_BLOCK;
        psvi_radix_load(&keys, request->keys_in, NULL, i, block, worker->block);
        kernels->count(worker->block, block, job->shift - job->format.key_shift, job->bits, worker->counts);
        i += block;
    }
}

static uint32_t digit_total(const radix_job *job, uint32_t digit) {
    uint32_t total = 0;
    for (uint32_t w = 0; w < job->team; ++w)
        total += job->workers[w].counts[digit];
    return total;
}

// After all workers counted: this worker's first place for each digit, into begins.
static void place_digits(const radix_job *job, uint32_t w) {
    radix_worker *worker = &job->workers[w];
    uint32_t sum = 0;
    for (uint32_t d = 0; d < 1u << job->bits; ++d) {
        uint32_t before = 0;
        for (uint32_t other = 0; other < w; ++other)
            before += job->workers[other].counts[d];
        worker->begins[d] = sum + before;
        sum += digit_total(job, d);
    }
}

// Elements of keys alone, as they are compared.
static psvi_radix_format key_format(const radix_job *job) {
    return psvi_radix_make_format(job->sorter->order, 0, false);
}

// How many of `count` such elements are `key`.
static uint32_t count_equal(const psvi_radix_format *keys, const void *elements, uint32_t count, uint64_t key) {
    uint32_t equal = 0;
    if (keys->element_bytes == 4) {
        const uint32_t narrow = (uint32_t)key, mask = (uint32_t)keys->mask;
        for (uint32_t i = 0; i < count; ++i)
            equal += (((const uint32_t *)elements)[i] & mask) == narrow;
    } else {
        for (uint32_t i = 0; i < count; ++i)
            equal += (((const uint64_t *)elements)[i] & keys->mask) == key;
    }
    return equal;
}

// Counts the keys of this worker's part that are the crowd's.
static void count_crowd(void *data, uint32_t w) {
    const radix_job *job = data;
    radix_worker *worker = &job->workers[w];
    const psvi_radix_format keys = key_format(job);
    const uint64_t crowd = job->crowd_key >> job->format.key_shift;
    worker->equal = 0;
    for (uint64_t i = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1); i < end;) {
        const uint32_t block = end - i < RADIX_BLOCK ? (uint32_t)(end - i) : RADIX_BLOCK;
        psvi_radix_load(&keys, job->request->keys_in, NULL, i, block, worker->block);
        worker->equal += count_equal(&keys, worker->block, block, crowd);
        i += block;
    }
}

// Sample s of the keys, as KEY of an element of keys alone.
static uint64_t sample_key(const radix_job *job, const psvi_radix_format *keys, uint64_t s) {
    uint64_t element = 0;
    psvi_radix_load(keys, job->request->keys_in, NULL, s * job->count / RADIX_SAMPLES, 1, &element);
    uint32_t narrow = 0; // the element, where it has 4 bytes
    memcpy(&narrow, &element, sizeof narrow);
    return (keys->element_bytes == 4 ? narrow : element) & keys->mask;
}

// How many of the samples are the key that most of them are; 0 where there is none such.
static uint32_t count_majority(const uint64_t *samples, uint32_t count, uint64_t *key) {
    uint32_t lead = 0, votes = 0; // a vote: where most are equal, their key is left over
    for (uint32_t s = 0; s < count; ++s) {
        if (lead == 0) *key = samples[s];
        if (samples[s] == *key)
            ++lead;
        else
            --lead;
    }
    for (uint32_t s = 0; s < count; ++s)
        votes += samples[s] == *key;
    return 2 * votes > count ? votes : 0;
}

// Those of the samples whose digit is `digit`, into worker 0's block; their number.
static uint32_t pick_samples(const radix_job *job, uint32_t digit) {
    const psvi_radix_format keys = key_format(job);
    const uint32_t shift = job->shift - job->format.key_shift, digits = (1u << job->bits) - 1;
    uint32_t met = 0;
    for (uint64_t s = 0; s < RADIX_SAMPLES; ++s) {
        const uint64_t key = sample_key(job, &keys, s);
        if ((key >> shift & digits) == digit) job->workers->block[met++] = key;
    }
    return met;
}

// Whether most keys of a large bucket are equal, by samples and then by all keys. If so, the bucket is the crowd: its
// other keys fit in any thread's part of b.
static bool find_crowd(radix_job *job, uint32_t bucket, uint64_t items) {
    uint64_t candidate = 0;
    if (count_majority(job->workers->block, pick_samples(job, bucket), &candidate) == 0) return false;
    job->crowd_key = candidate << job->format.key_shift;
    psvi_run_stage(job->crew, job->team, count_crowd, job);
    uint64_t equal = 0;
    for (uint32_t w = 0; w < job->team; ++w)
        equal += job->workers[w].equal;
    return 2 * equal > items && (items - equal) <= job->count / job->team;
}

// Elements of the largest bucket that need a sort: all but its crowd of equal keys, which is found here.
static uint32_t largest_bucket(radix_job *job) {
    uint32_t largest = 0, crowd = 0, second = 0;
    for (uint32_t d = 0; d < 1u << job->bits; ++d) {
        const uint32_t total = digit_total(job, d);
        second = total > largest ? largest : total > second ? total : second;
        if (total > largest) {
            largest = total;
            crowd = d;
        }
    }
    job->crowd = NO_CROWD;
    if ((uint64_t)largest * RADIX_CROWD_SHARE <= job->count || !find_crowd(job, crowd, largest)) return largest;
    job->crowd = crowd;
    return second;
}

static bool keeps_threads_busy(const radix_job *job, uint64_t largest) {
    return job->team == 1 || largest * job->team <= job->count;
}

// Keys whose highest bits say little (exponents of floats, heavy tails) would leave nearly everything in a few buckets.
// So the split takes more bits, until by samples the buckets keep all threads busy and fit their caches. Buckets stay
// well above what insertion sorts. A crowd does not count.
static void widen_split(radix_job *job) {
    const psvi_radix_format keys = key_format(job);
    const uint32_t most = job->high - job->low, before = job->bits;
    uint32_t widest = most < RADIX_MAX_DIGIT_BITS ? most : RADIX_MAX_DIGIT_BITS;
    while (widest > before && job->count >> widest < 4 * RADIX_INSERTION_MAX)
        --widest;
    if (widest == before) return;
    job->bits = widest;
    job->shift = job->high - widest;
    uint32_t *counts = job->workers->counts, top = 0;
    memset(counts, 0, sizeof *counts << widest);
    for (uint64_t s = 0; s < RADIX_SAMPLES; ++s) {
        const uint64_t key = sample_key(job, &keys, s);
        const uint32_t digit = (uint32_t)(key >> (job->shift - job->format.key_shift)) & ((1u << widest) - 1);
        if (++counts[digit] > counts[top]) top = digit;
    }
    uint64_t crowd;
    counts[top] -= count_majority(job->workers->block, pick_samples(job, top), &crowd);
    bool helps = false;
    for (job->bits = before; job->bits <= widest && !helps; ++job->bits) {
        uint32_t largest = 0, total = 0;
        for (uint32_t d = 0; d < 1u << widest; ++d) {
            total += counts[d];
            if ((d + 1) % (1u << (widest - job->bits)) != 0) continue;
            largest = total > largest ? total : largest;
            total = 0;
        }
        const uint64_t items = largest * job->count / RADIX_SAMPLES;
        const bool fits = items <= RADIX_CACHED_MAX || job->count >> (job->bits + 1) < RADIX_BUCKET_TARGET / 2;
        helps = keeps_threads_busy(job, items) && (fits || job->bits == widest);
    }
    job->bits = helps ? job->bits - 1 : before;
    job->shift = job->high - job->bits;
}

// A bucket that keeps one thread busy for longer than a fair share makes the split pointless, unless most of its keys
// are equal: these need no sort. It would not fit the thread's part of b either.
static void reconsider_split(radix_job *job) {
    if (!keeps_threads_busy(job, largest_bucket(job))) job->plan = PLAN_PASSES;
}

// Scatters this worker's part of job->from (NULL: of the input) to job->to.
static void scatter_part(void *data, uint32_t w) {
    const radix_job *job = data;
    const char *from = job->from;
    void *out = job->to;
    place_digits(job, w);
    radix_worker *worker = &job->workers[w];
    const psvi_sort_request *request = job->request;
    // begins stay as they are, for who takes the buckets.
    uint32_t places[RADIX_MAX_DIGITS];
    memcpy(places, worker->begins, sizeof *places << job->bits);
    const bool far = job->count * job->format.element_bytes > RADIX_FAR_BYTES;
    if (from == NULL && is_plain(job) && job->format.element_bytes == 8) {
        const uint64_t begin = psvi_radix_part(job, w);
        psvi_radix_scatter_pairs((const uint32_t *)request->keys_in + begin,
                                 job->format.positions ? NULL : (const uint32_t *)request->values_in + begin,
                                 psvi_radix_part(job, w + 1) - begin, (uint32_t)begin,
                                 (uint32_t)job->sorter->order.flip, job->shift - job->format.key_shift, job->bits, far,
                                 places, out);
        return;
    }
    for (uint64_t i = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1); i < end;) {
        const uint32_t block = end - i < RADIX_BLOCK ? (uint32_t)(end - i) : RADIX_BLOCK;
        const void *elements = worker->block;
        if (from == NULL)
            psvi_radix_load(&job->format, request->keys_in, request->values_in, i, block, worker->block);
        else
            elements = from + i * job->format.element_bytes;
        (far ? job->kernels->scatter_far : job->kernels->scatter)(elements, block, job->shift, job->bits, places, out);
        i += block;
    }
}

// Bits to sort by beyond log2(count). The highest bits of floating-point keys, the exponent, separate few keys; the
// split uses up some of them.
uint32_t psvi_radix_spare_bits(psvi_key_order order, bool split) {
    if (!order.is_float) return RADIX_SPARE_BITS;
    if (split) return order.is_wide ? RADIX_SPARE_BITS + 3 : RADIX_SPARE_BITS + 1;
    return order.is_wide ? RADIX_SPARE_BITS + 6 : RADIX_SPARE_BITS + 3;
}

// Stores a sorted bucket at `begin` of the output; out of the last-level cache block by block and around the cache.
void psvi_radix_store_bucket(const radix_job *job, radix_worker *worker, const char *sorted, uint64_t begin,
                             uint64_t count) {
    const psvi_sort_request *request = job->request;
    const psvi_radix_format *format = &job->format;
    void *values = request->value_bytes == 0 ? NULL : request->values_out;
    const uint32_t key_bytes = job->sorter->order.is_wide ? 8 : 4, value_bytes = format->value_bytes;
    if (job->count * format->element_bytes < 4 * RADIX_FAR_BYTES || request->keys_out == NULL) {
        psvi_radix_store(format, sorted, count, request->keys_out, values, begin);
        return;
    }
    char *block_values = (char *)worker->block + sizeof worker->block / 2;
    // The first block ends where a line of keys does.
    const uintptr_t address = (uintptr_t)request->keys_out + begin * key_bytes;
    uint64_t block = RADIX_BLOCK - (address & 63) / key_bytes;
    for (uint64_t i = 0; i < count; i += block, block = RADIX_BLOCK) {
        if (block > count - i) block = count - i;
        psvi_radix_store(format, sorted + i * format->element_bytes, block, worker->block,
                         values == NULL ? NULL : block_values, 0);
        psvi_stream_copy((char *)request->keys_out + (begin + i) * key_bytes, worker->block, block * key_bytes);
        if (values != NULL)
            psvi_stream_copy((char *)values + (begin + i) * value_bytes, block_values, block * value_bytes);
    }
}

// Takes buckets until there are none.
static void sort_buckets(void *data, uint32_t w) {
    radix_job *job = data;
    const psvi_radix_format *format = &job->format;
    const uint64_t rest = format->mask & (((uint64_t)1 << job->shift) - ((uint64_t)1 << job->low));
    const uint32_t spare = psvi_radix_spare_bits(job->sorter->order, true);
    char *own = (char *)job->b + psvi_radix_part(job, w) * format->element_bytes;
    const radix_worker *first = &job->workers[0];
    for (;;) {
        const uint32_t bucket = __atomic_fetch_add(&job->next_bucket, 1, __ATOMIC_RELAXED);
        if (bucket >= 1u << job->bits) break;
        // The first thread's places are where the buckets begin.
        const uint64_t begin = first->begins[bucket];
        const uint64_t end = bucket + 1 < 1u << job->bits ? first->begins[bucket + 1] : job->count;
        if (begin == end) continue;
        char *in = (char *)job->a + begin * format->element_bytes;
        const char *sorted = bucket == job->crowd
                                 ? job->kernels->sort_around(in, own, end - begin, rest, job->crowd_key, spare)
                                 : job->kernels->sort(in, own, end - begin, rest, spare);
        if (!job->gather)
            psvi_radix_store_bucket(job, &job->workers[w], sorted, begin, end - begin);
        else if (sorted != in)
            memcpy(in, sorted, (end - begin) * format->element_bytes);
    }
    psvi_stream_end();
}

static void load_part(void *data, uint32_t w) {
    const radix_job *job = data;
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    psvi_radix_load(&job->format, job->request->keys_in, job->request->values_in, begin, (uint32_t)(end - begin),
                    (char *)job->a + begin * job->format.element_bytes);
}

static void count_part(void *data, uint32_t w) {
    const radix_job *job = data;
    radix_worker *worker = &job->workers[w];
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    memset(worker->counts, 0, sizeof *worker->counts << job->bits);
    job->kernels->count((const char *)job->from + begin * job->format.element_bytes, end - begin, job->shift, job->bits,
                        worker->counts);
}

// Digit passes of all workers together: the elements are in job->sorted afterwards.
static void run_passes(radix_job *job) {
    psvi_run_stage(job->crew, job->team, load_part, job);
    job->from = job->a;
    job->to = job->b;
    const uint32_t bits = psvi_plan_digits(job->count, job->high - job->low).bits;
    for (uint32_t low = job->low; low < job->high; low += bits) {
        job->shift = low;
        job->bits = job->high - low < bits ? job->high - low : bits;
        psvi_run_stage(job->crew, job->team, count_part, job);
        psvi_run_stage(job->crew, job->team, scatter_part, job);
        void *swap = job->from;
        job->from = job->to;
        job->to = swap;
    }
    job->sorted = job->from;
}

// The array that does not hold the elements.
static char *free_array(const radix_job *job) { return job->sorted == job->a ? job->b : job->a; }

static void gather_part(void *data, uint32_t w) {
    const radix_job *job = data;
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    char *through = free_array(job);
    uint32_t *index = (uint32_t *)job->workers[w].block;
    for (uint64_t i = begin; i < end;) {
        const uint32_t block = end - i < RADIX_BLOCK ? (uint32_t)(end - i) : RADIX_BLOCK;
        psvi_radix_store(&job->format, (const char *)job->sorted + i * job->format.element_bytes, block, NULL, index,
                         0);
        psvi_cpu_gather_part(job->raw_from, through + i * job->raw_bytes, job->raw_bytes, index, 0, block);
        i += block;
    }
}

static void copy_part(void *data, uint32_t w) {
    const radix_job *job = data;
    const uint64_t begin = psvi_radix_part(job, w), end = psvi_radix_part(job, w + 1);
    memcpy((char *)job->raw_to + begin * job->raw_bytes, free_array(job) + begin * job->raw_bytes,
           (end - begin) * job->raw_bytes);
}

// Raw elements of `bytes` from `from` by the sorted positions, to `to`, which may be the same memory: through the free
// array.
static void gather_raw(radix_job *job, const void *from, void *to, uint32_t bytes) {
    job->raw_from = from;
    job->raw_to = to;
    job->raw_bytes = bytes;
    psvi_run_stage(job->crew, job->team, gather_part, job);
    psvi_run_stage(job->crew, job->team, copy_part, job);
}

// Keys and values of the sorted elements; of a gather the positions, which are the values.
static void store_part(void *data, uint32_t w) {
    const radix_job *job = data;
    const psvi_sort_request *request = job->request;
    const uint64_t begin = psvi_radix_part(job, w), count = psvi_radix_part(job, w + 1) - begin;
    psvi_radix_store(&job->format, (const char *)job->sorted + begin * job->format.element_bytes, count,
                     job->gather ? NULL : request->keys_out, request->value_bytes != 0 ? request->values_out : NULL,
                     begin);
}

// The sorted elements to the output, where the buckets did not bring them there.
static void finish(radix_job *job) {
    const psvi_sort_request *request = job->request;
    const bool values = request->value_bytes != 0;
    if (job->gather) gather_raw(job, request->keys_in, request->keys_out, job->sorter->order.is_wide ? 8 : 4);
    if (!job->gather || (values && request->implicit_index))
        psvi_run_stage(job->crew, job->team, store_part, job);
    else if (values)
        gather_raw(job, request->values_in, request->values_out, request->value_bytes);
}

static void sort_cached(radix_job *job) {
    psvi_radix_load(&job->format, job->request->keys_in, job->request->values_in, 0, (uint32_t)job->count, job->a);
    const uint64_t above = ~(((uint64_t)1 << job->low) - 1); // below low all keys agree
    const uint32_t spare = psvi_radix_spare_bits(job->sorter->order, false);
    job->sorted = job->kernels->sort(job->a, job->b, job->count, job->format.mask & above, spare);
}

// Route for psv_read_sort_statistics, see the list at the top.
static void tell_route(const radix_job *job, const char *route, const char *veto) {
    job->sorter->statistics.route = route;
    job->sorter->statistics.veto = veto;
}

// The sort, stage by stage.
static void run_stages(psvi_crew *crew, void *data) {
    radix_job *job = data;
    job->crew = crew;
    psvi_run_stage(crew, job->team, scan_part, job);
    choose_plan(job);
    if (job->plan == PLAN_SORTED) {
        psvi_run_stage(crew, job->team, move_sorted, job);
        return;
    }
    if (job->near && psvi_near_sort(job)) {
        psv_sort_statistics *statistics = &job->sorter->statistics;
        *statistics = (psv_sort_statistics){
            .passes_skipped = statistics->passes_run + statistics->passes_skipped, .route = "nearly", .veto = "none"};
        return;
    }
    if (job->plan == PLAN_CACHED) {
        tell_route(job, "cached", "none");
        sort_cached(job);
        finish(job);
        return;
    }
    widen_split(job);
    psvi_run_stage(crew, job->team, count_input, job);
    reconsider_split(job);
    tell_route(job, job->plan == PLAN_PASSES ? "passes" : "split", job->plan == PLAN_PASSES ? "uneven" : "none");
    if (job->plan == PLAN_PASSES) {
        run_passes(job);
        finish(job);
        return;
    }
    job->to = job->a;
    psvi_run_stage(crew, job->team, scatter_part, job);
    psvi_run_stage(crew, job->team, sort_buckets, job);
    if (!job->gather) return;
    job->sorted = job->a;
    finish(job);
}

static psv_status radix_run(psv_sorter *sorter, const psvi_sort_request *request) {
    radix_job job = {.request = request, .sorter = sorter, .count = psvi_request_count(request)};
    if (job.count == 0) {
        sorter->statistics.route = "copy";
        return PSV_OK;
    }
    const uint64_t bytes = array_bytes(&sorter->def);
    job.a = sorter->scratch;
    job.b = (char *)sorter->scratch + bytes;
    job.workers = (radix_worker *)((char *)sorter->scratch + 2 * bytes);
    job.team = psvi_workers_for(sorter->context, max_workers(job.count));
    psvi_run_crew(sorter->context, job.team, run_stages, &job);
    return PSV_OK;
}

#define TOUCHED_BYTES ((uint64_t)128 << 20) // beyond it room that may never be used would take the machine's memory

// Touches the scratch memory, so that the first sort does not wait for the system to find its pages.
static psv_status radix_create(psv_sorter *sorter) {
    const uint64_t bytes = sorter->scratch_bytes < TOUCHED_BYTES ? sorter->scratch_bytes : TOUCHED_BYTES;
    if (sorter->owns_scratch) memset(sorter->scratch, 0, bytes);
    return PSV_OK;
}

const psvi_sort_method psvi_sort_radix_cpu = {
    .name = "radix",
    .description = "splits by the highest bits that differ, then sorts each part within its core's cache",
    .scratch_bytes = radix_scratch_bytes,
    .create = radix_create,
    .run = radix_run,
};
