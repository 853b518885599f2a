// Groups of threads of one process, of 1, 2, 3, 4 and 7 ranks: sorts, pairs, events and errors against one sorter and
// one finder. usage: test_group cpu|cuda [--cases N] [--seed N] [--on-device 0]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include "../test_scale.h"
#include "group_cases.h"

static const uint32_t sizes[] = {1, 2, 3, 4, 7};
static int only_device = -1; // --on-device: ranks share it, by one_card_nccl.c

// The test's own way between its threads: apart from the group's, which it checks.
typedef struct round_table {
    pthread_barrier_t barrier;
    const void *sent[16];
    const uint64_t *first[16];
} round_table;

typedef struct seat {
    round_table *table;
    uint32_t rank, size;
} seat;

static bool all_gather(const void *sent, void *received, uint64_t bytes, void *user) {
    const seat *own = user;
    own->table->sent[own->rank] = sent;
    pthread_barrier_wait(&own->table->barrier);
    for (uint32_t r = 0; r < own->size; ++r)
        memcpy((char *)received + r * bytes, own->table->sent[r], bytes);
    pthread_barrier_wait(&own->table->barrier);
    return true;
}

static bool exchange(const void *sent, const uint64_t *sent_first, const uint64_t *sent_bytes, void *received,
                     const uint64_t *received_first, const uint64_t *received_bytes, void *user) {
    const seat *own = user;
    (void)sent_bytes;
    own->table->sent[own->rank] = sent;
    own->table->first[own->rank] = sent_first;
    pthread_barrier_wait(&own->table->barrier);
    for (uint32_t r = 0; r < own->size; ++r)
        if (received_bytes[r] > 0)
            memcpy((char *)received + received_first[r],
                   (const char *)own->table->sent[r] + own->table->first[r][own->rank], received_bytes[r]);
    pthread_barrier_wait(&own->table->barrier);
    return true;
}

typedef struct rank_job {
    psv_context *context;
    psv_group *group;
    psv_group_transport transport;
    uint64_t seed, cases;
    bool good;
} rank_job;

static void *run_rank(void *data) {
    rank_job *job = data;
    psv_group *group = job->group;
    psv_context *context = job->context;
    const psv_group_transport *way = &job->transport;
#if PSV_HAVE_CUDA
    if (psv_context_backend(context) == PSV_BACKEND_CUDA)
        (void)cudaSetDevice(only_device >= 0 ? only_device : (int)way->rank);
#endif
    bool good = run_error_cases(group, context, way);
    for (uint64_t c = 0; c < job->cases; ++c) {
        good &= run_sort_case(group, context, way, job->seed + c);
        good &= run_pairs_case(group, context, way, job->seed + c);
        if (c % 10 == 0) good &= run_events_case(group, context, way, job->seed + c);
        if (c % 15 == 0) good &= run_drifting_case(group, context, way, job->seed + c);
    }
    static const char *const scenes[] = {"cube", "pile", "clusters", "sticks", "mixed_1000", "one_huge", "floor"};
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s)
        good &= run_scene_case(group, context, way, scenes[s], 4000 / test_scale() + 100, (group_deal)(s % DEAL_COUNT));
    for (uint64_t kind = 0; kind < 2 && psv_context_backend(context) == PSV_BACKEND_CUDA && way->size <= 4; ++kind)
        good &= run_long_sort_case(group, context, way, 2 * job->seed + kind);
    for (uint64_t axis = 0; axis < 3; ++axis)
        good &= run_staying_case(group, context, 3 * job->seed + axis);
    job->good = good;
    return NULL;
}

