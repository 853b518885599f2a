// Figures of Ha, Krueger, Silva 2009.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tests/cases/box_scenes.h"
#include "cpu_sorts.h"
#include "figures.h"
#include "pairsieve/sim.h"
#include "texture_records.h"

// --- Figure 1: scenes -----------------------------------------------------------------------------------------------

#define SCENE_FRAMES 24
#define WARM_FRAMES 4

static psv_status step_scene(psv_context *context, psv_scene *scene, psv_profile *profile) {
    psv_status status = psv_scene_step(scene);
    return status == PSV_OK ? psv_wait_profile(context, profile) : status;
}

static int time_scene(figure_run *run, const figure_device *device, const char *name, uint64_t bodies) {
    psv_scene_options options = psv_default_scene_options();
    options.bodies = bodies;
    psv_scene *scene = NULL;
    psv_profile profile;
    double frames[SCENE_FRAMES], sorts[SCENE_FRAMES];
    psv_status status = psv_load_scene(device->context, name, &options, &scene);
    for (int f = -WARM_FRAMES; f < SCENE_FRAMES && status == PSV_OK; ++f) {
        status = step_scene(device->context, scene, &profile);
        if (f < 0) continue;
        frames[f] = profile.frame_ms;
        sorts[f] = profile.phase_ms[PSV_PHASE_SORT];
    }
    psv_destroy_scene(scene);
    if (status != PSV_OK) return tool_fail_status(device->context, status);
    char label[48];
    (void)snprintf(label, sizeof label, "%s, frame", name);
    bool fits = figure_add(run, device->name, label, (double)bodies, frames, SCENE_FRAMES);
    const double frame = figure_value(run, device->name, label, (double)bodies);
    (void)snprintf(label, sizeof label, "%s, sort", name);
    fits = fits && figure_add(run, device->name, label, (double)bodies, sorts, SCENE_FRAMES);
    const double sort = figure_value(run, device->name, label, (double)bodies);
    figure_say(run, "%s on %s: %.3g ms a frame with %llu bodies, %.1f%% of it the sort. ", name, device->name, frame,
               (unsigned long long)bodies, 100 * sort / frame);
    return fits ? TOOL_DONE : figure_no_memory();
}

int figure_scenes(figure_run *run) {
    static const char *const names[] = {"chairs", "landscape", "galaxy"};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count; ++d)
        for (int n = 0; n < 3 && code == TOOL_DONE && !figure_has_shaders(&run->devices[d]); ++n)
            code = time_scene(run, &run->devices[d], names[n], run->job.quick ? 1000 : 5000);
    return code;
}

// --- Figure 3: records ----------------------------------------------------------------------------------------------

#define RECORD_ROUNDS 7

typedef struct record_place {
    psv_context *context;
    psv_buffer source, target, order[2]; // in order, permuted
    uint64_t count;
} record_place;

static void free_records(record_place *place) {
    psv_free_buffer(place->context, &place->source);
    psv_free_buffer(place->context, &place->target);
    psv_free_buffer(place->context, &place->order[0]);
    psv_free_buffer(place->context, &place->order[1]);
}

static psv_buffer part_of(psv_buffer buffer, uint64_t offset, uint64_t bytes) {
    buffer.offset += offset;
    buffer.bytes = bytes;
    return buffer;
}

