// Groups of the ranks of an MPI job. A library of its own, pairsieve::mpi: programs that use no MPI need none.
#ifndef PAIRSIEVE_GROUP_MPI_H
#define PAIRSIEVE_GROUP_MPI_H

#include <mpi.h>

#include "pairsieve/group.h"

#ifdef __cplusplus
extern "C" {
#endif

// This rank's part of a group over all ranks of `comm`, of which the group keeps a duplicate. Collective over comm.
// Each rank passes a context of its own. Ranks with CUDA contexts move their data by NCCL, and use MPI for counts and
// to find each other. The thread that MPI allows makes the calls of the group. Destroy the group before MPI_Finalize;
// that is collective here. A rank without a context cannot take part: it ends the job by MPI_Abort.
// time_limit: seconds that a call of the group, this one included, waits for other ranks that do nothing; 0: for ever.
// Then the call gives PSV_ERROR_DEVICE, and so do all later calls. Messages may still be on their way: the group can be
// destroyed, which is not collective then, but a job whose rank stands still ends by MPI_Abort alone. Of CUDA contexts
// the limit covers what goes by MPI.
// Errors: those of psv_create_group, and PSV_ERROR_DEVICE when MPI is not initialized or fails. Blocks.
psv_status psv_create_group_mpi(psv_context *context, MPI_Comm comm, double time_limit, psv_group **group);

#ifdef __cplusplus
}
#endif
#endif
