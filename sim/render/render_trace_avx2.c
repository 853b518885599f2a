// Rays of pictures with AVX2. Compiled for that alone; nothing here runs before the processor was asked.
#include "../../collision/cpu/trees/tree_slots_avx2.h"

#define PSVI_RAY_SLOTS psvi_ray_slots_avx2
#define PSVI_NODE(name, view, number) const psv_tree_node *const name = &(view)->nodes[number]
#define PSVI_TRACE_PIXELS psvi_trace_pixels_avx2
#include "render_trace_loop.h"