static psv_status make_records(record_place *place) {
    uint32_t *index = malloc(4 * place->count);
    if (index == NULL) return PSV_ERROR_MEMORY;
    psv_status status = psv_alloc_buffer(place->context, 16 * place->count, &place->source);
    if (status == PSV_OK) status = psv_alloc_buffer(place->context, 16 * place->count, &place->target);
    for (int o = 0; o < 2 && status == PSV_OK; ++o) {
        for (uint64_t i = 0; i < place->count; ++i)
            index[i] = (uint32_t)i;
        uint64_t state = 5;
        for (uint64_t i = place->count - 1; o == 1 && i > 0; --i) { // a shuffle
            state = state * 6364136223846793005u + 1442695040888963407u;
            const uint64_t j = (state >> 33) % (i + 1);
            const uint32_t held = index[i];
            index[i] = index[j];
            index[j] = held;
        }
        status = psv_alloc_buffer(place->context, 4 * place->count, &place->order[o]);
        if (status == PSV_OK) status = psv_upload(place->context, place->order[o], index, 4 * place->count);
        for (int w = 0; w < 4 && status == PSV_OK; ++w) // written memory: any values
            status =
                psv_upload(place->context, part_of(place->source, 4 * place->count * (uint64_t)w, 4 * place->count),
                           index, 4 * place->count);
    }
    free(index);
    return status;
}

// GB/s read and written, the index included.
static psv_status time_records(record_place *place, uint32_t bytes, int order, double *rate) {
    psv_profile profile;
    psv_status status =
        psv_gather_records(place->context, place->source, place->target, bytes, place->order[order], place->count);
    if (status == PSV_OK) status = psv_wait_profile(place->context, &profile);
    if (status == PSV_OK) *rate = 1e-6 * (double)place->count * (2 * bytes + 4) / profile.frame_ms;
    return status;
}

#if PSV_HAVE_CUDA
// The texture's rates, and whether it moved the records as psv_gather_records did.
static int rate_textures(figure_run *run, const figure_device *device, record_place *place, uint32_t bytes, int order,
                         const char *series) {
    const uint64_t size = bytes * place->count;
    char *moved = malloc(2 * size);
    double rates[RECORD_ROUNDS], ms = 0;
    if (moved == NULL) return figure_no_memory();
    psv_status status =
        psv_gather_records(place->context, place->source, place->target, bytes, place->order[order], place->count);
    if (status == PSV_OK) status = psv_download(place->context, moved, place->target, size);
    bool good = true;
    for (int r = -1; r < RECORD_ROUNDS && status == PSV_OK && good; ++r) {
        good =
            texture_records_move(place->context, psv_buffer_address(place->source), psv_buffer_address(place->target),
                                 bytes, psv_buffer_address(place->order[order]), place->count, &ms);
        rates[r < 0 ? 0 : r] = 1e-6 * (double)place->count * (2 * bytes + 4) / ms;
    }
    if (status == PSV_OK) status = psv_download(place->context, moved + size, place->target, size);
    const bool same = memcmp(moved, moved + size, size) == 0;
    free(moved);
    if (status != PSV_OK) return tool_fail_status(place->context, status);
    if (!good || !same) return tool_fail(TOOL_FAILED, "records were not moved through a texture as without it");
    return figure_add(run, device->name, series, (double)place->count, rates, RECORD_ROUNDS) ? TOOL_DONE
                                                                                             : figure_no_memory();
}

static int rate_all_textures(figure_run *run, const figure_device *device, record_place *place) {
    static const char *const names[] = {"in order", "permuted"};
    int code = TOOL_DONE;
    for (uint32_t bytes = 4; bytes <= 16; bytes *= 2)
        for (int order = 0; order < 2 && code == TOOL_DONE; ++order) {
            char series[48];
            (void)snprintf(series, sizeof series, "%u bits, %s, texture", 8 * bytes, names[order]);
            code = rate_textures(run, device, place, bytes, order, series);
        }
    return code;
}
#endif

