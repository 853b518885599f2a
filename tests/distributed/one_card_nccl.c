// Stands in for NCCL where there is one GPU: its functions that groups use, for ranks that are threads of one process
// and share a device. A receive waits for the send that it belongs to and copies on the device. Built as libnccl.so.2
// into a folder of its own, which test_group_one_card finds first.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

ncclResult_t ncclGroupStart(void); // nccl.h declares them without arguments
ncclResult_t ncclGroupEnd(void);

#define MOST_RANKS 16
#define MOST_CALLS 256 // of a group of calls, on one rank

typedef struct letter {
    const void *sent;
    size_t bytes;
    cudaEvent_t ready, taken; // what is sent is there; it has been copied
    bool done;                // `taken` is recorded
    struct letter *next;
} letter;

typedef struct post_office {
    char id[NCCL_UNIQUE_ID_BYTES];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int users;
    letter *boxes[MOST_RANKS][MOST_RANKS]; // from, to: in the order in which they were sent
    struct post_office *next;
} post_office;

struct ncclComm {
    post_office *office;
    int rank;
};

typedef struct call {
    ncclComm_t comm;
    bool sends;
    void *memory;
    size_t bytes;
    int peer;
    cudaStream_t stream;
    letter *letter;
} call;

static pthread_mutex_t offices_lock = PTHREAD_MUTEX_INITIALIZER;
static post_office *offices;
static uint64_t next_id = 1;
static __thread call calls[MOST_CALLS];
static __thread int call_count;

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    pthread_mutex_lock(&offices_lock);
    memset(id, 0, sizeof *id);
    memcpy(id->internal, &next_id, sizeof next_id);
    ++next_id;
    pthread_mutex_unlock(&offices_lock);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank) {
    if (size > MOST_RANKS) return ncclInvalidArgument;
    pthread_mutex_lock(&offices_lock);
    post_office *office = offices;
    while (office != NULL && memcmp(office->id, id.internal, sizeof office->id) != 0)
        office = office->next;
    if (office == NULL) {
        office = calloc(1, sizeof *office);
        memcpy(office->id, id.internal, sizeof office->id);
        pthread_mutex_init(&office->lock, NULL);
        pthread_cond_init(&office->changed, NULL);
        office->users = size;
        office->next = offices;
        offices = office;
    }
    pthread_mutex_unlock(&offices_lock);
    *comm = malloc(sizeof **comm);
    **comm = (struct ncclComm){office, rank};
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    pthread_mutex_lock(&offices_lock);
    post_office *office = comm->office;
    if (--office->users == 0) {
        post_office **at = &offices;
        while (*at != office)
            at = &(*at)->next;
        *at = office->next;
        pthread_mutex_destroy(&office->lock);
        pthread_cond_destroy(&office->changed);
        free(office);
    }
    pthread_mutex_unlock(&offices_lock);
    free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclGroupStart(void) {
    call_count = 0;
    return ncclSuccess;
}

static ncclResult_t note(call made) {
    if (call_count == MOST_CALLS) return ncclInternalError;
    calls[call_count++] = made;
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *sent, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    if (type != ncclUint8) return ncclInvalidArgument;
    return note((call){comm, true, (void *)(uintptr_t)sent, count, peer, stream, NULL});
}

ncclResult_t ncclRecv(void *received, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    if (type != ncclUint8) return ncclInvalidArgument;
    return note((call){comm, false, received, count, peer, stream, NULL});
}

static bool post(call *made) {
    letter *own = calloc(1, sizeof *own);
    own->sent = made->memory;
    own->bytes = made->bytes;
    made->letter = own;
    const bool good = cudaEventCreateWithFlags(&own->ready, cudaEventDisableTiming) == cudaSuccess &&
                      cudaEventCreateWithFlags(&own->taken, cudaEventDisableTiming) == cudaSuccess &&
                      cudaEventRecord(own->ready, made->stream) == cudaSuccess;
    post_office *office = made->comm->office;
    pthread_mutex_lock(&office->lock);
    letter **at = &office->boxes[made->comm->rank][made->peer];
    while (*at != NULL)
        at = &(*at)->next;
    *at = own;
    pthread_cond_broadcast(&office->changed);
    pthread_mutex_unlock(&office->lock);
    return good;
}

static bool take(const call *made) {
    post_office *office = made->comm->office;
    letter **box = &office->boxes[made->peer][made->comm->rank];
    pthread_mutex_lock(&office->lock);
    while (*box == NULL)
        pthread_cond_wait(&office->changed, &office->lock);
    letter *other = *box;
    *box = other->next;
    const bool good = other->bytes == made->bytes &&
                      cudaStreamWaitEvent(made->stream, other->ready, 0) == cudaSuccess &&
                      cudaMemcpyAsync(made->memory, other->sent, made->bytes, cudaMemcpyDeviceToDevice, made->stream) ==
                          cudaSuccess &&
                      cudaEventRecord(other->taken, made->stream) == cudaSuccess;
    other->done = true;
    pthread_cond_broadcast(&office->changed);
    pthread_mutex_unlock(&office->lock);
    return good;
}

// What the stream does next may write over what was sent.
static bool wait_until_taken(const call *made) {
    post_office *office = made->comm->office;
    letter *own = made->letter;
    pthread_mutex_lock(&office->lock);
    while (!own->done)
        pthread_cond_wait(&office->changed, &office->lock);
    pthread_mutex_unlock(&office->lock);
    const bool good = cudaStreamWaitEvent(made->stream, own->taken, 0) == cudaSuccess;
    cudaEventDestroy(own->ready);
    cudaEventDestroy(own->taken);
    free(own);
    return good;
}

ncclResult_t ncclGroupEnd(void) {
    bool good = true;
    for (int c = 0; c < call_count; ++c)
        if (calls[c].sends) good &= post(&calls[c]);
    for (int c = 0; c < call_count; ++c)
        if (!calls[c].sends) good &= take(&calls[c]);
    for (int c = 0; c < call_count; ++c)
        if (calls[c].sends) good &= wait_until_taken(&calls[c]);
    call_count = 0;
    return good ? ncclSuccess : ncclInternalError;
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "the stand-in for NCCL failed";
}
