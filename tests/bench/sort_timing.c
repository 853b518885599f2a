#include "sort_timing.h"

#include "../take_profile.h"
#include "bench_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PSV_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "cub_yardstick.h"
#endif

struct bench_device {
    psv_backend backend;
    psv_context *context;
    char driver[128];
    void *stream;      // CUDA
    void *begin, *end; // CUDA and OpenGL: events on the device
};

// Everything that a configuration is timed with.
typedef struct bench_setup {
    bench_device *device;
    const bench_config *config;
    psv_sorter *sorter, *reference;         // reference: "qsort" on the CPU
    psv_buffer inputs[BENCH_KINDS], before; // keys of each input, and of the untimed sort before a timed one
    psv_buffer fresh_keys, fresh_values, keys, values;
    psv_buffer other_keys, other_values, temporary; // CUB
    psv_buffer differing;
    void *graph, *yardstick_graph; // cudaGraphExec_t
} bench_setup;

#define STOP(...) (fprintf(stderr, "bench_sort: " __VA_ARGS__), fprintf(stderr, "\n"), exit(1))
#define CHECK(context, call)                                                                                           \
    do {                                                                                                               \
        if ((call) != PSV_OK) STOP("%s: %s", #call, psv_last_error(context));                                          \
    } while (0)
#if PSV_HAVE_CUDA
#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t cuda_error = (cudaError_t)(call);                                                                  \
        if (cuda_error != cudaSuccess) STOP("%s: %s", #call, cudaGetErrorString(cuda_error));                          \
    } while (0)
#endif

static bool on_cuda(const bench_device *device) { return device->backend == PSV_BACKEND_CUDA; }

static void read_driver(bench_device *device) {
#if PSV_HAVE_CUDA
    char text[256] = "", number[32] = "unknown";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
        (void)fclose(file);
    }
    // The first word that starts with a digit and has a point is the version.
    for (char *word = strtok(text, " \t\n"); word != NULL; word = strtok(NULL, " \t\n"))
        if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.') != NULL) {
            (void)snprintf(number, sizeof number, "%.31s", word);
            break;
        }
    int runtime = 0;
    (void)cudaRuntimeGetVersion(&runtime);
    (void)snprintf(device->driver, sizeof device->driver, "driver %s; runtime %d.%d", number, runtime / 1000,
                   runtime % 1000 / 10);
#else
    device->driver[0] = '\0';
#endif
}

bench_device *bench_open(psv_backend backend, int workers) {
    bench_device *device = calloc(1, sizeof *device);
    if (device == NULL) STOP("no memory");
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = workers;
#if PSV_HAVE_CUDA
    if (backend == PSV_BACKEND_AUTO)
        backend = psv_backend_available(PSV_BACKEND_CUDA) ? PSV_BACKEND_CUDA : PSV_BACKEND_CPU;
    def.backend = backend;
    if (backend == PSV_BACKEND_CUDA && psv_backend_available(backend)) {
        cudaStream_t stream = NULL;
        cudaEvent_t begin = NULL, end = NULL;
        CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CUDA(cudaEventCreate(&begin));
        CUDA(cudaEventCreate(&end));
        device->stream = def.stream = stream;
        device->begin = begin;
        device->end = end;
        def.borrow_stream = true;
    }
#endif
    if (psv_create_context(&def, &device->context) != PSV_OK) {
        fprintf(stderr, "bench_sort: %s\n", psv_last_error(NULL));
        free(device);
        return NULL;
    }
    device->backend = psv_context_backend(device->context);
    if (on_cuda(device)) read_driver(device);
    if (device->backend >= PSV_BACKEND_GL) {
        const psvi_backend_ops *ops = device->context->ops;
        CHECK(device->context, ops->create_event(device->context, &device->begin));
        CHECK(device->context, ops->create_event(device->context, &device->end));
    }
    if (device->backend == PSV_BACKEND_VULKAN) CHECK(device->context, psv_enable_profile(device->context, true));
    return device;
}

typedef struct bench_kept_keys {
    psv_key_type type;
    key_distribution distribution;
    uint64_t seed, count;
    void *keys;
} bench_kept_keys;

