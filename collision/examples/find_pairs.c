// Finds the overlapping pairs of moving bodies, in memory that the program owns: device memory with a GPU, host memory
// otherwise. The boxes are inside the program's own structs, where pairsieve reads them. Exit code 0 when the two
// frames have the expected pairs.
#include <stddef.h>
#include <stdio.h>

#include <pairsieve/collision.h>

#if PSV_HAVE_CUDA // this program's own choice; pairsieve's headers need no CUDA
#include <cuda_runtime_api.h>
#endif

#define COUNT 1000

typedef struct body {
    float position[3], velocity[3];
    psv_aabb box;
} body;

static body bodies[COUNT]; // the program's own; without a GPU pairsieve reads the boxes right here

// Memory that pairsieve is to read: the bodies themselves, or their copy on the device.
static void *shared_memory(bool on_gpu) {
    void *memory = bodies;
#if PSV_HAVE_CUDA
    if (on_gpu && cudaMalloc(&memory, sizeof bodies) != cudaSuccess) return NULL;
#endif
    return on_gpu && memory == bodies ? NULL : memory;
}

static int fail(const char *what, const psv_context *context) {
    fprintf(stderr, "find_pairs: %s: %s\n", what, psv_last_error(context));
    return 1;
}

// Body i stands at (i + shift, 0, 0) and is `width` wide.
static void place(float shift, float width) {
    for (int i = 0; i < COUNT; ++i) {
        float x = (float)i + shift;
        bodies[i] = (body){{x, 0, 0}, {1, 0, 0}, {{x, 0, 0}, {x + width, 1, 1}}};
    }
}

int main(void) {
    psv_context *context;
    const psv_context_def context_def = psv_default_context_def(); // a GPU if there is one; a stream can be lent here
    if (psv_create_context(&context_def, &context) != PSV_OK) return fail("context", NULL);
    const bool on_gpu = psv_context_backend(context) == PSV_BACKEND_CUDA;

    psv_pair_finder *finder;
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = COUNT;
    def.events = true;
    if (psv_create_pair_finder(context, &def, &finder) != PSV_OK) return fail("finder", context);

    const psv_buffer memory = psv_buffer_of(shared_memory(on_gpu), sizeof bodies);
    const psv_buffer boxes = psv_sub_buffer(memory, offsetof(body, box), memory.bytes - offsetof(body, box));
    const psv_box_set set = psv_boxes_of(boxes, sizeof(body), COUNT);
    static psv_pair pairs[COUNT], begin[2 * COUNT], end[2 * COUNT];
    uint64_t count[2] = {0}, begins[2] = {0}, ends[2] = {0};
    for (int frame = 0; frame < 2; ++frame) {
        place(0.5f * (float)frame, frame == 0 ? 1.0f : 0.75f); // neighbours touch first, then they part
        psv_status status = on_gpu ? psv_upload(context, memory, bodies, sizeof bodies) : PSV_OK; // or a step there
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
    return count[0] == COUNT - 1 && begins[0] == COUNT - 1 && count[1] == 0 && ends[1] == COUNT - 1 ? 0 : 1;
}
