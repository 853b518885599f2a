// Pictures in compute shaders, host side.
#ifndef PAIRSIEVE_RENDER_GPU_H
#define PAIRSIEVE_RENDER_GPU_H

#include "../../../core/gpu/gpu_backend.h"
#include "../renderer.h"

psv_status psvi_gpu_load_world(psv_renderer *renderer);

#endif