// Keys of the last row and values of the largest: the next rows mostly have the same, and they take long to make.
#define KEPT (BENCH_KINDS * BENCH_INPUTS + 1)
static struct {
    bench_kept_keys keys[KEPT];
    uint64_t value_count;
    uint32_t *values;
} kept;

void bench_close(bench_device *device) {
    for (int input = 0; input < KEPT; ++input)
        free(kept.keys[input].keys);
    free(kept.values);
    memset(&kept, 0, sizeof kept);
    if (device->backend >= PSV_BACKEND_GL) {
        device->context->ops->destroy_event(device->context, device->begin);
        device->context->ops->destroy_event(device->context, device->end);
    }
    psv_destroy_context(device->context);
#if PSV_HAVE_CUDA
    if (device->stream != NULL) {
        (void)cudaEventDestroy(device->begin);
        (void)cudaEventDestroy(device->end);
        (void)cudaStreamDestroy(device->stream);
    }
#endif
    free(device);
}

const char *bench_device_name(const bench_device *device) { return psv_context_device_name(device->context); }
const char *bench_driver(const bench_device *device) { return device->driver; }

const char *bench_yardstick(const bench_device *device) {
#if PSV_HAVE_CUDA
    if (on_cuda(device)) return cub_yardstick_version();
#endif
    return device->backend >= PSV_BACKEND_GL ? "none" : "qsort";
}

static void copy_work(bench_setup *setup);

// Runs `work` once and tells its milliseconds.
static double time_once(bench_device *device, void (*work)(bench_setup *), bench_setup *setup) {
#if PSV_HAVE_CUDA
    if (on_cuda(device)) {
        float ms = 0;
        CUDA(cudaStreamSynchronize(device->stream));
        CUDA(cudaEventRecord(device->begin, device->stream));
        work(setup);
        CUDA(cudaEventRecord(device->end, device->stream));
        CUDA(cudaEventSynchronize(device->end));
        CUDA(cudaEventElapsedTime(&ms, device->begin, device->end));
        return ms;
    }
#endif
    if (device->backend == PSV_BACKEND_VULKAN && work != copy_work) {
        // A call submits what it recorded, so a mark behind it is late by a submission. The call's own marks are not.
        psv_profile profile;
        work(setup);
        CHECK(device->context, psv_wait_profile(device->context, &profile));
        return profile.frame_ms;
    }
    if (device->backend >= PSV_BACKEND_GL) {
        // The restoring copy is not waited for: the device goes from it into the sort, with its clocks up.
        const psvi_backend_ops *ops = device->context->ops;
        ops->record_event(device->context, device->begin);
        work(setup);
        ops->record_event(device->context, device->end);
        return ops->event_ms(device->context, device->begin, device->end);
    }
    const double begin = bench_wall_ms();
    work(setup);
    return bench_wall_ms() - begin;
}

static void copy_buffer(bench_device *device, psv_buffer target, psv_buffer source) {
    if (source.bytes == 0) return;
#if PSV_HAVE_CUDA
    if (on_cuda(device)) {
        CUDA(cudaMemcpyAsync(target.address, source.address, source.bytes, cudaMemcpyDeviceToDevice, device->stream));
        return;
    }
#endif
    if (device->backend >= PSV_BACKEND_GL) {
        CHECK(device->context, device->context->ops->copy(device->context, psvi_buffer_address(target),
                                                          psvi_buffer_address(source), source.bytes, PSVI_COPY_INSIDE));
        return;
    }
    memcpy(target.address, source.address, source.bytes);
}

static void copy_work(bench_setup *setup) { copy_buffer(setup->device, setup->keys, setup->fresh_keys); }

double bench_copy_gbytes_per_s(bench_device *device) {
    bench_setup setup = {.device = device};
    const uint64_t bytes = on_cuda(device) ? (uint64_t)2 << 30 : (uint64_t)256 << 20;
    CHECK(device->context, psv_alloc_buffer(device->context, bytes, &setup.keys));
    CHECK(device->context, psv_alloc_buffer(device->context, bytes, &setup.fresh_keys));
    copy_work(&setup);
    double best = 1e30;
    for (int r = 0; r < 10; ++r) {
        const double ms = time_once(device, copy_work, &setup);
        if (ms < best) best = ms;
    }
    psv_free_buffer(device->context, &setup.keys);
    psv_free_buffer(device->context, &setup.fresh_keys);
    return 2e-6 * (double)bytes / best;
}

