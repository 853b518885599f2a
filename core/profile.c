// The phase profile. On the CPU marks are wall-clock times; on CUDA they are events, kept for some frames and read
// when they are done, so that nothing stalls.
#include <stdlib.h>
#include <string.h>

#include "context.h"

#ifdef PSV_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#define TIMES_BYTES (sizeof(psvi_phase_times) * PSVI_PROFILE_FRAMES * PSVI_PROFILE_SPLITS)

static bool uses_events(const psv_context *context) { return context->ops->create_event != NULL; }

static void destroy_events(psv_context *context) {
    for (int f = 0; f < PSVI_PROFILE_FRAMES; ++f) {
        for (int m = 0; m < PSVI_PROFILE_MARKS; ++m) {
            if (context->profiler.frames[f].marks[m].begin_event != NULL)
                context->ops->destroy_event(context, context->profiler.frames[f].marks[m].begin_event);
            if (context->profiler.frames[f].marks[m].end_event != NULL)
                context->ops->destroy_event(context, context->profiler.frames[f].marks[m].end_event);
        }
    }
}

static void clear_profiler(psv_context *context) {
    if (uses_events(context)) destroy_events(context);
    if (context->ops->release_told == NULL)
        free(context->profiler.times);
    else if (context->profiler.times != NULL)
        context->ops->release_told(context, context->profiler.times, TIMES_BYTES);
    context->profiler = (psvi_profiler){0};
}

psv_status psv_enable_profile(psv_context *context, bool enable) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK || enable == context->profiler.enabled) return status;
    if (!enable) {
        if (uses_events(context)) status = context->ops->synchronize(context); // kernels may still write their times
        clear_profiler(context);
        return status;
    }
    context->profiler = (psvi_profiler){.enabled = enable};
    if (context->ops->alloc_told != NULL) {
        void *device;
        context->profiler.times = context->ops->alloc_told(context, TIMES_BYTES, &device);
        context->profiler.times_on_device = device;
    } else if (!uses_events(context)) { // another context reports its times, unless it has no memory
        context->profiler.times = context->profiler.times_on_device = malloc(TIMES_BYTES);
    }
    for (int f = 0; uses_events(context) && f < PSVI_PROFILE_FRAMES; ++f) {
        for (int m = 0; m < PSVI_PROFILE_MARKS && status == PSV_OK; ++m) {
            status = context->ops->create_event(context, &context->profiler.frames[f].marks[m].begin_event);
            if (status == PSV_OK)
                status = context->ops->create_event(context, &context->profiler.frames[f].marks[m].end_event);
        }
    }
    if (status != PSV_OK) clear_profiler(context);
    return status;
}

static psvi_profile_frame *current_frame(psv_context *context) {
    return &context->profiler.frames[context->profiler.frame_number % PSVI_PROFILE_FRAMES];
}

static uint64_t first_split(const psv_context *context, const psvi_profile_frame *frame) {
    return (uint64_t)(frame - context->profiler.frames) * PSVI_PROFILE_SPLITS;
}

// Gives the phases of one kernel their times, and takes them from the phase that the kernel was launched in. They are
// never more than that: the kernel's clock and the events' are not the same.
static void split_mark(const psvi_phase_times *times, int16_t own, double ms, psv_profile *profile) {
    double sum = 0;
    for (int p = 0; p < PSV_PHASE_COUNT; ++p)
        sum += 1e-6 * (double)times->ns[p];
    const double scale = sum > ms ? ms / sum : 1;
    for (int p = 0; p < PSV_PHASE_COUNT; ++p) {
        profile->phase_ms[p] += 1e-6 * scale * (double)times->ns[p];
        profile->phase_ms[own] -= 1e-6 * scale * (double)times->ns[p];
    }
    if (profile->phase_ms[own] < 0) profile->phase_ms[own] = 0; // by rounding
}