static int rate_records(figure_run *run, const figure_device *device, uint64_t count) {
    static const char *const names[] = {"in order", "permuted"};
    record_place place = {.context = device->context, .count = count};
    psv_status status = make_records(&place);
    bool fits = true;
    for (uint32_t bytes = 4; bytes <= 16; bytes *= 2)
        for (int order = 0; order < 2 && status == PSV_OK; ++order) {
            double rates[RECORD_ROUNDS];
            char label[48];
            for (int r = -1; r < RECORD_ROUNDS && status == PSV_OK; ++r)
                status = time_records(&place, bytes, order, &rates[r < 0 ? 0 : r]);
            (void)snprintf(label, sizeof label, "%u bits, %s", 8 * bytes, names[order]);
            fits =
                fits && (status != PSV_OK || figure_add(run, device->name, label, (double)count, rates, RECORD_ROUNDS));
        }
    int code = status != PSV_OK ? tool_fail_status(device->context, status) : fits ? TOOL_DONE : figure_no_memory();
#if PSV_HAVE_CUDA
    if (code == TOOL_DONE && figure_is(device, PSV_BACKEND_CUDA)) code = rate_all_textures(run, device, &place);
#endif
    free_records(&place);
    return code;
}

int figure_records(figure_run *run) {
    static const uint64_t quick[] = {1 << 18, 1 << 20, 0}, full[] = {1 << 18, 1 << 20, 1 << 22, 0};
    const uint64_t *counts = run->job.quick ? quick : full;
    uint64_t last = 0;
    int code = TOOL_DONE;
    for (; *counts != 0; last = *counts, ++counts)
        for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d)
            code = rate_records(run, &run->devices[d], *counts);
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        const char *name = run->devices[d].name;
        figure_say(run,
                   "%s: %lluK records in order move %.2g, %.2g and %.2g times as fast as permuted ones (32, 64, 128 "
                   "bits). ",
                   name, (unsigned long long)(last >> 10),
                   figure_value(run, name, "32 bits, in order", (double)last) /
                       figure_value(run, name, "32 bits, permuted", (double)last),
                   figure_value(run, name, "64 bits, in order", (double)last) /
                       figure_value(run, name, "64 bits, permuted", (double)last),
                   figure_value(run, name, "128 bits, in order", (double)last) /
                       figure_value(run, name, "128 bits, permuted", (double)last));
        const double texture = figure_value(run, name, "128 bits, permuted, texture", (double)last);
        if (texture > 0)
            figure_say(run, "Through a texture permuted records of 128 bits move at %.2f of the rate without it. ",
                       texture / figure_value(run, name, "128 bits, permuted", (double)last));
    }
    return code;
}

// --- Figure 4: strategies -------------------------------------------------------------------------------------------

// Radix sort of floats in three passes of eleven bits on one core, as Herf (2001) describes it.
static void sort_by_eleven_bits(float *keys, uint64_t count) {
    static uint32_t starts[3][2048]; // one thread calls it
    uint32_t *from = malloc(4 * count), *to = malloc(4 * count);
    if (from == NULL || to == NULL) { // the check of the result reports it
        free(from);
        free(to);
        return;
    }
    memset(starts, 0, sizeof starts);
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &keys[i], 4);
        from[i] = bits ^ ((uint32_t) - (int32_t)(bits >> 31) | 0x80000000u);
        for (int p = 0; p < 3; ++p)
            ++starts[p][from[i] >> 11 * p & 2047];
    }
    for (int p = 0; p < 3; ++p) {
        uint32_t sum = 0;
        for (int b = 0; b < 2048; ++b) {
            const uint32_t here = starts[p][b];
            starts[p][b] = sum;
            sum += here;
        }
        for (uint64_t i = 0; i < count; ++i)
            to[starts[p][from[i] >> 11 * p & 2047]++] = from[i];
        uint32_t *held = from;
        from = to;
        to = held;
    }
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t bits = from[i] & 0x80000000u ? from[i] & 0x7fffffffu : ~from[i];
        memcpy(&keys[i], &bits, 4);
    }
    free(from);
    free(to);
}

#define RADIX4(bits, scattered)                                                                                        \
    { bits, scattered, PSV_ORDER_CHECK_OFF, false }

