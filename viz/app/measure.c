#include "measure.h"

#include "../../core/portable/replaced_file.h"
#include "../render/model.h"

#include <SDL.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BRUTE_BODIES 20000 // above this the independent count is a sweep's

void view_add_sample(view_history *history, const view_sample *sample) {
    history->samples[history->count % VIEW_HISTORY] = *sample;
    history->count += 1;
}

const view_sample *view_last_sample(const view_history *history) {
    return history->count == 0 ? NULL : &history->samples[(history->count - 1) % VIEW_HISTORY];
}

uint64_t view_recent_count(const view_history *history, double seconds) {
    const uint64_t kept = history->count < VIEW_HISTORY ? history->count : VIEW_HISTORY;
    double ms = 0.0;
    uint64_t count = 0;
    while (count < kept && (count == 0 || ms < seconds * 1000.0)) {
        count += 1;
        ms += history->samples[(history->count - count) % VIEW_HISTORY].frame_ms;
    }
    return count;
}

static double value_of(const view_sample *sample, int what) {
    if (what < PSV_PHASE_COUNT) return sample->profile.phase_ms[what];
    if (what == VIEW_OF_STEP) return sample->profile.frame_ms;
    if (what == VIEW_OF_FRAME) return sample->frame_ms;
    double sum = 0.0;
    for (int i = 0; i < PSV_PHASE_COUNT; ++i)
        sum += sample->profile.phase_ms[i];
    return sum;
}

static int compare_values(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double view_quantile(const view_history *history, uint64_t count, int what, double quantile) {
    static double values[VIEW_HISTORY];
    const uint64_t kept = history->count < VIEW_HISTORY ? history->count : VIEW_HISTORY;
    if (count > kept) count = kept;
    if (count == 0) return 0.0;
    for (uint64_t i = 0; i < count; ++i)
        values[i] = value_of(&history->samples[(history->count - 1 - i) % VIEW_HISTORY], what);
    qsort(values, count, sizeof values[0], compare_values);
    const double rank = ceil(quantile * (double)count);
    return values[rank < 1.0 ? 0 : (uint64_t)rank - 1];
}

void view_write_csv_head(FILE *file) {
    fputs("frame,bodies,pairs,contacts,frame_ms,draw_ms,order_ms,rays_ms,sort_passes,sort_passes_skipped,step_ms",
          file);
    for (int i = 0; i < PSV_PHASE_COUNT; ++i) {
        fprintf(file, ",%s_ms", psv_phase_name((psv_phase)i));
    }
    fputc('\n', file);
}

void view_write_csv_row(FILE *file, const view_sample *s) {
    fprintf(file, "%llu,%llu,%llu,%llu,%.4f,%.4f,%.4f,%.4f,%u,%u,%.4f", (unsigned long long)s->profile.frame,
            (unsigned long long)s->bodies, (unsigned long long)s->pairs, (unsigned long long)s->contacts, s->frame_ms,
            s->draw_ms, s->order_ms, s->rays_ms, s->sort_passes, s->sort_passes_skipped, s->profile.frame_ms);
    for (int i = 0; i < PSV_PHASE_COUNT; ++i) {
        fprintf(file, ",%.4f", s->profile.phase_ms[i]);
    }
    fputc('\n', file);
}

void view_write_trace_head(FILE *file) {
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
          "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"pairsieve-view\"}}",
          file);
}

static void write_event(FILE *file, const char *name, int track, double start_us, double ms) {
    if (ms <= 0.0) return;
    fprintf(file, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}", name, track,
            start_us, ms * 1000.0);
}

void view_write_trace_events(FILE *file, const view_sample *sample, double *clock_us) {
    double at = *clock_us, longest = sample->profile.frame_ms;
    write_event(file, "step", 1, at, sample->profile.frame_ms);
    for (int i = 0; i < PSV_PHASE_COUNT; ++i) {
        write_event(file, psv_phase_name((psv_phase)i), 2, at, sample->profile.phase_ms[i]);
        at += sample->profile.phase_ms[i] * 1000.0;
    }
    write_event(file, "order bodies", 3, at, sample->order_ms);
    write_event(file, sample->rays_ms > 0.0 ? "rays" : "draw", 3, at + sample->order_ms * 1000.0,
                sample->rays_ms > 0.0 ? sample->rays_ms : sample->draw_ms);
    if (sample->frame_ms > longest) longest = sample->frame_ms;
    *clock_us += longest * 1000.0;
}

void view_write_trace_tail(FILE *file) { fputs("\n]}\n", file); }

static uint64_t first_kept(const view_history *history) {
    return history->count > VIEW_HISTORY ? history->count - VIEW_HISTORY : 0;
}

static bool open_file(psvi_replaced_file *file, const char *path, view_message *message) {
    if (psvi_open_replaced(file, path)) return true;
    view_say(message, "file '%s' cannot be written: %s", path, strerror(errno));
    return false;
}

static bool close_file(psvi_replaced_file *file, const char *path, view_message *message) {
    if (psvi_close_replaced(file, true)) return true;
    view_say(message, "file '%s' could not be written to its end: %s", path, strerror(errno));
    return false;
}

bool view_export_csv(const view_history *history, const char *path, view_message *message) {
    psvi_replaced_file whole;
    if (!open_file(&whole, path, message)) return false;
    FILE *file = whole.stream;
    view_write_csv_head(file);
    for (uint64_t i = first_kept(history); i < history->count; ++i) {
        view_write_csv_row(file, &history->samples[i % VIEW_HISTORY]);
    }
    return close_file(&whole, path, message);
}

