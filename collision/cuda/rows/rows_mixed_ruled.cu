// rows_mixed_sweep.cu for frames with rules of pairs.
#include "rows_ruled.h"

#include "rows_mixed_sweep.cu"