// The length of a mark. On CUDA a mark that lies in no other one begins where the previous mark ended. Time that the
// device waits between two phases (for a launch) belongs to the frame, and is counted for the later phase.
static double mark_ms(psv_context *context, const psvi_profile_frame *frame, uint32_t m, uint32_t before) {
    if (!uses_events(context)) return 1e3 * (frame->marks[m].end - frame->marks[m].begin);
    void *begin = frame->marks[m].begin_event;
    // cppcheck-suppress arrayIndexOutOfBoundsCond ; m is below mark_count
    if (m > 0 && frame->marks[m].outer == 0)
        begin = before == 0 ? frame->marks[0].begin_event : frame->marks[before].end_event;
    return context->ops->event_ms(context, begin, frame->marks[m].end_event);
}

// Adds up the marks of a complete frame into `profile`; false while its events are not done.
static bool collect(psv_context *context, const psvi_profile_frame *frame, psv_profile *profile) {
    if (frame->number == 0 || !frame->complete) return false;
    if (uses_events(context)) {
        // The frame's own mark is the first to begin and the last to end.
        if (!context->ops->event_done(context, frame->marks[0].end_event)) return false;
    }
    *profile = (psv_profile){.frame = frame->number};
    uint32_t before = 0; // the last mark that lies in no other
    for (uint32_t m = 0; m < frame->mark_count; ++m) {
        const double ms = mark_ms(context, frame, m, before);
        if (m > 0 && frame->marks[m].outer == 0) before = m;
        if (frame->marks[m].phase < 0) {
            profile->frame_ms = ms;
            continue;
        }
        // What runs inside another phase is not counted twice.
        profile->phase_ms[frame->marks[m].phase] += ms;
        const int16_t outer = frame->marks[frame->marks[m].outer].phase;
        if (outer >= 0) profile->phase_ms[outer] -= ms;
        if (frame->marks[m].split > 0)
            split_mark(&context->profiler.times[first_split(context, frame) + frame->marks[m].split - 1],
                       frame->marks[m].phase, ms, profile);
    }
    return true;
}

// Not while the stream is captured: asking for an event then ends the capture.
static void collect_newest(psv_context *context) {
    if (psvi_is_captured(context)) return;
    for (int f = 0; f < PSVI_PROFILE_FRAMES; ++f) {
        const psvi_profile_frame *frame = &context->profiler.frames[f];
        psv_profile profile;
        if (frame->number > 0 && frame->number > frame->into->frame && collect(context, frame, &profile))
            *frame->into = profile;
    }
}

static void begin_mark(psv_context *context, int phase) {
    psvi_profile_frame *frame = current_frame(context);
    if (frame->mark_count == PSVI_PROFILE_MARKS) return;
    uint32_t m = frame->mark_count++, outer = m;
    do
        outer -= outer > 0;
    while (outer > 0 && frame->marks[outer].end >= 0);
    frame->marks[m].phase = (int16_t)phase;
    frame->marks[m].outer = (uint16_t)outer;
    frame->marks[m].split = 0;
    frame->marks[m].end = -1;
    if (uses_events(context))
        context->ops->record_event(context, frame->marks[m].begin_event);
    else
        frame->marks[m].begin = psvi_seconds_now();
}

static void end_mark(psv_context *context, int phase) {
    psvi_profile_frame *frame = current_frame(context);
    for (uint32_t m = frame->mark_count; m-- > 0;) {
        if (frame->marks[m].phase != phase || frame->marks[m].end >= 0) continue;
        frame->marks[m].end = uses_events(context) ? 0 : psvi_seconds_now();
        if (uses_events(context)) context->ops->record_event(context, frame->marks[m].end_event);
        return;
    }
}

// The frame's number, 0 where it is not recorded.
static uint64_t begin_frame(psv_context *context, psv_profile *into) {
    psvi_profiler *profiler = &context->profiler;
    psvi_begin_floats(context);
    if (!profiler->enabled || profiler->depth++ > 0) return 0;
    profiler->recording = !psvi_is_captured(context);
    if (!profiler->recording) return 0;
    collect_newest(context);
    profiler->frame_number++;
    psvi_profile_frame *frame = current_frame(context);
    frame->number = profiler->frame_number;
    frame->mark_count = frame->split_count = 0;
    frame->complete = false;
    frame->into = into;
    begin_mark(context, -1);
    return frame->number;
}

