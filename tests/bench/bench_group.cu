// bench_group: pairs and sorts over the GPUs of one machine, a thread and a device for each rank. Input is made on the
// devices; with one rank the same calls without a group run too, as the yardstick. See --help.
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/group.h>
#include <pairsieve/group_pairs.h>

namespace {

const char usage[] =
    "usage: bench_group pairs COUNT [--ranks N] [--dealt random|space] [--frames N] [--seed N]\n"
    "       bench_group sort COUNT [--ranks N] [--frames N] [--seed N]\n"
    "--on-device N: ranks share a device (tests/distributed/one_card_nccl.c).\n"
    "COUNT is of all ranks together. One line of CSV a rank and frame; the last frames are of interest.\n";

struct bench_options {
    bool sort, by_space;
    uint64_t count, seed;
    uint32_t ranks;
    int frames;
    int device; // -1: each rank has its own
};

struct rank_job {
    const bench_options *options;
    uint32_t rank;
    psv_context *context;
    psv_group *group;
    pthread_barrier_t *barrier;
    bool good;
};

__host__ __device__ uint64_t mix(uint64_t z) {
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

__device__ float random_of(uint64_t seed, uint64_t index, uint32_t channel) {
    return (float)(mix(mix(seed) + index * 8 + channel) >> 40) * (1.0f / 16777216.0f);
}

// The scene `cube` of tests/cases: one box a unit volume, half extents 0.25 to 0.5. Dealt by space the boxes of a rank
// have their x in its stretch of the room; else anywhere. A box a thread.
__global__ void psvk_make_cube(psv_aabb *boxes, uint64_t first, uint64_t count, uint64_t seed, float side,
                               float x_begin, float x_length) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float half = 0.25f + 0.25f * random_of(seed, first + i, 3);
    for (uint32_t axis = 0; axis < 3; ++axis) {
        const float u = random_of(seed, first + i, axis);
        const float middle = axis == 0 ? x_begin + u * x_length : u * side;
        boxes[i].min[axis] = middle - half;
        boxes[i].max[axis] = middle + half;
    }
}

__global__ void psvk_make_pairs(uint32_t *keys, uint32_t *values, uint64_t first, uint64_t count, uint64_t seed) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    keys[i] = (uint32_t)mix(mix(seed) + first + i);
    values[i] = (uint32_t)(first + i);
}

double now_ms() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

bool check(const rank_job *job, psv_status status, const char *what) {
    if (status == PSV_OK) return true;
    fprintf(stderr, "rank %u: %s: %s\n", job->rank, what, psv_last_error(job->context));
    return false;
}

void share_of(const rank_job *job, uint64_t *first, uint64_t *count) {
    const bench_options *options = job->options;
    *first = options->count * job->rank / options->ranks;
    *count = options->count * (job->rank + 1) / options->ranks - *first;
}

bool alloc(rank_job *job, uint64_t bytes, psv_buffer *buffer) {
    return check(job, psv_alloc_buffer(job->context, bytes, buffer), "alloc_buffer");
}

// --- pairs -----------------------------------------------------------------------------------------------------------

bool make_boxes(rank_job *job, uint64_t first, uint64_t count, psv_buffer *boxes) {
    const bench_options *options = job->options;
    if (!alloc(job, count * sizeof(psv_aabb), boxes)) return false;
    const float side = cbrtf((float)options->count), part = side / (float)options->ranks;
    psvk_make_cube<<<(uint32_t)((count + 255) / 256), 256, 0, (cudaStream_t)psv_context_stream(job->context)>>>(
        (psv_aabb *)psv_buffer_address(*boxes), first, count, options->seed, side,
        options->by_space ? part * (float)job->rank : 0, options->by_space ? part : side);
    return check(job, psv_synchronize(job->context), "make_cube");
}

psv_pair_finder_def finder_def(uint64_t boxes) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = boxes;
    def.max_pairs = (uint64_t)(1.83 * (double)boxes) + 1000;
    return def;
}

// One finder without a group.
bool bench_finder(rank_job *job, const psv_box_set *set) {
    const psv_pair_finder_def def = finder_def(set->count);
    psv_pair_finder *finder = nullptr;
    bool good = check(job, psv_create_pair_finder(job->context, &def, &finder), "create_pair_finder");
    for (int f = 0; f < job->options->frames && good; ++f) {
        uint64_t pairs = 0;
        const double begin = now_ms();
        good = check(job, psv_find_pairs(finder, set), "find_pairs") &&
               check(job, psv_finish_pairs(finder, &pairs), "finish_pairs");
        printf("one,%llu,%d,%.3f ms,pairs %llu\n", (unsigned long long)set->count, f, now_ms() - begin,
               (unsigned long long)pairs);
    }
    psv_destroy_pair_finder(finder);
    return good;
}