static void run_sorter(bench_setup *setup, psv_sorter *sorter) {
    const bench_config *config = setup->config;
    psv_status status;
    if (config->operation == BENCH_PAIRS)
        status = psv_sort_pairs(sorter, setup->keys, setup->values, config->count);
    else if (config->operation == BENCH_KEYS)
        status = psv_sort_keys(sorter, setup->keys, config->count);
    else
        status = psv_sort_index(sorter, setup->keys, setup->values, config->count, PSV_INDEX_KEYS_UNDEFINED);
    if (status != PSV_OK) STOP("%s: %s", config->method, psv_last_error(setup->device->context));
}

static void ours_work(bench_setup *setup) { run_sorter(setup, setup->sorter); }

static void yardstick_work(bench_setup *setup) {
#if PSV_HAVE_CUDA
    if (on_cuda(setup->device)) {
        static const cub_operation operations[] = {CUB_PAIRS, CUB_KEYS, CUB_IOTA_AND_PAIRS};
        cub_call call = {.operation = operations[setup->config->operation],
                         .key_type = setup->config->key_type,
                         .keys_in = setup->fresh_keys.address,
                         .keys_out = setup->other_keys.address,
                         .values_in = setup->config->operation == BENCH_INDEX ? setup->values.address
                                                                              : setup->fresh_values.address,
                         .values_out = setup->other_values.address,
                         .count = setup->config->count,
                         .temporary = setup->temporary.address,
                         .temporary_bytes = setup->temporary.bytes,
                         .stream = setup->device->stream};
        CUDA(cub_yardstick(&call));
        return;
    }
#endif
    run_sorter(setup, setup->reference);
}

#if PSV_HAVE_CUDA
static void launch_ours(bench_setup *setup) { CUDA(cudaGraphLaunch(setup->graph, setup->device->stream)); }
static void launch_yardstick(bench_setup *setup) {
    CUDA(cudaGraphLaunch(setup->yardstick_graph, setup->device->stream));
}

