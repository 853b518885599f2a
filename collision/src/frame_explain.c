// The last frame in plain words.
#include <stdarg.h>
#include <stdio.h>

#include "finder.h"

typedef struct explanation {
    char *text;
    uint64_t capacity, length; // length: of the whole, also what did not fit
} explanation;

static void __attribute__((format(printf, 2, 3))) say(explanation *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const uint64_t left = e->length < e->capacity ? e->capacity - e->length : 0;
    const int written = vsnprintf(left > 0 ? e->text + e->length : NULL, left, format, arguments);
    va_end(arguments);
    e->length += written > 0 ? (uint64_t)written : 0;
}

#define LONG(number) ((unsigned long long)(number))

// --- what ran --------------------------------------------------------------------------------------------------------

static void explain_boxes(explanation *e, const psv_pair_statistics *s) {
    say(e, "boxes: %llu took part; %llu are bad and were left out", LONG(s->boxes), LONG(s->bad_boxes));
    if (s->huge_boxes > 0) say(e, "; %llu are infinite or huge and were tested against all", LONG(s->huge_boxes));
    say(e, "\n");
}

static void explain_method(explanation *e, const psv_pair_finder *finder, const psv_pair_statistics *s) {
    say(e, "method: %s", s->method);
    if (finder->last == &finder->kept.tree && finder->movers.complete) {
        say(e, ", with the boxes that moved; all other pairs are those of the frame before\n");
        return;
    }
    if (finder->last == &finder->kept.tree) {
        say(e, ", over the kept boxes, which is always so between two sets\n");
        return;
    }
    if (strcmp(finder->def.method, "auto") != 0) {
        say(e, ", as def.method says\n");
        return;
    }
    for (uint32_t i = 0; i < finder->choice_count; ++i)
        say(e, "%s%s", i == 0 ? ", by auto, which chooses between " : ", ", finder->choices[i].method->name);
    const bool other = finder->choice_count > 1 && finder->last == &finder->choices[PSVI_OTHER_CHOICE];
    if (other && finder->clock.begin != NULL)
        say(e, "; %s was slower by the device's clock, or this frame was a trial", finder->choices[0].method->name);
    else if (other)
        say(e, "; %s would have tested more boxes than %s takes time for", finder->choices[0].method->name, s->method);
    say(e, "\n");
}

static void explain_route(explanation *e, const psv_pair_finder *finder, const psv_pair_statistics *s, uint32_t veto) {
    const psvi_broad_phase *method = finder->last->method;
    if (method->route_name == NULL) {
        say(e, "route: the method has one way\n");
        return;
    }
    say(e, "route: %s\n", s->route);
    say(e, "why not a faster one: %s\n", method->veto_text == NULL ? s->veto : method->veto_text(veto));
}

static void explain_plan(explanation *e, const psv_pair_statistics *s) {
    say(e, "plan: levels of sizes %u; rows, cells or nodes %llu", s->levels, LONG(s->rows));
    if (s->longest_range > 0) say(e, "; boxes in the longest range %llu", LONG(s->longest_range));
    say(e, "\n");
    if (s->key_bits > 0)
        say(e, "sort: by %s, keys of %u bits, digit passes %u (and %u that were not needed)\n", s->sort_method,
            s->key_bits, s->sort_passes, s->sort_passes_skipped);
    if (s->candidates == 0) return;
    say(e, "work: %llu tests of two boxes", LONG(s->candidates));
    if (s->pairs > 0) say(e, ", %.1f for each pair", (double)s->candidates / (double)s->pairs);
    say(e, "\n");
}

// --- memory ----------------------------------------------------------------------------------------------------------

#define LEAST_TOLD 5000u // bytes: less is 0.00 MB

