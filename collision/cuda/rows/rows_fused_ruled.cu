// rows_fused.cu for frames with rules of pairs.
#include "rows_ruled.h"

#include "rows_fused.cu"