static void *capture(bench_setup *setup, void (*work)(bench_setup *)) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    CUDA(cudaStreamBeginCapture(setup->device->stream, cudaStreamCaptureModeThreadLocal));
    work(setup);
    CUDA(cudaStreamEndCapture(setup->device->stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return executable;
}

static bool prepare_cub(bench_setup *setup) {
    const bench_config *config = setup->config;
    const uint64_t key_bytes = psv_key_type_bytes(config->key_type);
    psv_context *context = setup->device->context;
    cub_call call = {.operation = config->operation == BENCH_KEYS ? CUB_KEYS : CUB_PAIRS,
                     .key_type = config->key_type,
                     .count = config->count};
    if (cub_yardstick(&call) != 0) return false;
    CHECK(context, psv_alloc_buffer(context, call.temporary_bytes, &setup->temporary));
    CHECK(context, psv_alloc_buffer(context, config->count * key_bytes, &setup->other_keys));
    if (config->operation != BENCH_KEYS)
        CHECK(context, psv_alloc_buffer(context, config->count * 4, &setup->other_values));
    return true;
}
#endif

static bool prepare_yardstick(bench_setup *setup) {
#if PSV_HAVE_CUDA
    if (on_cuda(setup->device)) return prepare_cub(setup);
#endif
    psv_sorter_def def = psv_default_sorter_def();
    def.method = "qsort";
    def.key_type = setup->config->key_type;
    def.max_count = setup->config->count;
    return psv_create_sorter(setup->device->context, &def, &setup->reference) == PSV_OK;
}

static bool keeps(const bench_kept_keys *keys, const bench_config *config, key_distribution distribution,
                  uint64_t seed) {
    return keys->keys != NULL && keys->type == config->key_type && keys->distribution == distribution &&
           keys->seed == seed && keys->count == config->count;
}

static const void *make_host_keys(const bench_config *config, key_distribution distribution, uint64_t seed, int place) {
    for (int k = 0; k < KEPT; ++k)
        if (keeps(&kept.keys[k], config, distribution, seed)) return kept.keys[k].keys;
    bench_kept_keys *mine = &kept.keys[place];
    free(mine->keys);
    mine->keys = malloc(config->count * psv_key_type_bytes(config->key_type));
    if (mine->keys == NULL) STOP("no host memory for %llu keys", (unsigned long long)config->count);
    mine->type = config->key_type;
    mine->distribution = distribution;
    mine->seed = seed;
    mine->count = config->count;
    make_keys(config->key_type, distribution, seed, config->count, mine->keys);
    return mine->keys;
}

void bench_make_kinds(const bench_config *config, const key_distribution *kinds, int count, int seeds) {
    for (int k = 0; k < KEPT; ++k) { // so that a thread finds its own place only
        free(kept.keys[k].keys);
        kept.keys[k] = (bench_kept_keys){.keys = NULL};
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic)
#endif
    for (int k = 0; k < count * seeds; ++k) {
        void *keys = malloc(config->count * psv_key_type_bytes(config->key_type));
        if (keys == NULL) continue; // it is made, and missed, when it is asked for
        const uint64_t seed = config->seed + (uint64_t)(k % seeds);
        make_keys(config->key_type, kinds[k / seeds], seed, config->count, keys);
        kept.keys[k] = (bench_kept_keys){.type = config->key_type,
                                         .distribution = kinds[k / seeds],
                                         .seed = seed,
                                         .count = config->count,
                                         .keys = keys};
    }
}

static const uint32_t *make_host_values(uint64_t count) {
    if (kept.values != NULL && kept.value_count >= count) return kept.values;
    free(kept.values);
    kept.values = malloc(count * sizeof *kept.values);
    if (kept.values == NULL) STOP("no host memory for %llu values", (unsigned long long)count);
    kept.value_count = count;
    for (uint64_t i = 0; i < count; ++i)
        kept.values[i] = (uint32_t)i;
    return kept.values;
}

static void prepare_input(bench_setup *setup) {
    const bench_config *config = setup->config;
    psv_context *context = setup->device->context;
    const uint64_t key_bytes = config->count * psv_key_type_bytes(config->key_type), value_bytes = config->count * 4;
    for (int input = 0; input < config->inputs; ++input) {
        const void *host = config->kinds != NULL
                               ? make_host_keys(config, config->kinds[input], config->seed, input)
                               : make_host_keys(config, config->distribution, config->seed + (uint64_t)input, input);
        CHECK(context, psv_alloc_buffer(context, key_bytes, &setup->inputs[input]));
        CHECK(context, psv_upload(context, setup->inputs[input], host, key_bytes));
    }
    if (config->has_before) {
        const void *host = make_host_keys(config, config->before, config->seed + BENCH_INPUTS, BENCH_KINDS);
        CHECK(context, psv_alloc_buffer(context, key_bytes, &setup->before));
        CHECK(context, psv_upload(context, setup->before, host, key_bytes));
    }
    CHECK(context, psv_alloc_buffer(context, key_bytes, &setup->fresh_keys));
    CHECK(context, psv_alloc_buffer(context, key_bytes, &setup->keys));
    copy_buffer(setup->device, setup->fresh_keys, setup->inputs[0]);
    if (config->operation != BENCH_KEYS) CHECK(context, psv_alloc_buffer(context, value_bytes, &setup->values));
    if (config->operation == BENCH_PAIRS) {
        CHECK(context, psv_alloc_buffer(context, value_bytes, &setup->fresh_values));
        CHECK(context, psv_upload(context, setup->fresh_values, make_host_values(config->count), value_bytes));
    }
}

// The next input, after an untimed sort of other keys where that is asked for.
static void next_input(bench_setup *setup, int repetition) {
    const bench_config *config = setup->config;
    if (config->inputs > 1)
        copy_buffer(setup->device, setup->fresh_keys, setup->inputs[(repetition + 3) % config->inputs]);
    if (!config->has_before) return;
    copy_buffer(setup->device, setup->keys, setup->before);
    run_sorter(setup, setup->sorter);
}

static void restore(bench_setup *setup) {
    copy_buffer(setup->device, setup->keys, setup->fresh_keys);
    if (setup->config->operation == BENCH_PAIRS) copy_buffer(setup->device, setup->values, setup->fresh_values);
}

// One sort outside of the timing, looked at on the device: keys in order; for values, the raw keys by them in order.
static bool check_result(bench_setup *setup) {
    const bench_config *config = setup->config;
    psv_context *context = setup->device->context;
    psv_buffer result, gathered = {0}, keys = setup->keys;
    psv_order_result order = {.descents = 1};
    restore(setup);
    ours_work(setup);
    CHECK(context, psv_alloc_buffer(context, sizeof order, &result));
    if (config->operation != BENCH_KEYS) {
        CHECK(context, psv_alloc_buffer(context, setup->keys.bytes, &gathered));
        CHECK(context, psv_gather_records(context, setup->fresh_keys, gathered, psv_key_type_bytes(config->key_type),
                                          setup->values, config->count));
        keys = gathered;
    }
    CHECK(context, psv_check_order(setup->sorter, keys, config->count, result));
    CHECK(context, psv_download(context, &order, result, sizeof order));
    psv_free_buffer(context, &result);
    psv_free_buffer(context, &gathered);
    return order.descents == 0;
}

// Whether ours, which has sorted what `fresh_keys` has, gives the same bytes as the yardstick.
static bool agrees(bench_setup *setup) {
    const bench_config *config = setup->config;
    const bool keys = config->operation != BENCH_INDEX, values = config->operation != BENCH_KEYS;
#if PSV_HAVE_CUDA
    if (on_cuda(setup->device)) {
        const uint64_t words = config->count * psv_key_type_bytes(config->key_type) / 4;
        uint32_t differing_keys = 0, differing_values = 0;
        psv_buffer mine = setup->values; // the yardstick's index is made in the same memory
        if (setup->differing.bytes == 0)
            CHECK(setup->device->context, psv_alloc_buffer(setup->device->context, 256, &setup->differing));
        if (config->operation == BENCH_INDEX) {
            CHECK(setup->device->context, psv_alloc_buffer(setup->device->context, mine.bytes, &mine));
            copy_buffer(setup->device, mine, setup->values);
        }
        yardstick_work(setup);
        if (keys)
            CUDA(cub_count_differing(setup->keys.address, setup->other_keys.address, words, setup->differing.address,
                                     setup->device->stream, &differing_keys));
        if (values)
            CUDA(cub_count_differing(mine.address, setup->other_values.address, config->count, setup->differing.address,
                                     setup->device->stream, &differing_values));
        if (config->operation == BENCH_INDEX) psv_free_buffer(setup->device->context, &mine);
        return differing_keys == 0 && differing_values == 0;
    }
#endif
    if (setup->device->backend != PSV_BACKEND_CPU) return true;
    char *ours = malloc(setup->keys.bytes + setup->values.bytes + 1);
    if (ours == NULL) STOP("no memory");
    memcpy(ours, setup->keys.address, setup->keys.bytes);
    if (values) memcpy(ours + setup->keys.bytes, setup->values.address, setup->values.bytes);
    restore(setup);
    yardstick_work(setup);
    bool same = !keys || memcmp(ours, setup->keys.address, setup->keys.bytes) == 0;
    if (values) same = same && memcmp(ours + setup->keys.bytes, setup->values.address, setup->values.bytes) == 0;
    free(ours);
    return same;
}

static double nominal_gbytes(const bench_config *config) {
    const double keys = psv_key_type_bytes(config->key_type), passes = keys;
    const double values = config->operation == BENCH_KEYS ? 0 : 4;
    double bytes = keys + passes * 2 * (keys + values);
    if (config->operation == BENCH_INDEX) bytes -= values + keys; // no index read at first, no key written at last
    return 1e-9 * bytes * (double)config->count;
}

static void run_repetitions(bench_setup *setup, bool yardstick, bench_result *result) {
    const bench_config *config = setup->config;
    void (*ours)(bench_setup *) = ours_work, (*theirs)(bench_setup *) = yardstick_work;
#if PSV_HAVE_CUDA
    if (config->graph) {
        setup->graph = capture(setup, ours_work);
        if (yardstick) setup->yardstick_graph = capture(setup, yardstick_work);
        ours = launch_ours;
        theirs = launch_yardstick;
    }
#endif
    double *times = malloc(2 * (size_t)config->repetitions * sizeof *times), *others = times + config->repetitions;
    if (times == NULL) STOP("no memory");
    // The CPU's yardstick is slow and steady: a few times will do.
    const int other_repetitions = on_cuda(setup->device) || config->repetitions < 3 ? config->repetitions : 3;
    int other_count = 0;
    for (int r = -3; r < config->repetitions; ++r) {
        next_input(setup, r);
        restore(setup);
        const double ms = time_once(setup->device, ours, setup);
        if (r >= 0) times[r] = ms;
        if (!yardstick || r >= other_repetitions || (r < 0 && !on_cuda(setup->device))) continue;
        restore(setup);
        const double other = time_once(setup->device, theirs, setup);
        if (r >= 0) others[other_count++] = other;
    }
    qsort(times, (size_t)config->repetitions, sizeof *times, bench_compare_times);
    qsort(others, (size_t)other_count, sizeof *others, bench_compare_times);
    result->median_ms = times[config->repetitions / 2];
    result->scatter = bench_scatter(times, config->repetitions);
    result->min_ms = times[0];
    result->yardstick_ms = other_count > 0 ? others[other_count / 2] : 0;
    free(times);
}

static void tear_down(bench_setup *setup) {
    const bench_config *config = setup->config;
    psv_context *context = setup->device->context;
#if PSV_HAVE_CUDA
    if (setup->graph != NULL) (void)cudaGraphExecDestroy(setup->graph);
    if (setup->yardstick_graph != NULL) (void)cudaGraphExecDestroy(setup->yardstick_graph);
#endif
    psv_buffer *buffers[] = {&setup->fresh_keys, &setup->fresh_values, &setup->keys,      &setup->values,
                             &setup->other_keys, &setup->other_values, &setup->temporary, &setup->differing};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; ++b)
        psv_free_buffer(context, buffers[b]);
    for (int input = 0; input < config->inputs; ++input)
        psv_free_buffer(context, &setup->inputs[input]);
    psv_free_buffer(context, &setup->before);
    psv_destroy_sorter(setup->sorter);
    psv_destroy_sorter(setup->reference);
}