static void explain_memory(explanation *e, const psv_pair_finder *finder) {
    psv_pair_finder_parts parts;
    psv_pair_finder_def def = finder->def;
    def.max_pairs = finder->memory.capacity;
    if (psv_pair_finder_memory(finder->context->backend, &def, &parts) != PSV_OK) return;
    const struct {
        const char *name;
        uint64_t bytes;
    } list[] = {{"methods", parts.methods}, {"pairs", parts.pairs},    {"order", parts.order},
                {"events", parts.events},   {"rules", parts.rules},    {"kept boxes", parts.kept_boxes},
                {"margins", parts.margins}, {"results", parts.results}};
    say(e, "memory: %.2f MB", 1e-6 * (double)parts.total);
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        if (list[i].bytes >= LEAST_TOLD)
            say(e, "%s %s %.2f", i == 0 ? ":" : ",", list[i].name, 1e-6 * (double)list[i].bytes);
    say(e, "\n");
}

// --- the next frame --------------------------------------------------------------------------------------------------

static void explain_clock(explanation *e, const psv_pair_finder *finder) {
    const psvi_trials *trials = &finder->clock.trials;
    const char *kept = finder->choices[trials->kept].method->name,
               *other = finder->choices[1 - trials->kept].method->name;
    if (trials->left > 0)
        say(e, "next frame: a trial of %s, for %u frames, because %s takes long\n", other, trials->left, kept);
    else
        say(e, "next frame: %s; its time is looked at again and again, and %s is tried where it takes long\n", kept,
            other);
}

static void explain_choice(explanation *e, const psv_pair_finder *finder) {
    if (finder->choice_count > 1 && finder->clock.begin != NULL) {
        explain_clock(e, finder);
        return;
    }
    if (finder->choice_count < 2)
        say(e, "next frame: the same method\n");
    else
        say(e, "next frame: chosen by the number of boxes, as this one; %s goes on where %s would take longer\n",
            finder->choices[PSVI_OTHER_CHOICE].method->name, finder->choices[PSVI_FIRST_CHOICE].method->name);
}

static void explain_room(explanation *e, const psv_pair_finder *finder, uint64_t pairs) {
    const uint64_t room = finder->memory.capacity;
    say(e, "pairs: %llu, room for %llu", LONG(pairs), LONG(room));
    if (pairs > room)
        say(e, "; those beyond it are missing, and def.grow_pairs is%s set", finder->def.grow_pairs ? "" : " not");
    say(e, "\n");
}

static void explain_known(explanation *e, const psv_pair_finder *finder) {
    const psvi_kept *kept = &finder->kept;
    const psvi_margins *margins = &finder->margins;
    const psvi_mover_state *movers = &finder->movers;
    if (movers->complete || (finder->def.max_kept > 0 && kept->valid))
        say(e, "kept boxes: what is known of %llu boxes serves again while kept_version is %llu\n",
            LONG(movers->complete ? movers->known.kept : kept->count),
            LONG(movers->complete ? movers->known.version : kept->version));
    else if (finder->def.max_kept > 0)
        say(e, "kept boxes: none are known; the next frame with some sorts them\n");
    if (finder->def.margins && margins->valid)
        say(e,
            "margins: the pairs of %llu widened boxes serve again until a box leaves its margin (%u frames so far)\n",
            LONG(margins->a_count + margins->b_count), margins->reused);
    else if (finder->def.margins)
        say(e, "margins: the next frame looks for all pairs; %u frames until boxes are widened again\n",
            margins->backoff.left);
}

psv_status psv_explain_frame(psv_pair_finder *finder, char *text, uint64_t capacity, uint64_t *needed) {
    psvi_frame_result result;
    psv_pair_statistics statistics;
    psv_status status = psvi_begin_read(finder, text, "text", capacity, &result);
    if (status == PSV_OK) status = psv_read_pair_statistics(finder, &statistics);
    if (status != PSV_OK) return status;
    explanation e = {text, capacity, 0};
    explain_boxes(&e, &statistics);
    explain_method(&e, finder, &statistics);
    explain_route(&e, finder, &statistics, result.veto);
    explain_plan(&e, &statistics);
    explain_room(&e, finder, result.pair_count);
    explain_memory(&e, finder);
    explain_choice(&e, finder);
    explain_known(&e, finder);
    if (needed != NULL) *needed = e.length + 1;
    if (e.length < capacity) return PSV_OK;
    return psvi_fail(finder->context, PSV_ERROR_CAPACITY, "capacity is %llu; the text needs %llu", LONG(capacity),
                     LONG(e.length + 1));
}
