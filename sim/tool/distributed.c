#include "distributed.h"

#include <stdlib.h>
#include <string.h>

#if PAIRSIEVE_BUILT_WITH_MPI

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "pairsieve/group_mpi.h"

static char stood_still[200];

// Only what may be done in a handler of signals. A rank that ends takes the job with it.
static void end_waiting(int signal) {
    (void)signal;
    (void)!write(STDERR_FILENO, stood_still, strlen(stood_still));
    _exit(TOOL_FAILED);
}

// Before MPI is started: a rank may stand still there as well.
static void begin_limit(uint64_t limit) {
    (void)snprintf(stood_still, sizeof stood_still,
                   "pairsieve: process %ld has made no progress for %llu s: another rank stands still, or --time-limit "
                   "is too short\n",
                   (long)getpid(), (unsigned long long)limit);
    (void)signal(SIGALRM, end_waiting);
    (void)alarm((unsigned)limit);
}

void tool_note_progress(const tool_ranks *ranks) { (void)alarm((unsigned)ranks->limit); }

// The number of this rank among the ranks of its machine.
static int local_rank(void) {
    MPI_Comm machine;
    int rank = 0;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) != MPI_SUCCESS) return 0;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return rank;
}

int tool_open_ranks(const tool_device_options *options, uint64_t limit, tool_ranks *ranks) {
    int rank = 0, size = 1;
    begin_limit(limit);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return tool_fail(TOOL_FAILED, "MPI could not be started");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *ranks = (tool_ranks){.rank = (uint32_t)rank, .size = (uint32_t)size, .limit = limit};
    psv_context_def def = psv_default_context_def();
    if (psv_parse_backend(options->backend, &def.backend) != PSV_OK)
        return tool_fail(TOOL_REFUSED, "--backend %s is not known; accepted: auto, cpu, cuda", options->backend);
    def.worker_count = (int)options->workers;
    const bool cpu = def.backend == PSV_BACKEND_CPU || !psv_backend_available(PSV_BACKEND_CUDA);
    def.device = cpu ? 0 : local_rank();
    psv_status status = psv_create_context(&def, &ranks->context);
    if (status != PSV_OK) return tool_fail_status(NULL, status);
    status = psv_create_group_mpi(ranks->context, MPI_COMM_WORLD, 0, &ranks->group); // the alarm is the limit
    tool_note_progress(ranks);
    return tool_fail_status(ranks->context, status);
}

// Steele, Lea, Flood 2014 («SplitMix64»), word by word.
static uint64_t hash_of(const void *data, uint64_t bytes, uint64_t hash) {
    for (uint64_t done = 0, word = 0; done < bytes; done += sizeof word, word = 0) {
        memcpy(&word, (const char *)data + done, bytes - done < sizeof word ? bytes - done : sizeof word);
        hash = (hash ^ word) + 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 27;
    }
    return hash;
}

int tool_check_agreement(const tool_ranks *ranks, const char *what, const void *data, uint64_t bytes, uint64_t number) {
    const uint64_t mine = hash_of(data, bytes, number ^ bytes);
    uint64_t *all = calloc(ranks->size, sizeof *all);
    if (all == NULL) return tool_fail(TOOL_REFUSED, "no memory for %u numbers", ranks->size);
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    tool_note_progress(ranks);
    uint32_t other = 0;
    while (other < ranks->size && all[other] == all[0])
        ++other;
    free(all);
    if (other == ranks->size) return TOOL_DONE;
    return tool_fail(TOOL_REFUSED, "rank %u was given other %s than rank 0: all ranks take the same files and options",
                     other, what);
}

int tool_close_ranks(tool_ranks *ranks, int code) {
    if (code != TOOL_DONE) {
        (void)fflush(NULL);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    psv_destroy_group(ranks->group);
    psv_destroy_context(ranks->context);
    MPI_Finalize();
    (void)alarm(0);
    return code;
}

void *tool_collect_parts(const tool_ranks *ranks, const void *part, uint64_t count, uint32_t unit) {
    const bool first = ranks->rank == 0;
    int *counts = calloc(2 * (size_t)ranks->size, sizeof *counts), *firsts = counts + ranks->size;
    uint64_t *all = calloc(ranks->size, sizeof *all);
    if (counts == NULL || all == NULL) MPI_Abort(MPI_COMM_WORLD, TOOL_REFUSED);
    tool_note_progress(ranks);
    MPI_Allgather(&count, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    uint64_t total = 0;
    for (uint32_t r = 0; r < ranks->size; ++r)
        total += all[r];
    char *parts = NULL;
    if (total <= INT_MAX) {
        total = 0;
        for (uint32_t r = 0; r < ranks->size; ++r) {
            counts[r] = (int)all[r];
            firsts[r] = (int)total;
            total += all[r];
        }
        MPI_Datatype element;
        MPI_Type_contiguous((int)unit, MPI_BYTE, &element);
        MPI_Type_commit(&element);
        if (first) parts = malloc((total + 1) * unit);
        if (first && parts == NULL) MPI_Abort(MPI_COMM_WORLD, TOOL_REFUSED);
        MPI_Gatherv(part, (int)count, element, parts, counts, firsts, element, 0, MPI_COMM_WORLD);
        MPI_Type_free(&element);
    }
    free(counts);
    free(all);
    return parts;
}

#else

int tool_open_ranks(const tool_device_options *options, uint64_t limit, tool_ranks *ranks) {
    (void)options, (void)limit, (void)ranks;
    return tool_fail(
        TOOL_REFUSED,
        "--distributed needs MPI, which this program was built without (configure with -DPAIRSIEVE_MPI=ON)");
}

void tool_note_progress(const tool_ranks *ranks) { (void)ranks; }

int tool_check_agreement(const tool_ranks *ranks, const char *what, const void *data, uint64_t bytes, uint64_t number) {
    (void)ranks, (void)what, (void)data, (void)bytes, (void)number;
    return TOOL_DONE;
}

int tool_close_ranks(tool_ranks *ranks, int code) {
    (void)ranks;
    return code;
}

void *tool_collect_parts(const tool_ranks *ranks, const void *part, uint64_t count, uint32_t unit) {
    (void)ranks, (void)part, (void)count, (void)unit;
    return NULL;
}

#endif
