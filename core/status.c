// The version, names of statuses and phases, and the sentences of failures.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "context.h"

static _Thread_local char thread_error[512];

#define TEXT_OF(number) #number
#define VERSION_NAME(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

uint32_t psv_version(void) { return PSV_VERSION; }

const char *psv_version_name(void) { return VERSION_NAME(PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH); }

const char *psv_status_name(psv_status status) {
    switch (status) {
    case PSV_OK: return "PSV_OK";
    case PSV_ERROR_ARGUMENT: return "PSV_ERROR_ARGUMENT";
    case PSV_ERROR_CAPACITY: return "PSV_ERROR_CAPACITY";
    case PSV_ERROR_MEMORY: return "PSV_ERROR_MEMORY";
    case PSV_ERROR_DEVICE: return "PSV_ERROR_DEVICE";
    case PSV_ERROR_UNSUPPORTED: return "PSV_ERROR_UNSUPPORTED";
    case PSV_ERROR_FILE: return "PSV_ERROR_FILE";
    case PSV_ERROR_FORMAT: return "PSV_ERROR_FORMAT";
    case PSV_ERROR_INTERNAL: return "PSV_ERROR_INTERNAL";
    }
    return "unknown status";
}

const char *psv_phase_name(psv_phase phase) {
    static const char *const names[PSV_PHASE_COUNT] = {"bounds", "keys",   "sort",  "gather",   "sweep",
                                                       "events", "narrow", "solve", "integrate"};
    return (unsigned)phase < PSV_PHASE_COUNT ? names[phase] : "unknown phase";
}

psv_status psvi_fail(psv_context *context, psv_status status, const char *format, ...) {
    char *sentence = context != NULL ? context->error : thread_error;
    va_list arguments;
    va_start(arguments, format);
    // A vsnprintf into the same buffer would be undefined if an argument pointed at the old sentence.
    char text[sizeof thread_error];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(sentence, text, sizeof text);
    return status;
}

const char *psv_last_error(const psv_context *context) { return context != NULL ? context->error : thread_error; }