static const figure_sorter cpu_strategies[] = {
    {.label = "std::sort", .host = cpu_sort_std},
    {.label = "parallel std::sort", .host = cpu_sort_parallel},
    {.label = "radix, 11 bits, one core", .host = sort_by_eleven_bits},
    {.label = "radix, keys", .method = "radix"},
    {.label = "radix, index", .method = "radix", .index = true},
    {.label = "merge, keys", .method = "merge"},
};
static const figure_sorter shader_strategies[] = {
    {.label = "2-way, keys", .method = "radix4", .radix4 = RADIX4(1, false)},
    {.label = "4-way, keys", .method = "radix4", .radix4 = RADIX4(2, false)},
    {.label = "8-way, keys", .method = "radix4", .radix4 = RADIX4(3, false)},
    {.label = "4-way, index", .method = "radix4", .radix4 = RADIX4(2, false), .index = true},
    {.label = "radix, keys", .method = "radix"},
    {.label = "radix, index", .method = "radix", .index = true},
    {.label = "split (4 bits), keys", .method = "split", .as_u32 = true},
    {.label = "bitonic, keys", .method = "bitonic"},
};
static const figure_sorter cuda_strategies[] = {
    {.label = "2-way, keys", .method = "radix4", .radix4 = RADIX4(1, false)},
    {.label = "4-way, keys", .method = "radix4", .radix4 = RADIX4(2, false)},
    {.label = "8-way, keys", .method = "radix4", .radix4 = RADIX4(3, false)},
    {.label = "4-way, index", .method = "radix4", .radix4 = RADIX4(2, false), .index = true},
    {.label = "8-way, index", .method = "radix4", .radix4 = RADIX4(3, false), .index = true},
    {.label = "split (4 bits), keys", .method = "split", .as_u32 = true},
    {.label = "cub, keys", .method = "cub", .as_u32 = true},
    {.label = "radix, keys", .method = "radix"},
};
#define COUNT_OF(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

static int radix_strategies(figure_run *run, figure_keys keys) {
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        const figure_device *device = &run->devices[d];
        const figure_sorter *list = figure_is(device, PSV_BACKEND_CPU) ? cpu_strategies
                                    : figure_has_shaders(device)       ? shader_strategies
                                                                       : cuda_strategies;
        const uint32_t count = figure_is(device, PSV_BACKEND_CPU) ? COUNT_OF(cpu_strategies)
                               : figure_has_shaders(device)       ? COUNT_OF(shader_strategies)
                                                                  : COUNT_OF(cuda_strategies);
        code = figure_contest(run, device, list, count, figure_counts(run), keys);
    }
    figure_say_ratio(run, "cpu", "std::sort", "radix, keys");
    figure_say_ratio(run, "cpu", "parallel std::sort", "radix, keys");
    figure_say_ratio(run, "cpu", "radix, 11 bits, one core", "radix, keys");
    figure_say_ratio(run, "cpu", "radix, index", "radix, keys");
    figure_say_ratios(run, "split (4 bits), keys", "4-way, keys");
    figure_say_ratios(run, "4-way, index", "4-way, keys");
    return code;
}

int figure_radix_uniform(figure_run *run) { return radix_strategies(run, KEYS_UNIFORM); }
int figure_radix_gaussian(figure_run *run) { return radix_strategies(run, KEYS_GAUSSIAN); }

// --- Figure 5: bandwidth --------------------------------------------------------------------------------------------

