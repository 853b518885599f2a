// Groups of the ranks of an MPI job: the cases of test_group. usage: mpirun -n N test_group_mpi [--cases N] [--seed N]
//                                        mpirun -n N test_group_mpi --die RANK | --bad RANK | --still RANK
// With --die the rank ends in the middle of the work, with --bad it gives bad boxes: the job has to end, with an error.
// With --still the rank sleeps for longer than the time limit, once before it joins the group and once in the middle.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pairsieve/group_mpi.h>

#include "../test_scale.h"
#include "group_cases.h"

// The test's own way between the ranks, apart from the group's.
static bool all_gather(const void *sent, void *received, uint64_t bytes, void *user) {
    (void)user;
    return MPI_Allgather(sent, (int)bytes, MPI_BYTE, received, (int)bytes, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS;
}

static bool exchange(const void *sent, const uint64_t *sent_first, const uint64_t *sent_bytes, void *received,
                     const uint64_t *received_first, const uint64_t *received_bytes, void *user) {
    const int size = *(const int *)user;
    int *numbers = malloc(4 * (size_t)size * sizeof *numbers);
    if (numbers == NULL) return false;
    for (int r = 0; r < size; ++r) {
        numbers[r] = (int)sent_bytes[r];
        numbers[size + r] = (int)sent_first[r];
        numbers[2 * size + r] = (int)received_bytes[r];
        numbers[3 * size + r] = (int)received_first[r];
    }
    const int code = MPI_Alltoallv(sent, numbers, numbers + size, MPI_BYTE, received, numbers + 2 * size,
                                   numbers + 3 * size, MPI_BYTE, MPI_COMM_WORLD);
    free(numbers);
    return code == MPI_SUCCESS;
}

static bool run_cases(psv_group *group, psv_context *context, int size, uint64_t seed, uint64_t cases) {
    const psv_group_transport way = {psv_group_rank(group), (uint32_t)size, all_gather, exchange, NULL, &size, NULL};
    static const char *const scenes[] = {"cube", "planks", "line", "far", "mixed_100"};
    bool good = run_error_cases(group, context, &way);
    for (uint64_t c = 0; c < cases; ++c) {
        good &= run_sort_case(group, context, &way, seed + c);
        good &= run_pairs_case(group, context, &way, seed + c);
        if (c % 10 == 0) good &= run_events_case(group, context, &way, seed + c);
    }
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s)
        good &=
            run_scene_case(group, context, &way, scenes[s], 4000 / test_scale() + 100, (group_deal)(s % DEAL_COUNT));
    return good;
}

// A call of the group that one rank does not live to see, or gives a box set that no finder takes.
static psv_status run_guilty(psv_group *group, psv_context *context, bool dies, bool bad) {
    psv_aabb boxes[100] = {{{0}, {0}}};
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.max_boxes = 100;
    psv_group_finder *finder = NULL;
    psv_status status = psv_create_group_finder(group, &def, &finder);
    psv_box_set set = psv_boxes_of(psv_buffer_of(boxes, sizeof boxes), bad ? 20 : sizeof *boxes, 100);
    if (dies) _exit(3);
    if (status == PSV_OK) status = psv_group_find_pairs(finder, &set);
    if (status != PSV_OK) fprintf(stderr, "%s: %s\n", psv_status_name(status), psv_last_error(context));
    psv_destroy_group_finder(finder);
    return status;
}

#define LIMIT 0.5
#define SLEEP 2u

// One call of the group that the rank `still` comes to late: with the others it fails within the limit, and with it
// because the others are gone.
static bool run_late(psv_context *context, bool sleeps, bool at_once) {
    static uint32_t keys[1000];
    psv_group *group = NULL;
    psv_group_sorter *sorter = NULL;
    psv_group_sorter_def def = psv_default_group_sorter_def();
    psv_group_sorted sorted;
    def.local.max_count = 1000;
    if (sleeps && at_once) (void)sleep(SLEEP);
    const double begin = MPI_Wtime();
    psv_status status = psv_create_group_mpi(context, MPI_COMM_WORLD, LIMIT, &group);
    if (!at_once) {
        if (status == PSV_OK) status = psv_create_group_sorter(group, &def, &sorter);
        if (status != PSV_OK) return false;
        if (sleeps) (void)sleep(SLEEP);
        status = psv_group_sort_keys(sorter, psv_buffer_of(keys, sizeof keys), 1000, &sorted);
    }
    const double passed = MPI_Wtime() - begin - (sleeps && !at_once ? SLEEP : 0);
    const bool good = status == PSV_ERROR_DEVICE && passed < SLEEP - 0.1 &&
                      strstr(psv_last_error(context), "done nothing for 0.5 s, the time limit") != NULL;
    if (!good) fprintf(stderr, "%s: %s, after %.2f s\n", psv_status_name(status), psv_last_error(context), passed);
    psv_destroy_group_sorter(sorter);
    psv_destroy_group(group);
    MPI_Barrier(MPI_COMM_WORLD);
    return good;
}

int main(int argc, char **argv) {
    int size = 1, rank = 0;
    uint64_t seed = 500, cases = test_thinned(12, 2);
    long dies = -1, bad = -1, still = -1;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--cases") == 0) cases = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--die") == 0) dies = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--bad") == 0) bad = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--still") == 0) still = strtol(argv[i + 1], NULL, 10);
    }
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    psv_context *context = NULL;
    psv_group *group = NULL;
    psv_status status = psv_create_context(&def, &context);
    if (status == PSV_OK && still < 0) status = psv_create_group_mpi(context, MPI_COMM_WORLD, 30, &group);
    if (status != PSV_OK) MPI_Abort(MPI_COMM_WORLD, 2);
    bool good;
    if (still >= 0)
        good = run_late(context, rank == still, true) & run_late(context, rank == still, false);
    else if (dies >= 0 || bad >= 0)
        good = run_guilty(group, context, rank == dies, rank == bad) == PSV_OK;
    else
        good = run_cases(group, context, size, seed + (uint64_t)size * 1000, cases);
    psv_destroy_group(group);
    psv_destroy_context(context);
    if (rank == 0 && good)
        printf("%d ranks, %llu cases from seed %llu: good\n", size, (unsigned long long)cases,
               (unsigned long long)seed);
    MPI_Finalize();
    return good ? 0 : 1;
}