// False, with the reason, where the method does not serve this.
static bool make_sorter(bench_setup *setup, char *why, size_t why_bytes) {
    const bench_config *config = setup->config;
    psv_sorter_def def = psv_default_sorter_def();
    def.method = config->method;
    def.key_type = config->key_type;
    def.value_bytes = config->operation == BENCH_KEYS ? 0 : 4;
    def.max_count = config->count;
    if (psv_create_sorter(setup->device->context, &def, &setup->sorter) == PSV_OK) return true;
    (void)snprintf(why, why_bytes, "%.200s", psv_last_error(setup->device->context));
    return false;
}

// «route», or «route/veto».
static void read_route(bench_setup *setup, char *route, size_t bytes) {
    psv_sort_statistics statistics;
    if (psv_read_sort_statistics(setup->sorter, &statistics) != PSV_OK) return;
    const bool vetoed = strcmp(statistics.veto, "none") != 0;
    (void)snprintf(route, bytes, "%s%s%s", statistics.route, vetoed ? "/" : "", vetoed ? statistics.veto : "");
}

bench_result bench_sort_once(bench_device *device, const bench_config *config) {
    bench_result result = {.gbytes = nominal_gbytes(config)};
    bench_setup setup = {.device = device, .config = config};
    if (!make_sorter(&setup, result.why, sizeof result.why)) return result;
    result.served = true;
    (void)snprintf(result.chosen, sizeof result.chosen, "%.31s", psv_sorter_method(setup.sorter, config->count));
    prepare_input(&setup);
    result.right = check_result(&setup);
    const bool yardstick = config->yardstick && prepare_yardstick(&setup);
    if (result.right) run_repetitions(&setup, yardstick, &result);
    if (result.right) result.right = check_result(&setup); // by now the sorter knows such keys
    if (result.right) read_route(&setup, result.route, sizeof result.route);
    if (result.right && yardstick) result.right = agrees(&setup);
    tear_down(&setup);
    return result;
}