bool bench_group_finder(rank_job *job, const psv_box_set *set) {
    const bench_options *options = job->options;
    psv_group_finder_def def = psv_default_group_finder_def();
    def.max_held = set->count + set->count / 20 + 1000;
    def.local = finder_def(def.max_held);
    def.local.max_boxes = set->count;
    psv_group_finder *finder = nullptr;
    bool good = check(job, psv_create_group_finder(job->group, &def, &finder), "create_group_finder");
    for (int f = 0; f < options->frames && good; ++f) {
        pthread_barrier_wait(job->barrier);
        const double begin = now_ms();
        good = check(job, psv_group_find_pairs(finder, set), "group_find_pairs");
        const double ms = now_ms() - begin;
        psv_group_pair_statistics s = {};
        if (good) good = check(job, psv_read_group_pair_statistics(finder, &s), "statistics");
        if (good)
            printf("group,%llu,%s,rank %u of %u,%d,%.3f ms: split %.3f move %.3f find %.3f keep %.3f,total %llu,held "
                   "%llu,border %llu,copied %llu,sent %llu,%.2f bytes a box,imbalance %.4f %.4f,%s\n",
                   (unsigned long long)options->count, options->by_space ? "space" : "random", job->rank,
                   options->ranks, f, ms, s.split_ms, s.move_ms, s.find_ms, s.keep_ms,
                   (unsigned long long)psv_group_total_pairs(finder), (unsigned long long)s.held,
                   (unsigned long long)s.held_border, (unsigned long long)s.copied, (unsigned long long)s.sent,
                   (double)s.sent_bytes / (double)set->count, s.imbalance, s.pair_imbalance, s.local.route);
    }
    uint64_t left = 0, all = 0;
    if (psv_memory_info(job->context, &left, &all) == PSV_OK)
        printf("memory of rank %u: %.1f of %.1f GB\n", job->rank, (double)(all - left) * 1e-9, (double)all * 1e-9);
    psv_destroy_group_finder(finder);
    return good;
}

bool bench_pairs(rank_job *job) {
    uint64_t first, count;
    share_of(job, &first, &count);
    psv_buffer boxes = {};
    bool good = make_boxes(job, first, count, &boxes);
    const psv_box_set set = psv_boxes_of(boxes, sizeof(psv_aabb), count);
    if (good && job->options->ranks == 1) good = bench_finder(job, &set);
    if (good) good = bench_group_finder(job, &set);
    psv_free_buffer(job->context, &boxes);
    return good;
}

// --- sort ------------------------------------------------------------------------------------------------------------

bool fill_pairs(rank_job *job, uint64_t first, uint64_t count, psv_buffer keys, psv_buffer values) {
    psvk_make_pairs<<<(uint32_t)((count + 255) / 256), 256, 0, (cudaStream_t)psv_context_stream(job->context)>>>(
        (uint32_t *)psv_buffer_address(keys), (uint32_t *)psv_buffer_address(values), first, count, job->options->seed);
    return check(job, psv_synchronize(job->context), "make_pairs");
}

bool bench_sorter(rank_job *job, uint64_t first, uint64_t count, psv_buffer keys, psv_buffer values) {
    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = count;
    psv_sorter *sorter = nullptr;
    bool good = check(job, psv_create_sorter(job->context, &def, &sorter), "create_sorter");
    for (int f = 0; f < job->options->frames && good; ++f) {
        good = fill_pairs(job, first, count, keys, values);
        const double begin = now_ms();
        if (good)
            good = check(job, psv_sort_pairs(sorter, keys, values, count), "sort_pairs") &&
                   check(job, psv_synchronize(job->context), "synchronize");
        printf("one,%llu,%d,%.3f ms\n", (unsigned long long)count, f, now_ms() - begin);
    }
    psv_destroy_sorter(sorter);
    return good;
}