static int add_bandwidth(figure_run *run, const figure_device *device, const char *series) {
    const uint64_t count = run->job.quick ? 1 << 20 : 1 << 22;
    const figure_sorter sorter = {.label = "radix", .method = "radix", .index = true};
    const bool skip = false;
    figure_times times;
    record_place place = {.context = device->context, .count = count};
    double rates[RECORD_ROUNDS];
    psv_status status = make_records(&place);
    for (int r = -1; r < RECORD_ROUNDS && status == PSV_OK; ++r)
        status = time_records(&place, 16, 0, &rates[r < 0 ? 0 : r]);
    free_records(&place);
    int code = tool_fail_status(device->context, status);
    if (code == TOOL_DONE) code = figure_time_sorts(run, device, &sorter, 1, count, KEYS_UNIFORM, &skip, &times);
    if (code != TOOL_DONE) return code;
    for (uint64_t r = 0; r < times.rounds; ++r)
        times.ms[r] = 1e-3 * (double)count / times.ms[r];
    const double rate = tool_median(rates, RECORD_ROUNDS), sorts = tool_median(times.ms, times.rounds);
    figure_say(run, "%s, %s: copies %.3g GB/s, sorts %.3g million pairs/s. ", device->name, series, rate, sorts);
    return figure_add(run, device->name, series, rate, times.ms, times.rounds) ? TOOL_DONE : figure_no_memory();
}

int figure_bandwidth(figure_run *run) {
    const figure_device *cpu = figure_device_of(run, PSV_BACKEND_CPU);
    const int most = cpu != NULL ? psv_context_worker_count(cpu->context) : 0;
    int code = TOOL_DONE;
    for (int workers = 1; workers <= most && code == TOOL_DONE;
         workers = workers < most && 2 * workers > most ? most : 2 * workers) {
        psv_context_def def = psv_default_context_def();
        def.worker_count = workers;
        def.backend = PSV_BACKEND_CPU;
        figure_device device = {.name = "cpu"};
        char series[48];
        (void)snprintf(series, sizeof series, "%d worker%s", workers, workers > 1 ? "s" : "");
        psv_status status = psv_create_context(&def, &device.context);
        if (status == PSV_OK) status = psv_enable_profile(device.context, true);
        code = status == PSV_OK ? add_bandwidth(run, &device, series) : tool_fail_status(device.context, status);
        psv_destroy_context(device.context);
    }
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d)
        if (&run->devices[d] != cpu) code = add_bandwidth(run, &run->devices[d], "radix");
    return code;
}

// --- Figure 6: broad phase ------------------------------------------------------------------------------------------

#define PAIR_ROUNDS 7

static int time_pairs(figure_run *run, const figure_device *device, const char *method, const psv_aabb *boxes,
                      uint64_t count) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = method;
    def.sort_method = figure_has_method(device, "radix4") ? "radix4" : "radix";
    def.max_boxes = count;
    def.grow_pairs = true;
    psv_pair_finder *finder = NULL;
    psv_buffer buffer = {0};
    psv_profile profile;
    double whole[PAIR_ROUNDS], sorts[PAIR_ROUNDS];
    psv_status status = psv_create_pair_finder(device->context, &def, &finder);
    if (status == PSV_OK) status = psv_alloc_buffer(device->context, sizeof *boxes * count, &buffer);
    if (status == PSV_OK) status = psv_upload(device->context, buffer, boxes, sizeof *boxes * count);
    const psv_box_set set = psv_boxes_of(buffer, sizeof *boxes, count);
    for (int r = -2; r < PAIR_ROUNDS && status == PSV_OK; ++r) {
        status = psv_find_pairs(finder, &set);
        if (status == PSV_OK) status = psv_wait_profile(device->context, &profile);
        whole[r < 0 ? 0 : r] = profile.frame_ms;
        sorts[r < 0 ? 0 : r] = profile.phase_ms[PSV_PHASE_SORT];
    }
    psv_destroy_pair_finder(finder);
    psv_free_buffer(device->context, &buffer);
    if (status != PSV_OK) return tool_fail_status(device->context, status);
    char label[48];
    (void)snprintf(label, sizeof label, "%s, sort", method);
    return figure_add(run, device->name, method, (double)count, whole, PAIR_ROUNDS) &&
                   figure_add(run, device->name, label, (double)count, sorts, PAIR_ROUNDS)
               ? TOOL_DONE
               : figure_no_memory();
}

