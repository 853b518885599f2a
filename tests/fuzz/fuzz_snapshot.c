// Fuzz target: any bytes, read as a snapshot whose magic, version and checksum were put right, give a world that can be
// used and saved, or a refusal. So the checks of every field are reached, and not only the first bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "sim/files/snapshot_parts.h"

#define MOST_BYTES ((uint64_t)16 << 20) // of one allocation: numbers that ask for more are refused

static void *take(uint64_t bytes, void *user) {
    (void)user;
    return bytes <= MOST_BYTES ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
}

static void give(void *address, uint64_t bytes, void *user) {
    (void)bytes;
    (void)user;
    free(address);
}

static psv_context *shared_context(void) {
    static psv_context *context;
    psv_context_def def = psv_default_context_def();
    def.backend = PSV_BACKEND_CPU;
    def.worker_count = 1;
    def.allocator.allocate = take;
    def.allocator.release = give;
    if (context == NULL && psv_create_context(&def, &context) != PSV_OK) abort();
    return context;
}

static int write_mended(const uint8_t *data, size_t size) {
    const uint32_t head[2] = {PSVI_SNAPSHOT_VERSION, PSVI_SNAPSHOT_BYTE_ORDER};
    unsigned char *copy = malloc(size);
    if (copy == NULL) abort();
    memcpy(copy, data, size);
    memcpy(copy, PSVI_SNAPSHOT_MAGIC, 8);
    memcpy(copy + 8, head, sizeof head);
    const uint64_t sum = psvi_snapshot_checksum(copy, size - 8);
    memcpy(copy + size - 8, &sum, sizeof sum);
    const int file = memfd_create("world.snapshot", 0);
    if (file < 0 || write(file, copy, size) != (ssize_t)size) abort();
    free(copy);
    return file;
}

// Steps, a body more, a body less, rays, and the same file twice.
static void use(psv_context *context, psv_world *world) {
    const float origin[3] = {0.5f, 9, 0.5f}, down[3] = {0, -1, 0};
    const psv_body_def defs[2] = {psv_default_body_def(), psv_default_body_def()};
    psv_body_id ids[2];
    psv_world_counters counters;
    float distance;
    for (int i = 0; i < 2; ++i) {
        const psv_status status = psv_world_step(world, 1.0f / 60);
        if (status != PSV_OK && status != PSV_ERROR_MEMORY) abort();
    }
    if (psv_create_bodies(world, defs, 2, ids) == PSV_OK) {
        if (ids[0].index1 == ids[1].index1 || psv_destroy_body(world, ids[0]) != PSV_OK) abort();
    }
    if (psv_read_world_counters(world, &counters) != PSV_OK) return; // no memory for a step that was put off
    if (counters.bodies > psv_world_slot_count(world)) abort();
    if (psv_cast_ray(world, origin, down, 100, &ids[0], &distance) != PSV_OK) abort();
    // What was saved can be restored.
    psv_world *again = NULL;
    char path[64];
    const int file = memfd_create("saved.snapshot", 0);
    if (file < 0) abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (psv_save_snapshot(world, path) != PSV_OK) abort();
    const psv_status status = psv_restore_snapshot(context, path, &again);
    if (status != PSV_OK && status != PSV_ERROR_MEMORY) {
        (void)fprintf(stderr, "%s\n", psv_last_error(context));
        abort();
    }
    psv_destroy_world(again);
    (void)close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 24) return 0;
    psv_context *context = shared_context();
    psv_world *world = NULL;
    char path[64];
    const int file = write_mended(data, size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const psv_status status = psv_restore_snapshot(context, path, &world);
    (void)close(file);
    if (status != PSV_OK && (world != NULL || psv_last_error(context)[0] == 0)) abort(); // a refusal says why
    if (status == PSV_OK) use(context, world);
    psv_destroy_world(world);
    return 0;
}