void bench_take_for(bench_device *device, const device_profile *profile) {
    take_kernels_for(&device->context->info, profile);
}

// ---- keys of another kind at each call ----

#define MIXED_TURNS 4   // calls with each kind
#define MIXED_REPLAYS 3 // of the whole sequence, by a new sorter each; a call's time is the median
#define MIXED_CALLS (BENCH_KINDS * MIXED_TURNS)

static double median_of(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, bench_compare_times);
    return times[count / 2];
}

static void use_input(bench_setup *setup, int input) {
    copy_buffer(setup->device, setup->fresh_keys, setup->inputs[input]);
}

static double time_ours(bench_setup *setup) {
    restore(setup);
    return time_once(setup->device, ours_work, setup);
}

// The yardstick's time with each input.
static void time_yardstick(bench_setup *setup, double *times) {
    const int rounds = on_cuda(setup->device) ? 7 : 1;
    for (int input = 0; input < setup->config->inputs; ++input) {
        double mine[7] = {0};
        use_input(setup, input);
        if (on_cuda(setup->device)) yardstick_work(setup);
        for (int round = 0; round < rounds; ++round) {
            restore(setup);
            mine[round] = time_once(setup->device, yardstick_work, setup);
        }
        times[input] = median_of(mine, rounds);
    }
}