static bool has_broad_phase(const figure_device *device, const char *method) {
    const char *name;
    for (uint32_t m = 0; (name = psv_broad_phase_name(psv_context_backend(device->context), m)) != NULL; ++m)
        if (strcmp(name, method) == 0) return true;
    return false;
}

int figure_broad_phase(figure_run *run) {
    static const uint64_t quick[] = {1000, 10000, 30000, 0}, full[] = {1000, 10000, 30000, 100000, 300000, 0};
    static const char *const methods[] = {"sap3", "rows"};
    const uint64_t *counts = run->job.quick ? quick : full;
    int code = TOOL_DONE;
    uint64_t last = 0;
    bool slow[FIGURE_DEVICES][2] = {{false}};
    for (; *counts != 0 && code == TOOL_DONE; last = *counts, ++counts) {
        psv_aabb *boxes = malloc(sizeof(psv_aabb) * counts[0]);
        if (boxes == NULL) return figure_no_memory();
        box_scene_named("pile")->make(boxes, *counts, 6);
        for (uint32_t d = 0; d < run->device_count; ++d)
            for (int m = 0; m < 2 && code == TOOL_DONE; ++m)
                if (!slow[d][m] && has_broad_phase(&run->devices[d], methods[m])) {
                    code = time_pairs(run, &run->devices[d], methods[m], boxes, *counts);
                    const double growth = (double)counts[1] / (double)counts[0]; // sweeps may grow with its square
                    slow[d][m] =
                        figure_value(run, run->devices[d].name, methods[m], (double)*counts) * growth * growth >
                        figure_longest_ms(run);
                }
        free(boxes);
    }
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        const char *name = run->devices[d].name;
        const double whole = figure_value(run, name, "sap3", (double)last);
        if (whole > 0)
            figure_say(run,
                       "%s: the sort takes %.0f%% of sweep and prune at %llu boxes, which rows does in %.2g of its "
                       "time. ",
                       name, 100 * figure_value(run, name, "sap3, sort", (double)last) / whole,
                       (unsigned long long)last, figure_value(run, name, "rows", (double)last) / whole);
    }
    return code;
}

// --- sections 4.2, 4.6, 4.7 -----------------------------------------------------------------------------------------

// Uniform keys, then sorted ones: `names` holds the labels of both.
static int contest_twice(figure_run *run, const figure_device *device, const figure_sorter *sorters, uint32_t count) {
    figure_sorter named[FIGURE_SORTERS];
    char labels[FIGURE_SORTERS][48];
    int code = TOOL_DONE;
    for (int sorted = 0; sorted < 2 && code == TOOL_DONE; ++sorted) {
        for (uint32_t s = 0; s < count; ++s) {
            (void)snprintf(labels[s], sizeof labels[s], "%.30s, %s", sorters[s].label, sorted ? "sorted" : "uniform");
            named[s] = sorters[s];
            named[s].label = labels[s];
        }
        code = figure_contest(run, device, named, count, figure_counts(run), sorted ? KEYS_SORTED : KEYS_UNIFORM);
    }
    return code;
}

int figure_order_check(figure_run *run) {
    static const figure_sorter ours[] = {{.label = "radix", .method = "radix"},
                                         {.label = "radix, no check", .method = "radix", .no_check = true}};
    static const figure_sorter theirs[] = {
        {.label = "4-way, no check", .method = "radix4", .radix4 = {2, false, PSV_ORDER_CHECK_OFF, false}},
        {.label = "4-way, full check", .method = "radix4", .radix4 = {2, false, PSV_ORDER_CHECK_FULL, false}},
        {.label = "4-way, quick check", .method = "radix4", .radix4 = {2, false, PSV_ORDER_CHECK_QUICK_FULL, false}}};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        const bool cuda = figure_has_method(&run->devices[d], "radix4");
        code = contest_twice(run, &run->devices[d], cuda ? theirs : ours, cuda ? 3 : 2);
    }
    static const char *const devices[] = {"cpu", "gl", "vulkan"};
    for (int d = 0; d < 3; ++d) {
        figure_say_ratio(run, devices[d], "radix, uniform", "radix, no check, uniform");
        figure_say_ratio(run, devices[d], "radix, no check, sorted", "radix, sorted");
    }
    figure_say_ratio(run, "cuda", "4-way, quick check, uniform", "4-way, no check, uniform");
    figure_say_ratio(run, "cuda", "4-way, no check, sorted", "4-way, quick check, sorted");
    return code;
}