bool view_export_trace(const view_history *history, const char *path, view_message *message) {
    psvi_replaced_file whole;
    double clock_us = 0.0;
    if (!open_file(&whole, path, message)) return false;
    FILE *file = whole.stream;
    view_write_trace_head(file);
    for (uint64_t i = first_kept(history); i < history->count; ++i) {
        view_write_trace_events(file, &history->samples[i % VIEW_HISTORY], &clock_us);
    }
    view_write_trace_tail(file);
    return close_file(&whole, path, message);
}

// Sub-worlds that the boxes name; 0 when they name none or cannot be read.
static uint32_t world_count_of(psv_context *context, const psv_box_set *boxes) {
    if (psv_buffer_address(boxes->worlds) == NULL || boxes->count == 0) return 0;
    uint32_t *worlds = malloc(4 * boxes->count), most = 0;
    bool good = worlds != NULL && psv_download(context, worlds, boxes->worlds, 4 * boxes->count) == PSV_OK;
    for (uint64_t i = 0; good && i < boxes->count; ++i) {
        if (worlds[i] > most) most = worlds[i];
    }
    free(worlds);
    return good ? most + 1 : 0;
}

psv_status view_create_finder(psv_context *context, const psv_box_set *boxes, const char *method,
                              const char *sort_method, psv_pair_finder **finder) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = method;
    def.sort_method = sort_method;
    def.max_boxes = boxes->count > 0 ? boxes->count : 1;
    def.world_count = world_count_of(context, boxes);
    def.max_pairs = 4 * def.max_boxes;
    def.grow_pairs = true;
    return psv_create_pair_finder(context, &def, finder);
}

bool view_count_pairs(psv_context *context, psv_world *world, const char *method, const char *sort_method,
                      uint64_t *pairs, double *ms, view_message *message) {
    psv_box_set boxes = psv_world_box_set(world);
    psv_pair_finder *finder = NULL;
    *pairs = 0;
    psv_status status = view_create_finder(context, &boxes, method, sort_method, &finder);
    Uint64 start = SDL_GetPerformanceCounter();
    if (status == PSV_OK) status = psv_find_pairs(finder, &boxes);
    if (status == PSV_OK) status = psv_finish_pairs(finder, pairs);
    *ms = (double)(SDL_GetPerformanceCounter() - start) * 1000.0 / (double)SDL_GetPerformanceFrequency();
    if (status != PSV_OK) view_say(message, "pairs by '%s': %s", method, psv_last_error(context));
    psv_destroy_pair_finder(finder);
    return status == PSV_OK;
}

static bool has_method(psv_backend backend, const char *method) {
    const char *name = NULL;
    for (uint32_t i = 0; (name = psv_broad_phase_name(backend, i)) != NULL; ++i) {
        if (strcmp(name, method) == 0) return true;
    }
    return false;
}

// A method other than `method`: all pairs for few bodies, else one that works differently.
static const char *independent_method(psv_backend backend, const char *method, uint64_t bodies) {
    static const char *const few[] = {"brute", "sweep", "lbvh", "rows", "sap3"};
    static const char *const many[] = {"sweep", "lbvh", "rows", "grid", "brute"};
    for (int i = 0; i < 5; ++i) {
        const char *name = bodies <= BRUTE_BODIES ? few[i] : many[i];
        if (strcmp(name, method) != 0 && has_method(backend, name)) return name;
    }
    return method;
}

bool view_check_agrees(const view_check *check) {
    return check->done && check->pairs == check->other_pairs && check->pairs == check->step_pairs;
}

static bool boxes_touch(const psv_aabb *a, const psv_aabb *b) {
    for (int i = 0; i < 3; ++i) {
        if (a->min[i] > b->max[i] || b->min[i] > a->max[i]) return false;
    }
    return true;
}

static bool is_left_out(uint8_t a, uint8_t b) {
    return ((a | b) & PSV_BOX_DISABLED) != 0 || (a & b & PSV_BOX_STATIC) != 0;
}

bool view_count_settled(psv_world *world, uint64_t *settled) {
    psv_world_counters counters;
    psv_pair_finder *finder = psv_world_pair_finder(world);
    const psv_box_set set = psv_world_box_set(world);
    uint64_t count = 0;
    *settled = 0;
    if (psv_read_world_counters(world, &counters) != PSV_OK || counters.broad_phase == NULL) return false;
    if (psv_finish_pairs(finder, &count) != PSV_OK) return false;
    psv_pair *pairs = malloc((size_t)(count + 1) * sizeof *pairs);
    uint8_t *flags = view_read_array(world, set.flags, 0, set.count);
    psv_aabb *boxes = view_read_array(world, psv_world_boxes(world), 0, set.count * sizeof *boxes);
    const bool good =
        pairs != NULL && flags != NULL && boxes != NULL && psv_read_pairs(finder, pairs, count, NULL) == PSV_OK;
    for (uint64_t i = 0; good && i < count; ++i) {
        const uint32_t a = pairs[i].a, b = pairs[i].b;
        *settled += is_left_out(flags[a], flags[b]) && boxes_touch(&boxes[a], &boxes[b]);
    }
    free(pairs);
    free(flags);
    free(boxes);
    return good;
}

bool view_check_pairs(psv_context *context, psv_world *world, const char *method, const char *sort_method,
                      view_check *check, view_message *message) {
    const char *other = independent_method(psv_context_backend(context), method, psv_world_slot_count(world));
    memset(check, 0, sizeof *check);
    snprintf(check->method, sizeof check->method, "%s", method);
    snprintf(check->other, sizeof check->other, "%s", other);
    psv_world_counters counters;
    if (psv_read_world_counters(world, &counters) == PSV_OK) check->frame = counters.frame;
    check->done = view_count_pairs(context, world, method, sort_method, &check->pairs, &check->ms, message) &&
                  view_count_pairs(context, world, other, sort_method, &check->other_pairs, &check->other_ms, message);
    return check->done;
}