static void make_order(const bench_config *config, uint8_t *order, int calls) {
    uint64_t random = config->seed * 77 + 5;
    for (int c = 0; c < calls; ++c)
        order[c] = (uint8_t)(next_random(&random) % (uint64_t)config->inputs);
}

static void new_sorter(bench_setup *setup) {
    char why[256];
    psv_destroy_sorter(setup->sorter);
    setup->sorter = NULL;
    if (!make_sorter(setup, why, sizeof why)) STOP("%s", why);
}

// First calls of new sorters, three with each input.
static void time_first_calls(bench_setup *setup, const double *yardstick, bench_mixed *result) {
    for (int input = 0; input < setup->config->inputs; ++input) {
        double mine[3];
        use_input(setup, input);
        for (int round = 0; round < 3; ++round) {
            new_sorter(setup);
            mine[round] = time_ours(setup);
        }
        result->first_of[input] = yardstick[input] / median_of(mine, 3);
    }
}

bench_mixed bench_sort_mixed(bench_device *device, const bench_config *config) {
    bench_mixed result = {.right = true};
    bench_setup setup = {.device = device, .config = config};
    char why[256], routes[MIXED_CALLS][32] = {{0}};
    if (!make_sorter(&setup, why, sizeof why)) return result;
    result.served = true;
    prepare_input(&setup);
    if (!prepare_yardstick(&setup)) STOP("no yardstick for these keys");
    const int calls = config->inputs * MIXED_TURNS;
    double yardstick[BENCH_KINDS], times[MIXED_CALLS][MIXED_REPLAYS];
    uint8_t order[MIXED_CALLS];
    make_order(config, order, calls);
    time_yardstick(&setup, yardstick);
    for (int replay = 0; replay < MIXED_REPLAYS; ++replay) {
        new_sorter(&setup);
        for (int c = 0; c < calls; ++c) {
            use_input(&setup, order[c]);
            times[c][replay] = time_ours(&setup);
            if (replay != 0) continue;
            read_route(&setup, routes[c], sizeof routes[c]);
            result.right = result.right && agrees(&setup);
        }
    }
    double ours = 0, theirs = 0;
    for (int c = 0; c < calls; ++c) {
        const double mine = median_of(times[c], MIXED_REPLAYS), ratio = yardstick[order[c]] / mine;
        ours += mine;
        theirs += yardstick[order[c]];
        double *worst = &result.worst_of[order[c]];
        if (*worst == 0 || ratio < *worst) *worst = ratio;
        if (c != 0 && ratio >= result.worst) continue;
        result.worst = ratio;
        result.worst_kind = config->kinds[order[c]];
        (void)snprintf(result.worst_route, sizeof result.worst_route, "%s", routes[c]);
    }
    result.sum = theirs / ours;
    time_first_calls(&setup, yardstick, &result);
    tear_down(&setup);
    return result;
}
