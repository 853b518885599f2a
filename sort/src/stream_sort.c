// Sorting more pairs than fit in memory. stream_sort.h describes the way.
#include <stdlib.h>
#include <string.h>

#include "key_order.h"
#include "sort_method.h"
#include "stream_restart.h"
#include "word_keys.h"

#define STREAM_COOKIE 0x70737374u // "psst"
#define LEAST_MEMORY (1u << 20)
#define LEAST_WINDOW 1024 // pairs of a run's window; smaller reads would be all seeks
// With batches beside each other: so many runs, so that the first batch's way up and the last one's way down, which
// nothing lies beside, are a small part; but no batch of fewer pairs, which would wait for launches.
#define RUNS_BESIDE 32
#define LEAST_BATCH (UINT64_C(4) << 20)

psv_stream_def psv_default_stream_def(void) {
    return (psv_stream_def){.cookie = STREAM_COOKIE,
                            .method = "radix",
                            .key_type = PSV_KEY_U32,
                            .value_bytes = 4,
                            .memory_bytes = UINT64_C(1) << 30,
                            .check = true};
}

// --- room -----------------------------------------------------------------------------------------------------------

static psv_sorter_def sorter_def_of(const psv_stream_def *def, uint64_t count) {
    psv_sorter_def sorter = psv_default_sorter_def();
    sorter.method = def->method;
    sorter.key_type = def->key_type;
    sorter.value_bytes = def->value_bytes;
    sorter.descending = def->descending;
    sorter.nan_policy = def->nan_policy;
    sorter.max_count = count;
    return sorter;
}

// Memory for `count` pairs at once: on the device, in the windows of the host and in the piece on its way. 0: too many.
static uint64_t bytes_for(const psvi_stream *s, uint64_t count) {
    const psv_sorter_def def = sorter_def_of(&s->def, count);
    const uint64_t scratch = psv_sorter_scratch_bytes(psv_context_backend(s->context), &def);
    const uint64_t pair = s->key_bytes + s->value_bytes, copies = s->in_memory ? s->lanes.slot_count : 2;
    return scratch == 0 ? 0 : scratch + copies * pair * count + 2 * psvi_piece_pairs(s, count) * pair;
}

