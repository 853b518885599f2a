// Moves between CUDA ranks, by NCCL. Its library is opened at run time, and only where a group of several CUDA contexts
// is made: nothing else needs it.
#include "nccl_transport.h"

#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/cuda/cuda_backend.h"

// The functions that are used, of the types that the header gives them.
#define NCCL_FUNCTIONS(each)                                                                                           \
    each(ncclGetUniqueId) each(ncclCommInitRank) each(ncclCommDestroy) each(ncclCommAbort) each(ncclGroupStart)        \
        each(ncclGroupEnd) each(ncclSend) each(ncclRecv) each(ncclGetErrorString)

struct psvi_nccl {
    void *library;
    ncclComm_t comm; // NULL: one rank, which needs none
#define DECLARE(name) __typeof__(&(name)) name;
    NCCL_FUNCTIONS(DECLARE)
#undef DECLARE
};

static psv_status nccl_status(psv_group *group, ncclResult_t result, const char *what) {
    if (result == ncclSuccess) return PSV_OK;
    group->broken = true;
    return psvi_fail(group->context, PSV_ERROR_DEVICE, "%s: %s", what, group->nccl->ncclGetErrorString(result));
}

static psv_status load_nccl(psv_group *group) {
    psvi_nccl *nccl = group->nccl;
    nccl->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL); // never closed: it has threads of its own
    if (nccl->library == NULL)
        return psvi_fail(group->context, PSV_ERROR_UNSUPPORTED,
                         "groups of several CUDA contexts need NCCL, and libnccl.so.2 was not found: %s", dlerror());
#define LOAD(name)                                                                                                     \
    *(void **)(&nccl->name) = dlsym(nccl->library, #name);                                                             \
    if (nccl->name == NULL) return psvi_fail(group->context, PSV_ERROR_UNSUPPORTED, "libnccl.so.2 has no " #name);
    NCCL_FUNCTIONS(LOAD)
#undef LOAD
    return PSV_OK;
}

psv_status psvi_open_nccl(psv_group *group) {
    psv_context *context = group->context;
    group->nccl = calloc(1, sizeof *group->nccl);
    psv_status status = group->nccl == NULL ? psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a group") : PSV_OK;
    (void)cudaSetDevice(context->device);
    if (status == PSV_OK && group->size > 1) status = load_nccl(group);
    ncclUniqueId id = {{0}}, *all = calloc(group->size, sizeof *all);
    if (status == PSV_OK && all == NULL) status = psvi_fail(context, PSV_ERROR_MEMORY, "no memory for a group");
    if (status == PSV_OK && group->size > 1 && group->rank == 0)
        status = nccl_status(group, group->nccl->ncclGetUniqueId(&id), "ncclGetUniqueId");
    group->broken = false; // the others wait for this gather
    status = all == NULL ? psvi_group_agree(group, PSVI_CALL_CREATE_NCCL, status)
                         : psvi_group_gather(group, PSVI_CALL_CREATE_NCCL, status, &id, all, sizeof id);
    if (status == PSV_OK && group->size > 1)
        status = nccl_status(
            group, group->nccl->ncclCommInitRank(&group->nccl->comm, (int)group->size, all[0], (int)group->rank),
            "ncclCommInitRank");
    free(all);
    return status;
}

void psvi_nccl_enter(const psv_group *group) {
    if (group->nccl != NULL) (void)cudaSetDevice(group->context->device);
}

void psvi_close_nccl(psv_group *group) {
    psvi_nccl *nccl = group->nccl;
    if (nccl == NULL) return;
    if (nccl->comm != NULL) (void)(group->broken ? nccl->ncclCommAbort : nccl->ncclCommDestroy)(nccl->comm);
    free(nccl);
    group->nccl = NULL;
}

// One array to and from one other rank.
static ncclResult_t send_and_receive(psv_group *group, const psvi_moved *moved, uint32_t other) {
    const psvi_nccl *nccl = group->nccl;
    cudaStream_t stream = group->context->stream;
    ncclResult_t result = ncclSuccess;
    if (moved->sent_count[other] > 0)
        result = nccl->ncclSend((const char *)moved->sent + moved->sent_first[other] * moved->unit,
                                moved->sent_count[other] * moved->unit, ncclUint8, (int)other, nccl->comm, stream);
    if (result == ncclSuccess && moved->received_count[other] > 0)
        result = nccl->ncclRecv((char *)moved->received + moved->received_first[other] * moved->unit,
                                moved->received_count[other] * moved->unit, ncclUint8, (int)other, nccl->comm, stream);
    return result;
}

psv_status psvi_nccl_move(psv_group *group, const psvi_moved *list, uint32_t count) {
    psv_context *context = group->context;
    const psvi_nccl *nccl = group->nccl;
    const uint32_t rank = group->rank;
    psv_status status = PSV_OK;
    ncclResult_t result = ncclSuccess;
    if (group->size > 1) {
        result = nccl->ncclGroupStart();
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t step = 1; step < group->size && result == ncclSuccess; ++step)
                result = send_and_receive(group, &list[i], (rank + step) % group->size);
        const ncclResult_t ended = nccl->ncclGroupEnd();
        status = nccl_status(group, result == ncclSuccess ? ended : result, "ncclSend and ncclRecv");
    }
    for (uint32_t i = 0; i < count && status == PSV_OK; ++i)
        if (list[i].sent_count[rank] > 0)
            status = context->ops->copy(context, (char *)list[i].received + list[i].received_first[rank] * list[i].unit,
                                        (const char *)list[i].sent + list[i].sent_first[rank] * list[i].unit,
                                        list[i].sent_count[rank] * list[i].unit, PSVI_COPY_INSIDE);
    return status;
}
