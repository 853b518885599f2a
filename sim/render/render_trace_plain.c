// Rays of pictures on any processor.
#define PSVI_TRACE_PIXELS psvi_trace_pixels
#include "render_trace_loop.h"