// The most pairs that the memory holds.
static uint64_t fitting_count(const psvi_stream *s) {
    uint64_t low = 0, high = UINT32_MAX;
    if (s->known_count > 0 && s->known_count < high) high = s->known_count + 1;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2, bytes = bytes_for(s, middle);
        if (bytes > 0 && bytes <= s->def.memory_bytes)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Sets the pairs of a batch and how many are on their way. A sort that fits at once is one batch.
static void choose_batches(psvi_stream *s) {
    s->lanes.slot_count = 1;
    s->room = fitting_count(s);
    if (!s->in_memory || s->room >= s->known_count) return;
    s->lanes.slot_count = psvi_stream_slots(s->context);
    if (s->lanes.slot_count == 1) return;
    const uint64_t part = s->known_count / RUNS_BESIDE + 1, batch = part > LEAST_BATCH ? part : LEAST_BATCH;
    s->room = fitting_count(s);
    if (s->room > batch) s->room = batch;
}

static psv_status take_room(psvi_stream *s) {
    psv_context *context = s->context;
    choose_batches(s);
    if (s->room == 0)
        return psvi_fail(context, PSV_ERROR_CAPACITY, "def.memory_bytes is %llu; not one pair fits",
                         (unsigned long long)s->def.memory_bytes);
    const psv_sorter_def def = sorter_def_of(&s->def, s->room);
    const psv_status status = psvi_open_lanes(s, &def);
    if (status != PSV_OK || s->in_memory) return status;
    const uint64_t piece = psvi_piece_pairs(s, s->room);
    s->piece[0] = malloc(piece * s->key_bytes);
    s->piece[1] = malloc(piece * s->value_bytes + 1);
    s->records = malloc(piece * (s->key_bytes + s->value_bytes));
    s->window_memory[0] = malloc(s->room * s->key_bytes);
    s->window_memory[1] = malloc(s->room * s->value_bytes + 1);
    return s->piece[0] != NULL && s->piece[1] != NULL && s->records != NULL && s->window_memory[0] != NULL &&
                   s->window_memory[1] != NULL
               ? PSV_OK
               : psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for %llu pairs", (unsigned long long)s->room);
}

static void free_room(psvi_stream *s) {
    psvi_close_lanes(s);
    free(s->piece[0]);
    free(s->piece[1]);
    free(s->records);
    free(s->window_memory[0]);
    free(s->window_memory[1]);
    free(s->runs);
    free(s->parts);
}

// --- runs -----------------------------------------------------------------------------------------------------------

static void report(psvi_stream *s, uint64_t pairs, bool merging) {
    s->done += pairs;
    if (s->def.progress == NULL) return;
    const uint64_t total = s->known_count == 0 ? 0 : s->runs_put == 0 && merging ? s->known_count : 2 * s->known_count;
    const psv_stream_progress progress = {s->done, total, merging};
    s->def.progress(s->def.user, &progress);
}

psv_status psvi_add_run(psvi_stream *s, uint64_t count) {
    if (s->runs_put == s->run_room) {
        const uint64_t room = 2 * s->run_room + 16;
        psvi_run *runs = realloc(s->runs, room * sizeof *runs);
        if (runs == NULL) return psvi_fail(s->context, PSV_ERROR_MEMORY, "no memory for a list of runs");
        s->runs = runs;
        s->run_room = room;
    }
    const uint64_t begin = s->count - count;
    s->runs[s->runs_put++] = (psvi_run){.next = begin, .end = s->count};
    return PSV_OK;
}

// Reads and sorts runs until the input ends. A single run that holds everything goes to the output at once.
static psv_status make_runs(psvi_stream *s) {
    for (bool ended = false; !ended;) {
        uint64_t count = 0;
        psv_status status = psvi_begin_batch(s);
        if (status == PSV_OK) status = psvi_load_run(s, &count, &ended);
        const bool only = ended && s->runs_put == 0;
        if (status == PSV_OK) status = psvi_sort_batch(s, count, true, only);
        s->count += count;
        if (status == PSV_OK && only) {
            status = psvi_emit(s, count);
            if (status == PSV_OK) report(s, count, true);
            return status;
        }
        if (status == PSV_OK && count > 0) status = psvi_add_run(s, count);
        if (status == PSV_OK && count > 0) status = psvi_save_run(s, s->count - count, count);
        if (status == PSV_OK) psvi_end_batch(s);
        if (status == PSV_OK && count > 0 && s->restart.list != NULL) status = psvi_note_run(s);
        if (status != PSV_OK) return status;
        report(s, count, false);
    }
    return PSV_OK;
}

// --- merge ----------------------------------------------------------------------------------------------------------

// How many keys of a window are below `bound`, or at most `bound`.
static uint64_t count_below(const psvi_stream *s, const psvi_run *run, uint64_t bound, bool with_equal) {
    uint64_t low = 0, high = run->held;
    while (low < high) {
        const uint64_t middle = (low + high) / 2, key = psvi_key_at(s, run->window[0], middle);
        if (key < bound || (with_equal && key == bound))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Keys of a run that follow behind its window are no less than the window's last. The least of these last keys bounds
// what can be written. The first run that has it may be followed by equal keys, which come before those of later runs.
static uint64_t find_bound(const psvi_stream *s, uint64_t *bound) {
    uint64_t from = s->runs_put;
    for (uint64_t r = 0; r < s->runs_put; ++r) {
        const psvi_run *run = &s->runs[r];
        if (run->next == run->end) continue; // nothing follows
        const uint64_t last = psvi_key_at(s, run->window[0], run->held - 1);
        if (from < s->runs_put && last >= *bound) continue;
        from = r;
        *bound = last;
    }
    return from;
}

// One round: the parts below the bound, in the order of the runs, to the device; sorted; written.
static psv_status merge_round(psvi_stream *s) {
    uint64_t bound = 0, total = 0;
    const uint64_t bounding = find_bound(s, &bound);
    psv_status status = psvi_begin_batch(s);
    for (uint64_t r = 0; r < s->runs_put && status == PSV_OK; ++r) {
        psvi_run *run = &s->runs[r];
        const uint64_t taken = bounding == s->runs_put ? run->held : count_below(s, run, bound, r <= bounding);
        status = psvi_upload_part(s, run, taken, total);
        total += taken;
        psvi_drop_part(s, run, taken);
    }
    if (status == PSV_OK) status = psvi_sort_batch(s, total, false, true);
    if (status == PSV_OK) status = psvi_emit(s, total);
    if (status == PSV_OK) psvi_end_batch(s);
    if (status == PSV_OK) report(s, total, true);
    ++s->rounds;
    return status;
}

static psv_status merge_runs(psvi_stream *s) {
    const uint64_t window = s->room / s->runs_put, least = s->in_memory ? 1 : LEAST_WINDOW;
    if (window < least && s->runs_put > 1)
        return psvi_fail(s->context, PSV_ERROR_CAPACITY,
                         "def.memory_bytes is %llu, too little for %llu runs of %llu pairs; twice as much merges four "
                         "times as many pairs",
                         (unsigned long long)s->def.memory_bytes, (unsigned long long)s->runs_put,
                         (unsigned long long)s->room);
    for (uint64_t r = 0; r < s->runs_put && !s->in_memory; ++r) {
        s->runs[r].window[0] = s->window_memory[0] + r * window * s->key_bytes;
        s->runs[r].window[1] = s->window_memory[1] + r * window * s->value_bytes;
    }
    psv_status status = PSV_OK;
    for (uint64_t left = s->count; left > 0 && status == PSV_OK; left = s->count - s->emitted) {
        for (uint64_t r = 0; r < s->runs_put && status == PSV_OK; ++r)
            status = psvi_fill_window(s, &s->runs[r], window);
        if (status == PSV_OK) status = merge_round(s);
    }
    return status;
}

// --- the calls ------------------------------------------------------------------------------------------------------

static psv_status begin(psvi_stream *s, psv_context *context, const psv_stream_def *def) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (def == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (def->cookie != STREAM_COOKIE)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def was not made by psv_default_stream_def");
    if (def->memory_bytes < LEAST_MEMORY)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.memory_bytes is %llu; it must be %u or more",
                         (unsigned long long)def->memory_bytes, LEAST_MEMORY);
    status = psvi_refuse_words(context, def->key_type, "a sort of files or host memory");
    if (status != PSV_OK) return status;
    const psv_sorter_def sorter = sorter_def_of(def, 1);
    psv_sorter_def checked;
    const psvi_sort_method *method;
    const psv_status known = strcmp(sorter.method != NULL ? sorter.method : "", "auto") == 0
                                 ? PSV_OK
                                 : psvi_resolve_sorter_def(context, context->backend, &sorter, &checked, &method);
    if (known != PSV_OK) return known;
    s->context = context;
    s->def = *def;
    s->key_bytes = psv_key_type_bytes(def->key_type);
    s->value_bytes = def->value_bytes;
    s->order = psvi_make_key_order(def->key_type, def->descending, def->nan_policy, 0, 8 * s->key_bytes);
    return PSV_OK;
}

static psv_status run_stream(psvi_stream *s) {
    psv_status status = take_room(s);
    if (status == PSV_OK) status = make_runs(s);
    if (status == PSV_OK) status = psvi_drain_batches(s);
    if (status == PSV_OK && s->runs_put > 0) status = merge_runs(s);
    if (status == PSV_OK) status = psvi_drain_batches(s);
    if (status == PSV_OK) status = psvi_read_check(s);
    if (status == PSV_OK) psvi_check_ends(s);
    if (status == PSV_OK && s->def.check && s->sum_in != s->sum_out)
        status = psvi_fail(s->context, PSV_ERROR_INTERNAL, "the sorted pairs are not those of the input");
    if (status == PSV_OK && s->descents > 0)
        status = psvi_fail(s->context, PSV_ERROR_INTERNAL, "the output is out of order at %llu places",
                           (unsigned long long)s->descents);
    return status;
}

static void set_result(const psvi_stream *s, psv_stream_result *result) {
    if (result == NULL) return;
    *result = (psv_stream_result){.count = s->count,
                                  .runs = s->runs_put,
                                  .rounds = s->rounds,
                                  .kept_runs = s->restart.kept_runs,
                                  .checksum = s->def.check ? s->sum_in : 0};
}

psv_status psv_sort_file(psv_context *context, const psv_stream_def *def, const char *input, const char *output,
                         psv_stream_result *result) {
    psvi_stream s = {0};
    psv_status status = begin(&s, context, def);
    if (status != PSV_OK) return status;
    if (input == NULL || output == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "input or output is NULL");
    status = psvi_open_files(&s, input, output);
    if (status == PSV_OK) status = run_stream(&s);
    status = psvi_close_files(&s, output, status);
    free_room(&s);
    if (status == PSV_OK) set_result(&s, result);
    return status;
}

static bool overlap(const void *a, const void *b, uint64_t bytes) {
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return bytes > 0 && x < y + bytes && y < x + bytes;
}

psv_status psv_sort_host(psv_context *context, const psv_stream_def *def, void *keys, void *values, uint64_t count,
                         void *sorted_keys, void *sorted_values, psv_stream_result *result) {
    psvi_stream s = {0};
    psv_status status = begin(&s, context, def);
    if (status != PSV_OK) return status;
    const bool has_values = s.value_bytes > 0;
    if (count > 0 && (keys == NULL || sorted_keys == NULL || (has_values && (values == NULL || sorted_values == NULL))))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "keys, values, sorted_keys or sorted_values is NULL");
    if (count > UINT64_MAX / 32)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "count is %llu; no memory holds so many",
                         (unsigned long long)count);
    if (overlap(keys, sorted_keys, count * s.key_bytes) ||
        (has_values && overlap(values, sorted_values, count * s.value_bytes)))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "the result overlaps the input");
    s.in_memory = true;
    s.known_count = count;
    s.source[0] = keys;
    s.source[1] = values;
    s.sorted[0] = sorted_keys;
    s.sorted[1] = sorted_values;
    if (count > 0) status = run_stream(&s);
    free_room(&s);
    if (status == PSV_OK) set_result(&s, result);
    return status;
}
