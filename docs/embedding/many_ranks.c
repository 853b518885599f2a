// Work over several ranks: here three threads of one process, each with a context and a part of the data. They find
// the pairs of boxes as one finder would for all of them; keys can be sorted in the same way (pairsieve/group.h). With
// MPI each rank is a process, and with CUDA each has a card; the calls are the same.
#include <inttypes.h>
#include <pairsieve/group_pairs.h>
#include <pthread.h>
#include <stdio.h>

#define RANKS 3u
#define EACH 1000u

typedef struct rank_job {
    psv_group *group;
    psv_aabb boxes[EACH];
    uint64_t pairs;
    bool done;
} rank_job;

static rank_job jobs[RANKS];

// Boxes are named by their number, counted from rank 0 on; each pair is found by one rank.
static bool find_pairs(rank_job *job) {
    psv_group_finder_def def = psv_default_group_finder_def();
    psv_group_finder *finder = NULL;
    const psv_box_set set = psv_boxes_of(psv_buffer_of(job->boxes, sizeof job->boxes), sizeof *job->boxes, EACH);
    def.local.max_boxes = EACH;
    const bool done =
        psv_create_group_finder(job->group, &def, &finder) == PSV_OK && psv_group_find_pairs(finder, &set) == PSV_OK;
    if (done) job->pairs = psv_group_pair_count(finder);
    psv_destroy_group_finder(finder);
    return done;
}

static void *run_rank(void *data) {
    rank_job *job = &jobs[0];
    while (job != data)
        ++job;
    job->done = find_pairs(job);
    return NULL;
}

int main(void) {
    psv_context *contexts[RANKS];
    psv_group *groups[RANKS];
    pthread_t threads[RANKS];
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    float number = 0;
    for (uint32_t rank = 0; rank < RANKS; ++rank) {
        if (psv_create_context(&def, &contexts[rank]) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
        for (uint32_t i = 0; i < EACH; ++i, ++number) { // boxes in a row, each touches the next one
            for (int axis = 0; axis < 3; ++axis) {
                jobs[rank].boxes[i].min[axis] = axis == 0 ? number : 0;
                jobs[rank].boxes[i].max[axis] = jobs[rank].boxes[i].min[axis] + 1;
            }
        }
    }
    if (psv_create_local_groups(contexts, RANKS, groups) != PSV_OK) return printf("%s\n", psv_last_error(contexts[0]));
    for (uint32_t rank = 0; rank < RANKS; ++rank) {
        jobs[rank].group = groups[rank];
        if (pthread_create(&threads[rank], NULL, run_rank, &jobs[rank]) != 0) return 1;
    }
    bool right = true;
    uint64_t pairs = 0;
    for (uint32_t rank = 0; rank < RANKS; ++rank) {
        pthread_join(threads[rank], NULL);
        const rank_job *job = &jobs[rank];
        right = right && job->done;
        pairs += job->pairs;
        printf("rank %u: %" PRIu64 " pairs\n", rank, job->pairs);
    }
    for (uint32_t rank = 0; rank < RANKS; ++rank) {
        psv_destroy_group(groups[rank]);
        psv_destroy_context(contexts[rank]);
    }
    return right && pairs == RANKS * EACH - 1 ? 0 : 1;
}