static bool run_size(psv_backend backend, uint32_t size, uint64_t seed, uint64_t cases) {
    rank_job jobs[16] = {{0}};
    seat seats[16];
    psv_context *contexts[16];
    psv_group *groups[16];
    pthread_t threads[16];
    round_table table;
    pthread_barrier_init(&table.barrier, NULL, size);
    for (uint32_t r = 0; r < size; ++r) {
        psv_context_def def = psv_default_context_def();
        def.backend = backend;
        def.worker_count = r % 3 == 2 ? 3 : 1;
        def.device = backend != PSV_BACKEND_CUDA ? 0 : only_device >= 0 ? only_device : (int)r;
        if (psv_create_context(&def, &contexts[r]) != PSV_OK) {
            fprintf(stderr, "%s\n", psv_last_error(NULL));
            exit(1);
        }
    }
    if (psv_create_local_groups(contexts, size, groups) != PSV_OK) {
        fprintf(stderr, "%s\n", psv_last_error(NULL));
        exit(1);
    }
    for (uint32_t r = 0; r < size; ++r) {
        seats[r] = (seat){&table, r, size};
        jobs[r] = (rank_job){contexts[r], groups[r], {r, size, all_gather, exchange, NULL, &seats[r], NULL},
                             seed,        cases,     false};
        if (pthread_create(&threads[r], NULL, run_rank, &jobs[r]) != 0) exit(1);
    }
    bool good = true;
    for (uint32_t r = 0; r < size; ++r) {
        pthread_join(threads[r], NULL);
        good &= jobs[r].good;
    }
    for (uint32_t r = 0; r < size; ++r) {
        psv_destroy_group(groups[r]);
        psv_destroy_context(contexts[r]);
    }
    pthread_barrier_destroy(&table.barrier);
    printf("%u ranks, %llu cases from seed %llu: %s\n", size, (unsigned long long)cases, (unsigned long long)seed,
           good ? "good" : "FAILED");
    return good;
}

// A rank that waits for one that left is told so.
typedef struct waiting {
    psv_group *group;
    psv_context *context;
    psv_status status;
} waiting;

static void *wait_for_others(void *data) {
    waiting *own = data;
    psv_group_sorter_def def = psv_default_group_sorter_def();
    def.local.max_count = 10;
    psv_group_sorter *sorter = NULL;
    own->status = psv_create_group_sorter(own->group, &def, &sorter);
    return NULL;
}

static bool run_leaving(void) {
    psv_context *contexts[2];
    psv_group *groups[2] = {NULL, NULL};
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    for (int r = 0; r < 2; ++r)
        if (psv_create_context(&def, &contexts[r]) != PSV_OK) return false;
    psv_context *const same[2] = {contexts[0], contexts[0]};
    if (psv_create_local_groups(same, 2, groups) != PSV_ERROR_ARGUMENT || groups[0] != NULL) return false;
    if (psv_create_local_groups(contexts, 2, groups) != PSV_OK) return false;
    waiting own = {groups[0], contexts[0], PSV_OK};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_others, &own) != 0) return false;
    psv_destroy_group(groups[1]);
    pthread_join(thread, NULL);
    const bool good = own.status == PSV_ERROR_DEVICE && strstr(psv_last_error(contexts[0]), "left") != NULL;
    psv_destroy_group(groups[0]);
    for (int r = 0; r < 2; ++r)
        psv_destroy_context(contexts[r]);
    printf("a rank that left: %s\n", good ? "good" : "FAILED");
    return good;
}

// As many ranks as there are devices, and fewer: a rank has a device of its own, unless they share one.
static int run_cuda(uint64_t seed, uint64_t cases) {
    int devices = 0;
#if PSV_HAVE_CUDA && PSV_HAVE_NCCL
    if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
#endif
    if (devices == 0) {
        printf("no CUDA device, or a build without NCCL\n");
        return 77;
    }
    bool good = true;
    if (only_device >= 0) {
        for (size_t s = 1; s < sizeof sizes / sizeof *sizes; ++s)
            good &= run_size(PSV_BACKEND_CUDA, sizes[s], seed + 100000 * s, cases);
        return good ? 0 : 1;
    }
    for (uint32_t size = 1; size <= (uint32_t)devices && size <= 8; ++size)
        good &= run_size(PSV_BACKEND_CUDA, size, seed + 100000 * size, cases);
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    uint64_t seed = 1, cases = test_thinned(60, 5);
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--cases") == 0) cases = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--on-device") == 0) only_device = atoi(argv[i + 1]);
    }
    if (cuda) return run_cuda(seed, cases);
    bool good = run_leaving();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        good &= run_size(PSV_BACKEND_CPU, sizes[s], seed + 100000 * s, cases);
    return good ? 0 : 1;
}
