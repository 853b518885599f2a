// Every shipped scene for many frames, twice: no number that is not finite, no body lost without a report, the same
// bytes both times, no memory that grows.
//   soak_scenes cpu|cuda [FRAMES [BODIES [once [SECONDS]]]]
// After SECONDS a run ends with the frames that it has. On CUDA all runs go side by side, each with a thread, a context
// and a stream of its own; on the CPU one after another.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pairsieve/sim.h>

#include "../core/counted_memory.h"
#include "../test_scale.h"
#include "emitted_bodies.h"

#define MOST_RUNS 64
#define SETTLED 1000 // frames, or half of them: memory is compared with what is held then

typedef struct soak_run {
    pthread_t thread;
    const char *scene;
    uint32_t frames;
    uint64_t bodies, lost, pairs, contacts, hash;
    double energy, speed;
    counted_memory memory;
    uint64_t held_at[2];       // bytes of the backend's memory when settled and at the end
    uint64_t host_bytes_at[2]; // of the process
    char failure[600];         // empty: none
} soak_run;

static psv_backend backend;
static uint32_t frames = 300, bodies = 500;
static double latest; // when runs end

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t count) {
    const unsigned char *p = data;
    for (size_t i = 0; i < count; ++i)
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

// Reads an array of four floats a slot; NULL when that fails.
static float (*read_slots(psv_context *context, psv_buffer buffer, uint64_t slots))[4] {
    float(*copy)[4] = malloc((slots + 1) * sizeof *copy);
    if (copy == NULL || psv_download(context, copy, buffer, slots * sizeof *copy) == PSV_OK) return copy;
    free(copy);
    return NULL;
}

static void check_world(psv_context *context, psv_world *world, uint64_t created, soak_run *run) {
    psv_world_counters counters;
    double momentum[3];
    if (psv_read_world_counters(world, &counters) != PSV_OK ||
        psv_world_energy(world, &run->energy, momentum) != PSV_OK) {
        (void)snprintf(run->failure, sizeof run->failure, "%s", psv_last_error(context));
        return;
    }
    const uint64_t slots = psv_world_slot_count(world);
    uint64_t here = 0, wrong = 0;
    float(*position)[4] = read_slots(context, psv_world_positions(world), slots);
    float(*velocity)[4] = read_slots(context, psv_world_velocities(world), slots);
    float(*rotation)[4] = read_slots(context, psv_world_rotations(world), slots);
    run->hash = 14695981039346656037u;
    for (uint64_t i = 0; position != NULL && velocity != NULL && rotation != NULL && i < slots; ++i) {
        if (!(position[i][3] > 0)) continue;
        ++here;
        bool finite = isfinite(rotation[i][3]);
        for (int k = 0; k < 3; ++k)
            finite = finite && isfinite(position[i][k]) && isfinite(velocity[i][k]) && isfinite(rotation[i][k]);
        wrong += !finite;
        run->speed = fmax(run->speed, sqrt((double)(velocity[i][0] * velocity[i][0] + velocity[i][1] * velocity[i][1] +
                                                    velocity[i][2] * velocity[i][2])));
        run->hash = hash_bytes(run->hash, position[i], sizeof position[i]);
        run->hash = hash_bytes(run->hash, velocity[i], sizeof velocity[i]);
        run->hash = hash_bytes(run->hash, rotation[i], sizeof rotation[i]);
    }
    run->bodies = here;
    run->lost = counters.lost_bodies;
    run->pairs = counters.pairs;
    run->contacts = counters.contacts;
    if (wrong > 0 || here != counters.bodies || here + counters.lost_bodies != created)
        (void)snprintf(run->failure, sizeof run->failure,
                       "%llu bodies are not finite; %llu are there, %llu counted, %llu reported out, of %llu",
                       (unsigned long long)wrong, (unsigned long long)here, (unsigned long long)counters.bodies,
                       (unsigned long long)counters.lost_bodies, (unsigned long long)created);
    free(position);
    free(velocity);
    free(rotation);
}

static void *run_scene(void *argument) {
    soak_run *run = argument;
    psv_context_def def = psv_default_context_def();
    psv_context *context = NULL;
    psv_scene *scene = NULL;
    psv_scene_options options = psv_default_scene_options();
    def.backend = run->memory.backend = backend;
    def.worker_count = backend == PSV_BACKEND_CPU ? 1 : 0;
    def.allocator = (psv_allocator){counted_allocate, counted_release, &run->memory};
    options.bodies = strcmp(run->scene, "galaxy") == 0 && bodies > 256 ? 256 : bodies;
    psv_status status = psv_create_context(&def, &context);
    if (status == PSV_OK) status = psv_load_scene(context, run->scene, &options, &scene);
    psv_world *world = status == PSV_OK ? psv_scene_world(scene) : NULL;
    const uint64_t created = status == PSV_OK ? psv_world_body_count(world) : 0;
    const uint32_t settled = frames / 2 < SETTLED ? frames / 2 : SETTLED;
    for (uint32_t frame = 0; frame < frames && status == PSV_OK; ++frame) {
        status = psv_scene_step(scene);
        run->frames = frame + 1;
        if (frame % 64 == 63) {
            // What is enqueued counts only when it has happened.
            if (status == PSV_OK) status = psv_synchronize(context);
            if (seconds_now() > latest && frame > settled) {
                run->held_at[1] = run->memory.held;
                run->host_bytes_at[1] = host_bytes();
                break;
            }
        }
        if (frame != settled && frame != frames - 1) continue;
        run->held_at[frame == frames - 1] = run->memory.held;
        run->host_bytes_at[frame == frames - 1] = host_bytes();
    }
    if (status == PSV_OK) {
        check_world(context, world, created + emitted_bodies(run->scene, run->frames, options.bodies), run);
    } else {
        (void)snprintf(run->failure, sizeof run->failure, "%s: %s", psv_status_name(status), psv_last_error(context));
    }
    psv_destroy_scene(scene);
    psv_destroy_context(context);
    if (run->failure[0] == 0 && run->memory.held != 0)
        (void)snprintf(run->failure, sizeof run->failure, "%llu bytes were not given back",
                       (unsigned long long)run->memory.held);
    return NULL;
}

// Room for pairs and contacts may double once more; nothing may grow from frame to frame.
static bool memory_grew(const soak_run *runs, uint32_t count) {
    uint64_t half = 0, end = 0;
    bool grew = false;
    for (uint32_t r = 0; r < count; ++r) {
        half = runs[r].host_bytes_at[0] > half ? runs[r].host_bytes_at[0] : half;
        end = runs[r].host_bytes_at[1] > end ? runs[r].host_bytes_at[1] : end;
        grew |= runs[r].held_at[1] > 2 * runs[r].held_at[0];
    }
    printf("the process when the scenes had settled and at the end: at most %.1f and %.1f MB\n", (double)half * 1e-6,
           (double)end * 1e-6);
    return grew || end > half + half / 10 + (1u << 24);
}

int main(int argc, char **argv) {
    if (argc < 2 || psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (argc > 2) frames = (uint32_t)strtoul(argv[2], NULL, 10);
    bodies = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : test_thinned(bodies, 64);
    const uint32_t times = argc > 4 && strcmp(argv[4], "once") == 0 ? 1 : 2;
    latest = seconds_now() + (argc > 5 ? strtod(argv[5], NULL) : 1e9);
    if (!psv_backend_available(backend)) {
        printf("skipped: no %s device on this machine\n", psv_backend_name(backend));
        return 77;
    }
    static soak_run runs[MOST_RUNS];
    uint32_t count = 0;
    int failures = 0;
    for (; count < MOST_RUNS && psv_shipped_scene_name(count / times) != NULL; ++count)
        runs[count].scene = psv_shipped_scene_name(count / times);
    for (uint32_t r = 0; r < count; ++r) {
        if (backend == PSV_BACKEND_CPU)
            (void)run_scene(&runs[r]);
        else if (pthread_create(&runs[r].thread, NULL, run_scene, &runs[r]) != 0)
            return 1;
    }
    for (uint32_t r = 0; r < count && backend != PSV_BACKEND_CPU; ++r)
        (void)pthread_join(runs[r].thread, NULL);
    for (uint32_t r = 0; r < count; ++r) {
        const soak_run *run = &runs[r], *first = &runs[r / times * times];
        const bool repeats = run->hash == first->hash;
        failures += run->failure[0] != 0 || !repeats;
        if (run != first && repeats && run->failure[0] == 0) continue; // the same line again
        printf("%-12s %u frames: %llu bodies, %llu reported out, %llu pairs, %llu contacts, %.4g J, fastest %.3f m/s, "
               "%.2f MB, at the end %.2f, %016llx%s %s\n",
               run->scene, run->frames, (unsigned long long)run->bodies, (unsigned long long)run->lost,
               (unsigned long long)run->pairs, (unsigned long long)run->contacts, run->energy, run->speed,
               (double)run->held_at[0] * 1e-6, (double)run->held_at[1] * 1e-6, (unsigned long long)run->hash,
               repeats ? "" : " DIFFERENT the second time", run->failure);
    }
    const bool grew = memory_grew(runs, count);
    if (grew) printf("memory grew\n");
    return failures != 0 || grew;
}
