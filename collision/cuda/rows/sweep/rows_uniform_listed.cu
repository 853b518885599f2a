// rows_uniform_sweep.cu for frames whose only rules are excluded pairs, given by partners.
#define ROWS_ASKS_PARTNERS 1

#define psvk_rows_uniform psvk_rows_uniform_listed
#define psvi_launch_rows_uniform psvi_launch_rows_uniform_listed

#include "rows_uniform_sweep.cu"
