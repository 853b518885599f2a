// First in the files that compile the sweeps of `rows` once more, for frames with rules of pairs: see PSVD_RULED in
// common.cuh. Kernels and launchers get names of their own.
#ifndef PAIRSIEVE_COLLISION_ROWS_RULED_H
#define PAIRSIEVE_COLLISION_ROWS_RULED_H

#define PSVD_RULED 1

#define psvk_rows_exact psvk_rows_exact_ruled
#define psvk_rows_fused psvk_rows_fused_ruled
#define psvk_rows_segments_sweep psvk_rows_segments_sweep_ruled
#define psvk_rows_uniform psvk_rows_uniform_ruled

#define psvi_prepare_rows_exact psvi_prepare_rows_exact_ruled
#define psvi_prepare_rows_fused psvi_prepare_rows_fused_ruled
#define psvi_prepare_rows_segments_sweep psvi_prepare_rows_segments_sweep_ruled

#define psvi_launch_rows_counted_exact psvi_launch_rows_counted_exact_ruled
#define psvi_launch_rows_exact psvi_launch_rows_exact_ruled
#define psvi_launch_rows_fused psvi_launch_rows_fused_ruled
#define psvi_launch_rows_segments_sweep psvi_launch_rows_segments_sweep_ruled
#define psvi_launch_rows_uniform psvi_launch_rows_uniform_ruled

#endif
