// Launchers of the kernels of a step. All enqueue on the stream and return the launch's error.
#ifndef PAIRSIEVE_SIM_STEP_KERNELS_H
#define PAIRSIEVE_SIM_STEP_KERNELS_H

#include "../queries/body_batch.h"
#include "solver_data.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

// What the host reads of a step without waiting: two records, written in turn to host memory that the device sees.
typedef struct psvi_published {
    volatile uint64_t serial; // of the last record written, from 1; it lies in record[serial & 1]
    psvi_step_counts record[2];
} psvi_published;

// Blocks that wait for each other: one, a cluster, or all of a cooperative grid.
typedef struct psvi_team {
    int blocks;
    bool cluster;
} psvi_team;

cudaError_t psvi_launch_begin(const psvi_sim *sim, const psvi_step *step, cudaStream_t stream);
cudaError_t psvi_launch_attract(const psvi_sim *sim, const psvi_step *step, cudaStream_t stream);
// `general`: there may be bodies that are not round, or meshes.
cudaError_t psvi_launch_narrow(const psvi_sim *sim, const psvi_step *step, bool ground, bool general, int processors,
                               cudaStream_t stream);
// Of a world with hulls, before psvi_launch_narrow ends: pairs of a hull, and hulls on the ground.
cudaError_t psvi_launch_narrow_hulls(const psvi_sim *sim, const psvi_step *step, bool ground, int processors,
                                     cudaStream_t stream);
// Colours the contacts and lays them out in the solver's order.
cudaError_t psvi_launch_colour(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step, psvi_team team,
                               cudaStream_t stream);
// Solvers: of particles, spheres, planes and height fields; of all bodies; and the same with rolling friction.
typedef enum psvi_solve_kind {
    PSVI_SOLVE_ROUND = 0,
    PSVI_SOLVE_GENERAL = 1,
    PSVI_SOLVE_ROLLING = 2,
    PSVI_SOLVE_KINDS = 3
} psvi_solve_kind;
cudaError_t psvi_launch_solve(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step,
                              psvi_solve_kind kind, psvi_team team, cudaStream_t stream);
cudaError_t psvi_launch_finish(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step,
                               psvi_published *published, int processors, cudaStream_t stream);
cudaError_t psvi_launch_keep(const psvi_sim *sim, const psvi_solver *solver, const psvi_step *step, int processors,
                             cudaStream_t stream);

cudaError_t psvi_launch_batch(const psvi_sim *sim, const psvi_batch *batch, cudaStream_t stream);
cudaError_t psvi_launch_notice(const psvi_sim *sim, const psvi_step *step, int processors, cudaStream_t stream);
cudaError_t psvi_launch_report(const psvi_sim *sim, const psvi_step *step, int processors, cudaStream_t stream);
cudaError_t psvi_launch_clear_wakes(const psvi_sim *sim, int processors, cudaStream_t stream); // after begin
cudaError_t psvi_launch_rest(const psvi_sim *sim, const psvi_step *step, int processors, cudaStream_t stream);
cudaError_t psvi_launch_forget(const psvi_sim *sim, int processors, cudaStream_t stream);

// Blocks of the cooperative kernels that fit on a processor, and that the largest cluster of them has.
cudaError_t psvi_colour_team(int *per_processor, int *cluster);
cudaError_t psvi_solve_team(psvi_solve_kind kind, int *per_processor, int *cluster);

#ifdef __cplusplus
}
#endif
#endif
