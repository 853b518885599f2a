// Queries of trees on processors without the vector units that other files ask for.
#include "tree_cpu.h"
#define PSVI_QUERY_LOOP psvi_query_loop_plain
#define PSVI_FILL_LOOP psvi_fill_loop_plain
#include "tree_query_loop.h"
