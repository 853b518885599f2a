// Both ends of a sort that streams.
#include "stream_ends.h"

#include <errno.h>
#include <stdlib.h>

#include "sort_method.h"
#include "stream_restart.h"

#define PIECE_BYTES (UINT64_C(4) << 20)

static uint64_t record_bytes(const psvi_stream *s) { return s->key_bytes + s->value_bytes; }

uint64_t psvi_piece_pairs(const psvi_stream *s, uint64_t count) {
    const uint64_t pairs = PIECE_BYTES / record_bytes(s);
    return count < 8 * pairs ? count / 8 + 1 : pairs; // an eighth of the memory at most
}

// --- checks ---------------------------------------------------------------------------------------------------------

static inline uint64_t mix_at(const uint8_t *key_at, const uint8_t *value_at, uint32_t key_bytes,
                              uint32_t value_bytes) {
    uint64_t key = 0, value = 0;
    memcpy(&key, key_at, key_bytes);
    if (value_bytes > 0) memcpy(&value, value_at, value_bytes);
    return psvi_mix_pair(key, value);
}

// Loops over pairs are made for each size, so that copies of known sizes are single moves.
#define FOR_SIZES(s, call)                                                                                             \
    switch ((s)->key_bytes + 16 * (s)->value_bytes) {                                                                  \
    case 4: call(4, 0); break;                                                                                         \
    case 8: call(8, 0); break;                                                                                         \
    case 4 + 64: call(4, 4); break;                                                                                    \
    case 8 + 64: call(8, 4); break;                                                                                    \
    case 4 + 128: call(4, 8); break;                                                                                   \
    default: call(8, 8);                                                                                               \
    }

static uint64_t sum_pairs(const psvi_stream *s, const uint8_t *keys, const uint8_t *values, uint64_t count) {
    uint64_t sum = 0;
    if (s->value_bytes == 0) values = keys; // not read
#define SUM(k, v)                                                                                                      \
    for (uint64_t i = 0; i < count; ++i)                                                                               \
    sum += mix_at(keys + i * (k), values + i * (v), k, v)
    FOR_SIZES(s, SUM)
#undef SUM
    return sum;
}

static void check_output(psvi_stream *s, const uint8_t *keys, const uint8_t *values, uint64_t count) {
    if (!s->def.check) return;
    s->sum_out += sum_pairs(s, keys, values, count);
    uint64_t last = s->last_key, descents = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t key = psvi_key_at(s, keys, i);
        descents += key < last;
        last = key;
    }
    s->last_key = last;
    s->descents += descents;
}

// --- files ----------------------------------------------------------------------------------------------------------

static psv_status file_error(psvi_stream *s, const char *what, const char *path) {
    return psvi_fail(s->context, PSV_ERROR_FILE, "%s%s%s: %s", what, path[0] != 0 ? " " : "", path,
                     errno != 0 ? strerror(errno) : "the file ends too early");
}

// A file without a name in the output's folder, where the disk has the room for the output too. Beside devices and
// pipes there is none: then in the folder for temporary files.
static psv_status open_aside(psvi_stream *s, const char *output, int which) {
    char *name = s->aside_names[which];
    const char *given = getenv("TMPDIR"), *target = s->output.target;
    const char *slash = psvi_last_slash(target);
    const int folder = slash == NULL ? 0 : (int)(slash - target) + 1;
    const int length = s->output.part[0] != 0
                           ? snprintf(name, sizeof s->aside_names[which], "%.*s.pairsieve-run-XXXXXX", folder, target)
                           : snprintf(name, sizeof s->aside_names[which], "%s/.pairsieve-run-XXXXXX",
                                      given != NULL ? given : P_tmpdir);
    errno = ENAMETOOLONG;
    const int descriptor = length > 0 && length < PATH_MAX ? mkstemp(name) : -1;
    if (descriptor < 0) {
        name[0] = 0;
        return file_error(s, "no temporary file beside", output);
    }
    s->aside[which] = fdopen(descriptor, "w+b");
#if !defined(_WIN32)
    (void)unlink(name);
    name[0] = 0;
#endif
    if (s->aside[which] != NULL) return PSV_OK;
    (void)close(descriptor);
    return file_error(s, "no temporary file beside", output);
}

psv_status psvi_open_files(psvi_stream *s, const char *input, const char *output) {
    struct stat facts;
    errno = 0;
    s->input = fopen(input, "rb");
    if (s->input == NULL) return file_error(s, "cannot read", input);
    if (fstat(fileno(s->input), &facts) == 0 && S_ISDIR(facts.st_mode)) {
        errno = EISDIR;
        return file_error(s, "cannot read", input);
    }
    if (fstat(fileno(s->input), &facts) == 0 && S_ISREG(facts.st_mode)) {
        const uint64_t size = (uint64_t)facts.st_size;
        if (size % record_bytes(s) != 0)
            return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s has %llu bytes, which is no multiple of a record's %llu",
                             input, (unsigned long long)size, (unsigned long long)record_bytes(s));
        s->known_count = size / record_bytes(s);
    }
    if (!psvi_open_replaced(&s->output, output)) return file_error(s, "cannot write", output);
    if (s->def.restart) return psvi_open_restart(s);
    psv_status status = open_aside(s, output, 0);
    if (status == PSV_OK && s->value_bytes > 0) status = open_aside(s, output, 1);
    return status;
}