bool bench_group_sorter(rank_job *job, uint64_t count, psv_buffer keys, psv_buffer values) {
    psv_group_sorter_def def = psv_default_group_sorter_def();
    def.local.max_count = count;
    psv_group_sorter *sorter = nullptr;
    bool good = check(job, psv_create_group_sorter(job->group, &def, &sorter), "create_group_sorter");
    for (int f = 0; f < job->options->frames && good; ++f) {
        pthread_barrier_wait(job->barrier);
        psv_group_sorted sorted = {};
        const double begin = now_ms();
        good = check(job, psv_group_sort_pairs(sorter, keys, values, count, &sorted), "group_sort_pairs");
        const double ms = now_ms() - begin;
        psv_group_sort_statistics s = {};
        if (good) good = check(job, psv_read_group_sort_statistics(sorter, &s), "statistics");
        printf(
            "group,%llu,rank %u of %u,%d,%.3f ms: split %.3f move %.3f sort %.3f,sent %llu,imbalance %.4f,%.1f GB/s\n",
            (unsigned long long)job->options->count, job->rank, job->options->ranks, f, ms, s.split_ms, s.move_ms,
            s.sort_ms, (unsigned long long)s.sent, s.imbalance, (double)s.sent * 8e-6 / s.move_ms);
    }
    psv_destroy_group_sorter(sorter);
    return good;
}

bool bench_sort(rank_job *job) {
    uint64_t first, count;
    share_of(job, &first, &count);
    psv_buffer keys = {}, values = {};
    bool good = alloc(job, count * 4, &keys) && alloc(job, count * 4, &values);
    if (good && job->options->ranks == 1) good = bench_sorter(job, first, count, keys, values);
    if (good) good = fill_pairs(job, first, count, keys, values) && bench_group_sorter(job, count, keys, values);
    psv_free_buffer(job->context, &keys);
    psv_free_buffer(job->context, &values);
    return good;
}

// --- ranks -----------------------------------------------------------------------------------------------------------

void *run_rank(void *data) {
    rank_job *job = static_cast<rank_job *>(data);
    (void)cudaSetDevice(job->options->device >= 0 ? job->options->device : (int)job->rank);
    job->good = job->options->sort ? bench_sort(job) : bench_pairs(job);
    if (!job->good) exit(1); // the others would wait for it
    return nullptr;
}

bool run(const bench_options *options) {
    psv_context *contexts[16];
    psv_group *groups[16];
    rank_job jobs[16] = {};
    pthread_t threads[16];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, options->ranks);
    for (uint32_t r = 0; r < options->ranks; ++r) {
        psv_context_def def = psv_default_context_def();
        def.backend = PSV_BACKEND_CUDA;
        def.device = options->device >= 0 ? options->device : (int)r;
        if (psv_create_context(&def, &contexts[r]) != PSV_OK) {
            fprintf(stderr, "%s\n", psv_last_error(nullptr));
            return false;
        }
    }
    if (psv_create_local_groups(contexts, options->ranks, groups) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(nullptr));
        return false;
    }
    bool good = true;
    for (uint32_t r = 0; r < options->ranks; ++r) {
        jobs[r] = rank_job{options, r, contexts[r], groups[r], &barrier, false};
        if (pthread_create(&threads[r], nullptr, run_rank, &jobs[r]) != 0) exit(1);
    }
    for (uint32_t r = 0; r < options->ranks; ++r) {
        pthread_join(threads[r], nullptr);
        good = good && jobs[r].good;
    }
    for (uint32_t r = 0; r < options->ranks; ++r) {
        psv_destroy_group(groups[r]);
        psv_destroy_context(contexts[r]);
    }
    pthread_barrier_destroy(&barrier);
    return good;
}

uint64_t count_of(const char *text) {
    char *end;
    const double number = strtod(text, &end);
    const double unit = *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    return (uint64_t)(number * unit);
}

} // namespace

int main(int argc, char **argv) {
    bench_options options = {};
    options.ranks = 1;
    options.frames = 5;
    options.seed = 1;
    options.device = -1;
    bool good = argc >= 3 && (strcmp(argv[1], "pairs") == 0 || strcmp(argv[1], "sort") == 0);
    if (good) {
        options.sort = strcmp(argv[1], "sort") == 0;
        options.count = count_of(argv[2]);
    }
    for (int i = 3; i < argc && good; i += 2) {
        good = i + 1 < argc;
        if (!good) break;
        if (strcmp(argv[i], "--ranks") == 0)
            options.ranks = (uint32_t)strtoul(argv[i + 1], nullptr, 10);
        else if (strcmp(argv[i], "--dealt") == 0)
            options.by_space = strcmp(argv[i + 1], "space") == 0;
        else if (strcmp(argv[i], "--frames") == 0)
            options.frames = (int)strtoul(argv[i + 1], nullptr, 10);
        else if (strcmp(argv[i], "--on-device") == 0)
            options.device = (int)strtol(argv[i + 1], nullptr, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = strtoull(argv[i + 1], nullptr, 10);
        else
            good = false;
    }
    if (!good || options.ranks < 1 || options.ranks > 16 || options.count < options.ranks) {
        fputs(usage, stderr);
        return 2;
    }
    return run(&options) ? 0 : 1;
}