// On every device that has the four-way radix sort.
static int contest_radix4(figure_run *run, const figure_sorter *sorters, uint32_t count) {
    int code = TOOL_DONE;
    bool any = false;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        if (!figure_has_method(&run->devices[d], "radix4")) continue;
        any = true;
        code = figure_contest(run, &run->devices[d], sorters, count, figure_counts(run), KEYS_UNIFORM);
    }
    if (!any) figure_say(run, "The four-way radix sort runs on GPUs and in compute shaders alone.");
    return code;
}

int figure_shuffle(figure_run *run) {
    static const figure_sorter sorters[] = {
        {.label = "4-way", .method = "radix4", .radix4 = RADIX4(2, false)},
        {.label = "4-way, scattered", .method = "radix4", .radix4 = RADIX4(2, true)},
        {.label = "4-way, index", .method = "radix4", .radix4 = RADIX4(2, false), .index = true},
        {.label = "4-way, scattered, index", .method = "radix4", .radix4 = RADIX4(2, true), .index = true}};
    const int code = contest_radix4(run, sorters, COUNT_OF(sorters));
    for (uint32_t d = 0; d < run->device_count; ++d) {
        figure_say_ratio(run, run->devices[d].name, "4-way, scattered", "4-way");
        figure_say_ratio(run, run->devices[d].name, "4-way, scattered, index", "4-way, index");
    }
    return code;
}

int figure_merged(figure_run *run) {
    static const figure_sorter sorters[] = {
        {.label = "merged", .method = "radix4", .radix4 = RADIX4(2, true)},
        {.label = "separate", .method = "radix4", .radix4 = {2, true, PSV_ORDER_CHECK_OFF, true}},
        {.label = "merged, index", .method = "radix4", .radix4 = RADIX4(2, true), .index = true},
        {.label = "separate, index",
         .method = "radix4",
         .radix4 = {2, true, PSV_ORDER_CHECK_OFF, true},
         .index = true}};
    const int code = contest_radix4(run, sorters, COUNT_OF(sorters));
    for (uint32_t d = 0; d < run->device_count; ++d) {
        figure_say_ratio(run, run->devices[d].name, "separate", "merged");
        figure_say_ratio(run, run->devices[d].name, "separate, index", "merged, index");
    }
    return code;
}

int figure_one_word(figure_run *run) {
    static const figure_sorter sorters[] = {
        {.label = "key and index", .method = "radix", .index = true, .as_u32 = true},
        {.label = "one word of 32 bits", .method = "radix", .word = 32},
        {.label = "one word of 64 bits", .method = "radix", .word = 64}};
    int code = TOOL_DONE;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d)
        code = figure_contest(run, &run->devices[d], sorters, COUNT_OF(sorters), figure_counts(run), KEYS_UNIFORM);
    const uint64_t count = 1 << 20;
    for (uint32_t d = 0; d < run->device_count && code == TOOL_DONE; ++d) {
        figure_say_ratio(run, run->devices[d].name, "key and index", "one word of 32 bits");
        figure_say_ratio(run, run->devices[d].name, "one word of 64 bits", "key and index");
    }
    if (code == TOOL_DONE)
        figure_say(run,
                   "At %lluK keys one word of 32 bits leaves 12 bits of the key, and %.0f%% of the neighbours come out "
                   "in the wrong order.",
                   (unsigned long long)(count >> 10), 100 * figure_misplaced_by_word(run, count));
    return code;
}