psv_status psvi_close_files(psvi_stream *s, const char *output, psv_status status) {
    if (s->input != NULL) (void)fclose(s->input);
    for (int a = 0; a < 2; ++a) {
        if (s->aside[a] != NULL) (void)fclose(s->aside[a]);
        if (s->aside_names[a][0] != 0) (void)unlink(s->aside_names[a]);
    }
    const bool closed = s->output.stream == NULL || psvi_close_replaced(&s->output, status == PSV_OK);
    if (!closed && status == PSV_OK) status = file_error(s, "cannot write", output);
    psvi_close_restart(s, status);
    return status;
}

static psv_status seek_aside(psvi_stream *s, int which, uint64_t byte) {
    errno = 0;
    return fseeko(s->aside[which], (off_t)byte, SEEK_SET) == 0 ? PSV_OK : file_error(s, "the temporary file", "");
}

// --- device and host ------------------------------------------------------------------------------------------------

static uint32_t width(const psvi_stream *s, int which) { return which == 0 ? s->key_bytes : s->value_bytes; }

static int columns(const psvi_stream *s) { return s->value_bytes > 0 ? 2 : 1; }

// The key and the value of each record, apart.
static void split_records(psvi_stream *s, uint64_t count) {
#define SPLIT(k, v)                                                                                                    \
    for (uint64_t i = 0; i < count; ++i) {                                                                             \
        memcpy(s->piece[0] + i * (k), s->records + i * ((k) + (v)), k);                                                \
        memcpy(s->piece[1] + i * (v), s->records + i * ((k) + (v)) + (k), v);                                          \
    }
    FOR_SIZES(s, SPLIT)
#undef SPLIT
}

static void join_records(psvi_stream *s, uint64_t count) {
#define JOIN(k, v)                                                                                                     \
    for (uint64_t i = 0; i < count; ++i) {                                                                             \
        memcpy(s->records + i * ((k) + (v)), s->piece[0] + i * (k), k);                                                \
        memcpy(s->records + i * ((k) + (v)) + (k), s->piece[1] + i * (v), v);                                          \
    }
    FOR_SIZES(s, JOIN)
#undef JOIN
}

// --- the input ------------------------------------------------------------------------------------------------------

static psv_status load_records(psvi_stream *s, uint64_t *count, bool *ended) {
    const uint64_t piece = psvi_piece_pairs(s, s->room);
    while (*count < s->room && !*ended) {
        const uint64_t wanted = s->room - *count < piece ? s->room - *count : piece;
        errno = 0;
        const uint64_t bytes = fread(s->records, 1, wanted * record_bytes(s), s->input);
        if (ferror(s->input) != 0) return file_error(s, "cannot read the input", "");
        if (bytes % record_bytes(s) != 0)
            return psvi_fail(s->context, PSV_ERROR_FORMAT, "the input ends within a record of %llu bytes",
                             (unsigned long long)record_bytes(s));
        const uint64_t got = bytes / record_bytes(s);
        *ended = got < wanted || s->count + *count + got == s->known_count;
        split_records(s, got);
        if (s->def.check) s->sum_in += sum_pairs(s, s->piece[0], s->piece[1], got);
        psv_status status = PSV_OK;
        for (int c = 0; c < columns(s) && status == PSV_OK; ++c)
            status = psvi_batch_up(s, c, *count, s->piece[c], got);
        if (status != PSV_OK) return status;
        *count += got;
    }
    return PSV_OK;
}

psv_status psvi_load_run(psvi_stream *s, uint64_t *count, bool *ended) {
    if (!s->in_memory) return load_records(s, count, ended);
    const uint64_t left = s->known_count - s->count;
    *count = left < s->room ? left : s->room;
    *ended = *count == left;
    const uint8_t *keys = s->source[0] + s->count * s->key_bytes, *values = s->source[1];
    if (s->value_bytes > 0) values += s->count * s->value_bytes;
    if (s->def.check && s->lanes.check == NULL) s->sum_in += sum_pairs(s, keys, values, *count);
    const psv_status status = psvi_batch_up(s, 0, 0, keys, *count);
    return status == PSV_OK && s->value_bytes > 0 ? psvi_batch_up(s, 1, 0, values, *count) : status;
}

// --- runs that are put aside ----------------------------------------------------------------------------------------

