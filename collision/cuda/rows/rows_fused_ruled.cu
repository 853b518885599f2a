// rows_fused.cu for frames with rules of pairs.
#include "sweep/rows_ruled.h"

#include "rows_fused.cu"