void psvi_frame_begin(psv_context *context) { (void)begin_frame(context, &context->profiler.newest); }

uint64_t psvi_picture_begin(psv_context *context, psv_profile *times) {
    *times = (psv_profile){0};
    return begin_frame(context, times);
}

void psvi_forget_pictures(psv_context *context, const psv_profile *times) {
    for (int f = 0; f < PSVI_PROFILE_FRAMES; ++f)
        if (context->profiler.frames[f].into == times) context->profiler.frames[f].number = 0;
}

static void end_frame_marks(psv_context *context) {
    psvi_profiler *profiler = &context->profiler;
    if (!profiler->enabled || profiler->depth == 0 || --profiler->depth > 0 || !profiler->recording) return;
    end_mark(context, -1);
    current_frame(context)->complete = true;
    profiler->recording = false;
}

void psvi_frame_end(psv_context *context) {
    end_frame_marks(context);
    psvi_end_floats(context);
    if (context->float_depth == 0 && context->ops->end_call != NULL) context->ops->end_call(context);
}

void psvi_phase_begin(psv_context *context, psv_phase phase) {
#ifdef PSV_HAVE_NVTX
    (void)nvtxRangePushA(psv_phase_name(phase));
#endif
    if (context->profiler.recording) begin_mark(context, phase);
}

void psvi_phase_end(psv_context *context, psv_phase phase) {
#ifdef PSV_HAVE_NVTX
    (void)nvtxRangePop();
#endif
    if (context->profiler.recording) end_mark(context, phase);
}

psvi_phase_times *psvi_phase_split(psv_context *context) {
    psvi_profiler *profiler = &context->profiler;
    if (!profiler->recording || profiler->times == NULL) return NULL;
    psvi_profile_frame *frame = current_frame(context);
    const uint32_t m = frame->mark_count - 1;
    if (frame->mark_count == 0 || frame->marks[m].phase < 0 || frame->marks[m].end >= 0 ||
        frame->split_count == PSVI_PROFILE_SPLITS)
        return NULL;
    const uint64_t at = first_split(context, frame) + frame->split_count;
    frame->marks[m].split = (uint16_t)++frame->split_count;
    memset(&profiler->times[at], 0, sizeof profiler->times[at]);
    return &profiler->times_on_device[at];
}

static psv_status check_profile(psv_context *context, const psv_profile *profile) {
    psv_status status = psvi_check_context(context);
    if (status != PSV_OK) return status;
    if (profile == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "profile is NULL");
    return PSV_OK;
}

psv_status psv_read_profile(psv_context *context, psv_profile *profile) {
    psv_status status = check_profile(context, profile);
    if (status != PSV_OK) return status;
    if (context->profiler.enabled) collect_newest(context);
    *profile = context->profiler.newest;
    return PSV_OK;
}

psv_status psv_wait_profile(psv_context *context, psv_profile *profile) {
    psv_status status = check_profile(context, profile);
    if (status == PSV_OK) status = context->ops->synchronize(context);
    return status != PSV_OK ? status : psv_read_profile(context, profile);
}

psv_status psvi_wait_pictures(psv_context *context) {
    const psv_status status = context->ops->synchronize(context);
    if (status == PSV_OK && context->profiler.enabled) collect_newest(context);
    return status;
}

bool psv_profile_next(const psv_profile *profile, uint32_t *cursor, const char **name, double *ms) {
    if (profile == NULL || cursor == NULL) return false;
    while (*cursor < PSV_PHASE_COUNT) {
        psv_phase phase = (psv_phase)(*cursor)++;
        if (profile->phase_ms[phase] <= 0) continue;
        if (name != NULL) *name = psv_phase_name(phase);
        if (ms != NULL) *ms = profile->phase_ms[phase];
        return true;
    }
    return false;
}
