// Pictures on CUDA: a thread a place of the tree, a pixel.
#include "../../core/cuda/cuda_backend.h"
#include "render_filter.h"
#include "render_place.h"
#include "renderer.h"

#define PLACE_THREADS 256
#define TILE_X 8 // a warp has 8 x 4 pixels: their rays go the same way
#define TILE_Y 4
#define RAY_WARPS 4
#define RAY_BLOCKS 6 // 80 registers a thread: with 4 or 8 a picture takes 1 to 5% longer
#define FILTER_THREADS 256

__global__ void psvk_begin_items(uint64_t *count, uint64_t slots) { *count = slots; }

// In: poses and shapes. Out: 24 bytes a slot, and 29 for each part of a compound.
__global__ void __launch_bounds__(PLACE_THREADS) psvk_make_items(const __grid_constant__ psvi_render_scene scene) {
    const uint32_t slot = blockIdx.x * PLACE_THREADS + threadIdx.x;
    if (slot < scene.sim.slots) psvi_make_items(&scene, slot);
}

// Reads a body of 60 bytes by slot and its shape, writes up to 52 bytes by place.
__global__ void __launch_bounds__(PLACE_THREADS) psvk_place_bodies(const __grid_constant__ psvi_render_scene scene) {
    psvi_place_body(&scene, blockIdx.x * PLACE_THREADS + threadIdx.x);
}

// The pixel of a thread: tiles of a warp's 32, row after row. False beyond the picture.
static __device__ __forceinline__ bool psvi_tile_pixel(const psvi_render_scene &scene, uint32_t *pixel) {
    const uint32_t columns = (scene.width + TILE_X - 1) / TILE_X;
    const uint32_t tile = blockIdx.x * RAY_WARPS + threadIdx.x / 32, lane = threadIdx.x & 31u;
    const uint32_t x = tile % columns * TILE_X + lane % TILE_X, y = tile / columns * TILE_Y + lane / TILE_X;
    *pixel = y * scene.width + x;
    return x < scene.width && y < scene.height;
}

static __device__ __forceinline__ void psvi_count_rays(const psvi_render_scene &scene, uint32_t rays) {
    __shared__ uint32_t sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (rays > 0) atomicAdd(&sum, rays);
    __syncthreads();
    if (threadIdx.x == 0 && sum > 0) atomicAdd((unsigned long long *)scene.rays, (unsigned long long)sum);
}

// Reads nodes of 80 bytes and bodies of 16 or 48, mostly from the caches; writes 64 bytes a pixel.
__global__ void __launch_bounds__(32 * RAY_WARPS, RAY_BLOCKS)
    psvk_trace_surfaces(const __grid_constant__ psvi_render_scene scene) {
    uint32_t pixel;
    const bool inside = psvi_tile_pixel(scene, &pixel);
    psvi_count_rays(scene, inside ? psvi_render_surface(&scene, pixel) : 0);
}

// The same for the rays to sun and sky; reads and writes 64 and 32 bytes a pixel.
__global__ void __launch_bounds__(32 * RAY_WARPS, RAY_BLOCKS)
    psvk_trace_light(const __grid_constant__ psvi_render_scene scene) {
    uint32_t pixel;
    const bool inside = psvi_tile_pixel(scene, &pixel);
    psvi_count_rays(scene, inside ? psvi_render_light(&scene, pixel) : 0);
}

// The same by Phong's formula, a kernel of its own: daylight keeps its registers.
__global__ void __launch_bounds__(32 * RAY_WARPS, RAY_BLOCKS)
    psvk_shade_phong(const __grid_constant__ psvi_render_scene scene) {
    uint32_t pixel;
    const bool inside = psvi_tile_pixel(scene, &pixel);
    psvi_count_rays(scene, inside ? psvi_shade_pixel(&scene, pixel, true) : 0);
}

// Reads 32 bytes of nine pixels, writes 16.
__global__ void __launch_bounds__(FILTER_THREADS)
    psvk_smooth_light(const __grid_constant__ psvi_render_scene scene, uint32_t pass) {
    const uint32_t pixel = blockIdx.x * FILTER_THREADS + threadIdx.x;
    if (pixel < scene.width * scene.height) psvi_render_smooth(&scene, pass, pixel);
}

__global__ void __launch_bounds__(FILTER_THREADS) psvk_finish_picture(const __grid_constant__ psvi_render_scene scene) {
    const uint32_t pixel = blockIdx.x * FILTER_THREADS + threadIdx.x;
    if (pixel < scene.width * scene.height) psvi_render_final(&scene, pixel);
}

static uint32_t blocks_for(uint64_t threads, uint32_t block) { return (uint32_t)((threads + block - 1) / block); }

static psv_status make_items(psv_context *context, const psvi_render_scene *scene) {
    const cudaStream_t stream = (cudaStream_t)context->stream;
    const uint32_t slots = scene->sim.slots;
    if (scene->items.room > slots) psvk_begin_items<<<1, 1, 0, stream>>>(scene->items.count, slots);
    if (slots > 0) psvk_make_items<<<blocks_for(slots, PLACE_THREADS), PLACE_THREADS, 0, stream>>>(*scene);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_make_items");
}

static psv_status place_bodies(psv_context *context, const psvi_render_scene *scene, uint64_t items) {
    const cudaStream_t stream = (cudaStream_t)context->stream;
    if (items > 0) psvk_place_bodies<<<blocks_for(items, PLACE_THREADS), PLACE_THREADS, 0, stream>>>(*scene);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_place_bodies");
}

static psv_status trace(psv_context *context, const psvi_render_scene *scene) {
    const cudaStream_t stream = (cudaStream_t)context->stream;
    const uint32_t tiles = blocks_for(scene->width, TILE_X) * blocks_for(scene->height, TILE_Y);
    const uint32_t blocks = blocks_for(tiles, RAY_WARPS);
    psvk_trace_surfaces<<<blocks, 32 * RAY_WARPS, 0, stream>>>(*scene);
    if (scene->phong)
        psvk_shade_phong<<<blocks, 32 * RAY_WARPS, 0, stream>>>(*scene);
    else
        psvk_trace_light<<<blocks, 32 * RAY_WARPS, 0, stream>>>(*scene);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_trace_light");
}

static psv_status filter(psv_context *context, const psvi_render_scene *scene) {
    const cudaStream_t stream = (cudaStream_t)context->stream;
    const uint32_t blocks = blocks_for((uint64_t)scene->width * scene->height, FILTER_THREADS);
    for (uint32_t pass = 0; pass < scene->passes; ++pass)
        psvk_smooth_light<<<blocks, FILTER_THREADS, 0, stream>>>(*scene, pass);
    psvk_finish_picture<<<blocks, FILTER_THREADS, 0, stream>>>(*scene);
    return psvi_cuda_status(context, cudaGetLastError(), "psvk_finish_picture");
}

extern "C" const psvi_render_ops psvi_render_ops_cuda = {make_items, place_bodies, trace, filter};