static psv_status save_column(psvi_stream *s, int which, uint64_t begin, uint64_t count) {
    const uint64_t piece = psvi_piece_pairs(s, s->room);
    if (s->in_memory) return psvi_batch_down(s, which, 0, s->source[which] + begin * width(s, which), count);
    psv_status status = seek_aside(s, which, begin * width(s, which));
    for (uint64_t at = 0; at < count && status == PSV_OK; at += piece) {
        const uint64_t part = count - at < piece ? count - at : piece;
        status = psvi_batch_down(s, which, at, s->piece[which], part);
        errno = 0;
        if (s->restart.list != NULL)
            s->restart.chain[which] =
                psvi_chain_elements(s->restart.chain[which], s->piece[which], width(s, which), part);
        if (status == PSV_OK && fwrite(s->piece[which], width(s, which), part, s->aside[which]) != part)
            status = file_error(s, "cannot write the temporary file", "");
    }
    return status;
}

psv_status psvi_save_run(psvi_stream *s, uint64_t begin, uint64_t count) {
    psv_status status = PSV_OK;
    for (int c = 0; c < columns(s) && status == PSV_OK; ++c)
        status = save_column(s, c, begin, count);
    return status;
}

psv_status psvi_fill_window(psvi_stream *s, psvi_run *run, uint64_t room) {
    const uint64_t left = run->end - run->next, wanted = room - run->held < left ? room - run->held : left;
    if (wanted == 0) return PSV_OK;
    psv_status status = PSV_OK;
    for (int c = 0; c < columns(s) && status == PSV_OK; ++c) {
        const uint32_t bytes = width(s, c);
        if (s->in_memory) { // the window is where the run is
            run->window[c] = s->source[c] + (run->next - run->held) * bytes;
            continue;
        }
        status = seek_aside(s, c, run->next * bytes);
        errno = 0;
        if (status == PSV_OK && fread(run->window[c] + run->held * bytes, bytes, wanted, s->aside[c]) != wanted)
            status = file_error(s, "cannot read the temporary file", "");
    }
    run->next += wanted;
    run->held += wanted;
    return status;
}

psv_status psvi_upload_part(psvi_stream *s, const psvi_run *run, uint64_t count, uint64_t at) {
    psv_status status = PSV_OK;
    for (int c = 0; c < columns(s) && status == PSV_OK; ++c)
        status = psvi_batch_up(s, c, at, run->window[c], count);
    return status;
}

void psvi_drop_part(psvi_stream *s, psvi_run *run, uint64_t count) {
    run->held -= count;
    for (int c = 0; c < columns(s); ++c) {
        const uint64_t bytes = width(s, c);
        if (s->in_memory)
            run->window[c] += count * bytes;
        else
            memmove(run->window[c], run->window[c] + count * bytes, run->held * bytes);
    }
}

// --- the output -----------------------------------------------------------------------------------------------------

static psv_status emit_records(psvi_stream *s, uint64_t count) {
    const uint64_t piece = psvi_piece_pairs(s, s->room);
    psv_status status = PSV_OK;
    for (uint64_t at = 0; at < count && status == PSV_OK; at += piece) {
        const uint64_t part = count - at < piece ? count - at : piece;
        for (int c = 0; c < columns(s) && status == PSV_OK; ++c)
            status = psvi_batch_down(s, c, at, s->piece[c], part);
        if (status != PSV_OK) return status;
        check_output(s, s->piece[0], s->piece[1], part);
        join_records(s, part);
        errno = 0;
        if (fwrite(s->records, record_bytes(s), part, s->output.stream) != part)
            status = file_error(s, "cannot write the output", "");
    }
    return status;
}

// Notes where a part of the output ends.
static psv_status note_part(psvi_stream *s) {
    if (s->rounds >= s->part_room) {
        const uint64_t room = 2 * s->part_room + 64;
        uint64_t *parts = realloc(s->parts, room * sizeof *parts);
        if (parts == NULL) return psvi_fail(s->context, PSV_ERROR_MEMORY, "no memory for a list of parts");
        s->parts = parts;
        s->part_room = room;
    }
    s->parts[s->rounds] = s->emitted;
    return PSV_OK;
}

psv_status psvi_emit(psvi_stream *s, uint64_t count) {
    psv_status status = PSV_OK;
    if (!s->in_memory) {
        status = emit_records(s, count);
    } else {
        uint8_t *to[2] = {NULL, NULL};
        for (int c = 0; c < columns(s) && status == PSV_OK; ++c) {
            to[c] = s->sorted[c] + s->emitted * width(s, c);
            status = psvi_batch_down(s, c, 0, to[c], count);
        }
        if (status == PSV_OK && s->lanes.check == NULL) check_output(s, to[0], to[1], count);
    }
    s->emitted += count;
    return status == PSV_OK && s->lanes.check != NULL ? note_part(s) : status;
}

void psvi_check_ends(psvi_stream *s) {
    for (uint64_t p = 0; p < s->rounds && s->lanes.check != NULL; ++p) {
        const uint64_t at = s->parts[p];
        if (at > 0 && at < s->emitted)
            s->descents += psvi_key_at(s, s->sorted[0], at) < psvi_key_at(s, s->sorted[0], at - 1);
    }
}
