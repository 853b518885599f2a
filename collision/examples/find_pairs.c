// Finds the overlapping pairs of moving bodies, on memory that the program owns: device memory where there is a GPU,
// host memory otherwise. The boxes stay inside the program's own structs; pairsieve reads them there. Exit code 0 when
// the two frames have the pairs that they should have.
#include <stdio.h>
#include <stdlib.h>

#include <pairsieve/collision.h>

#if PSV_HAVE_CUDA // this program's own choice; pairsieve's headers need no CUDA
#include <cuda_runtime_api.h>
#endif

#define COUNT 1000

typedef struct body {
    float position[3], velocity[3];
    psv_aabb box;
} body;

static bool on_gpu;

static void *own_memory(size_t bytes) {
    void *memory = on_gpu ? NULL : malloc(bytes);
#if PSV_HAVE_CUDA
    if (on_gpu && cudaMalloc(&memory, bytes) != cudaSuccess) return NULL;
#endif
    return memory;
}

static int fail(const char *what, const psv_context *context) {
    fprintf(stderr, "find_pairs: %s: %s\n", what, psv_last_error(context));
    return 1;
}

// Body i stands at (i + shift, 0, 0) and is `width` wide.
static void place(body *bodies, float shift, float width) {
    for (int i = 0; i < COUNT; ++i) {
        float x = (float)i + shift;
        bodies[i] = (body){{x, 0, 0}, {1, 0, 0}, {{x, 0, 0}, {x + width, 1, 1}}};
    }
}

int main(void) {
    psv_context *context;
    const psv_context_def context_def = psv_default_context_def(); // a GPU if there is one; a stream can be lent here
    if (psv_create_context(&context_def, &context) != PSV_OK) return fail("context", NULL);
    on_gpu = psv_context_backend(context) == PSV_BACKEND_CUDA;

    psv_pair_finder *finder;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = COUNT;
    def.events = true;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return fail("finder", context);

    body *host = malloc(COUNT * sizeof *host), *bodies = own_memory(COUNT * sizeof *bodies);
    if (host == NULL || bodies == NULL) return 1;
    const psv_buffer memory = psv_buffer_of(bodies, COUNT * sizeof *bodies);
    const psv_buffer boxes = psv_sub_buffer(memory, offsetof(body, box), memory.bytes - offsetof(body, box));
    const psv_box_set set = psv_boxes_of(boxes, sizeof(body), COUNT);
    static psv_pair pairs[COUNT], begin[2 * COUNT], end[2 * COUNT];
    uint64_t count[2] = {0}, begins[2] = {0}, ends[2] = {0};
    for (int frame = 0; frame < 2; ++frame) {
        place(host, 0.5f * (float)frame, frame == 0 ? 1.0f : 0.75f);         // neighbours touch first, then they part
        psv_status status = psv_upload(context, memory, host, memory.bytes); // a simulation would step on the device
        if (status == PSV_OK) status = psv_find_pairs(finder, &set);
        if (status == PSV_OK) status = psv_read_pairs(finder, pairs, COUNT, &count[frame]);
        if (status == PSV_OK)
            status = psv_read_pair_events(finder, begin, 2 * COUNT, &begins[frame], end, 2 * COUNT, &ends[frame]);
        if (status != PSV_OK) return fail("frame", context);
        printf("frame %d: %llu pairs, %llu began, %llu ended\n", frame, (unsigned long long)count[frame],
               (unsigned long long)begins[frame], (unsigned long long)ends[frame]);
    }
    psv_destroy_pair_finder(finder);
    psv_destroy_context(context);
    free(host);
    if (!on_gpu) free(bodies); // device memory goes with the process
    return count[0] == COUNT - 1 && begins[0] == COUNT - 1 && count[1] == 0 && ends[1] == COUNT - 1 ? 0 : 1;
}
