// rows_segments_sweep.cu for frames with rules of pairs.
#include "rows_ruled.h"

#include "rows_segments_sweep.cu"
