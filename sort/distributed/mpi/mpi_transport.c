// Ranks of an MPI job. Public calls of the library only, so that it also serves the shared library.
#include "pairsieve/group_mpi.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Messages have an int for their length; longer parts go in pieces.
#define PIECE ((uint64_t)1 << 30)

typedef struct mpi_ranks {
    MPI_Comm comm;
    int rank, size;
    MPI_Request *requests; // 2 * size
    double limit;          // seconds; 0: none
    bool stopped;          // the limit has passed
    char reason[120];
    char *gathered; // what all_gather sends and receives: it may arrive after the limit
    uint64_t gathered_bytes;
} mpi_ranks;

// Waits for the requests, within the limit.
static bool finish(mpi_ranks *ranks, int count, MPI_Request *requests) {
    if (ranks->limit <= 0) return MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
    const double begin = MPI_Wtime();
    for (int done = 0;;) {
        if (MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return false;
        if (done) return true;
        if (MPI_Wtime() - begin > ranks->limit) break;
        (void)sched_yield();
    }
    ranks->stopped = true;
    (void)snprintf(ranks->reason, sizeof ranks->reason, "another rank has done nothing for %g s, the time limit",
                   ranks->limit);
    return false;
}

static const char *reason(void *user) {
    const mpi_ranks *ranks = user;
    return ranks->stopped ? ranks->reason : NULL;
}

static bool all_gather(const void *sent, void *received, uint64_t bytes, void *user) {
    mpi_ranks *ranks = user;
    MPI_Request request;
    const uint64_t all = (uint64_t)ranks->size * bytes;
    if (ranks->stopped) return false;
    if (bytes + all > ranks->gathered_bytes) {
        char *more = realloc(ranks->gathered, bytes + all);
        if (more == NULL) return false;
        ranks->gathered = more;
        ranks->gathered_bytes = bytes + all;
    }
    memcpy(ranks->gathered, sent, bytes);
    if (MPI_Iallgather(ranks->gathered, (int)bytes, MPI_BYTE, ranks->gathered + bytes, (int)bytes, MPI_BYTE,
                       ranks->comm, &request) != MPI_SUCCESS ||
        !finish(ranks, 1, &request))
        return false;
    memcpy(received, ranks->gathered + bytes, all);
    return true;
}

// Bytes of a part from `done` on, one piece at most.
static int piece_of(uint64_t bytes, uint64_t done) {
    return bytes <= done ? 0 : (int)(bytes - done < PIECE ? bytes - done : PIECE);
}

// The pieces that begin at `done` in each part; *more when there are others after them.
static bool exchange_pieces(mpi_ranks *ranks, const char *sent, const uint64_t *sent_first, const uint64_t *sent_bytes,
                            char *received, const uint64_t *received_first, const uint64_t *received_bytes,
                            uint64_t done, bool *more) {
    int count = 0, code = MPI_SUCCESS;
    *more = false;
    for (int i = 1; i < ranks->size && code == MPI_SUCCESS; ++i) {
        const int from = (ranks->rank + ranks->size - i) % ranks->size;
        const int bytes = piece_of(received_bytes[from], done);
        if (bytes > 0)
            code = MPI_Irecv(received + received_first[from] + done, bytes, MPI_BYTE, from, 0, ranks->comm,
                             &ranks->requests[count++]);
        *more = *more || received_bytes[from] > done + PIECE;
    }
    for (int i = 1; i < ranks->size && code == MPI_SUCCESS; ++i) {
        const int to = (ranks->rank + i) % ranks->size;
        const int bytes = piece_of(sent_bytes[to], done);
        if (bytes > 0)
            code =
                MPI_Isend(sent + sent_first[to] + done, bytes, MPI_BYTE, to, 0, ranks->comm, &ranks->requests[count++]);
        *more = *more || sent_bytes[to] > done + PIECE;
    }
    return code == MPI_SUCCESS && finish(ranks, count, ranks->requests);
}

static bool exchange(const void *sent, const uint64_t *sent_first, const uint64_t *sent_bytes, void *received,
                     const uint64_t *received_first, const uint64_t *received_bytes, void *user) {
    mpi_ranks *ranks = user;
    if (ranks->stopped) return false;
    if (sent_bytes[ranks->rank] > 0)
        memcpy((char *)received + received_first[ranks->rank], (const char *)sent + sent_first[ranks->rank],
               sent_bytes[ranks->rank]);
    bool more = true;
    for (uint64_t done = 0; more; done += PIECE)
        if (!exchange_pieces(ranks, sent, sent_first, sent_bytes, received, received_first, received_bytes, done,
                             &more))
            return false;
    return true;
}

static void release(void *user) {
    mpi_ranks *ranks = user;
    if (ranks->stopped) return; // the communicator and the memory are those of messages on their way
    MPI_Comm_free(&ranks->comm);
    free(ranks->requests);
    free(ranks->gathered);
    free(ranks);
}

// A duplicate of the communicator. False without one; where the limit has passed, true, and every call fails.
static bool duplicate(mpi_ranks *ranks, MPI_Comm comm) {
    MPI_Request request;
    MPI_Comm_rank(comm, &ranks->rank);
    MPI_Comm_size(comm, &ranks->size);
    if (MPI_Comm_idup(comm, &ranks->comm, &request) != MPI_SUCCESS) return false;
    if (!finish(ranks, 1, &request)) return ranks->stopped;
    // What fails comes back as a status instead of ending the job.
    MPI_Comm_set_errhandler(ranks->comm, MPI_ERRORS_RETURN);
    return true;
}

psv_status psv_create_group_mpi(psv_context *context, MPI_Comm comm, double time_limit, psv_group **group) {
    int initialized = 0;
    if (group != NULL) *group = NULL;
    if (MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized || comm == MPI_COMM_NULL) return PSV_ERROR_DEVICE;
    mpi_ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks == NULL) return PSV_ERROR_MEMORY;
    ranks->limit = time_limit;
    if (!duplicate(ranks, comm)) {
        free(ranks);
        return PSV_ERROR_DEVICE;
    }
    ranks->requests = malloc(2 * (size_t)ranks->size * sizeof *ranks->requests);
    const psv_group_transport transport = {.rank = (uint32_t)ranks->rank,
                                           .size = (uint32_t)ranks->size,
                                           .all_gather = all_gather,
                                           .exchange = exchange,
                                           .release = release,
                                           .user = ranks,
                                           .reason = reason};
    const psv_status status = ranks->requests == NULL ? PSV_ERROR_MEMORY : psv_create_group(context, &transport, group);
    if (status != PSV_OK) release(ranks);
    return status;
}
