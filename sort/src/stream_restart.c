// Finished runs of a sort of files, kept for a later call.
#include "stream_restart.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/file.h>
#endif

#include "sort_method.h"

uint64_t psvi_chain_elements(uint64_t sum, const uint8_t *elements, uint32_t bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t element = 0;
        memcpy(&element, elements + i * bytes, bytes);
        sum = (sum ^ element) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

#if defined(_WIN32)
psv_status psvi_open_restart(psvi_stream *s) {
    return psvi_fail(s->context, PSV_ERROR_UNSUPPORTED, "def.restart is not possible on Windows");
}
psv_status psvi_note_run(psvi_stream *s) { return (void)s, PSV_OK; }
void psvi_close_restart(psvi_stream *s, psv_status status) { (void)s, (void)status; }
#else

// --- the list: a head, then an entry for each run, each sealed by a checksum ----------------------------------------

#define LIST_MAGIC UINT64_C(0x31736e7572767370) // "psvruns1"

typedef struct list_head {
    uint64_t magic;
    uint64_t input_device, input_number, input_bytes, input_seconds, input_nanoseconds;
    uint64_t key_type, value_bytes, descending, nan_policy, check;
    uint64_t seal;
} list_head;

typedef struct list_entry {
    uint64_t count;
    uint64_t sum_in;   // of the input's pairs up to the end of the run
    uint64_t chain[2]; // of the run's keys and values in their order
    uint64_t seal;     // chained to the entry before it
} list_entry;

static uint64_t seal_of(uint64_t before, const void *words, size_t bytes) {
    return psvi_chain_elements(before, words, 8, bytes / 8 - 1); // the seal is the last
}

static list_head head_of(const psvi_stream *s, const struct stat *input) {
    list_head head = {.magic = LIST_MAGIC,
                      .input_device = (uint64_t)input->st_dev,
                      .input_number = (uint64_t)input->st_ino,
                      .input_bytes = (uint64_t)input->st_size,
                      .input_seconds = (uint64_t)input->st_mtim.tv_sec,
                      .input_nanoseconds = (uint64_t)input->st_mtim.tv_nsec,
                      .key_type = (uint64_t)s->def.key_type,
                      .value_bytes = s->value_bytes,
                      .descending = s->def.descending,
                      .nan_policy = (uint64_t)s->def.nan_policy,
                      .check = s->def.check};
    head.seal = seal_of(0, &head, sizeof head);
    return head;
}

static psv_status restart_error(psvi_stream *s, const char *what, const char *name) {
    return psvi_fail(s->context, PSV_ERROR_FILE, "%s %s: %s", what, name,
                     errno != 0 ? strerror(errno) : "the file ends too early");
}

// --- files ----------------------------------------------------------------------------------------------------------

// Another user's file is not taken, nor what a link leads to.
static FILE *open_named(const char *name) {
    struct stat facts;
    const int descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return NULL;
    const bool mine = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
    FILE *file = mine ? fdopen(descriptor, "r+b") : NULL;
    if (!mine) errno = EPERM;
    if (file == NULL) (void)close(descriptor);
    return file;
}

// «.pairsieve-OUTPUT.list», .keys and .values in the output's folder.
static psv_status open_files(psvi_stream *s) {
    static const char *const ends[] = {"list", "keys", "values"};
    psvi_restart *restart = &s->restart;
    const char *target = s->output.target, *slash = psvi_last_slash(target);
    const int folder = slash == NULL ? 0 : (int)(slash - target) + 1;
    for (int f = 0; f < (s->value_bytes > 0 ? 3 : 2); ++f) {
        char *name = restart->names[f];
        const int length =
            snprintf(name, sizeof restart->names[f], "%.*s.pairsieve-%s.%s", folder, target, target + folder, ends[f]);
        errno = ENAMETOOLONG;
        FILE *file = length > 0 && length < PATH_MAX ? open_named(name) : NULL;
        if (file == NULL) return restart_error(s, "cannot write", name);
        *(f == 0 ? &restart->list : &s->aside[f - 1]) = file;
        if (f > 0 || flock(fileno(file), LOCK_EX | LOCK_NB) == 0) continue;
        (void)fclose(file); // it belongs to the other process
        restart->list = NULL;
        return restart_error(s, "another process sorts to this output; it holds", name);
    }
    return PSV_OK;
}

// Whether the next `count` elements of a run's file have the checksum. Reads them in pieces.
static bool chain_holds(psvi_stream *s, int which, uint64_t count, uint64_t chain, uint8_t *piece, uint64_t room) {
    const uint32_t bytes = which == 0 ? s->key_bytes : s->value_bytes;
    uint64_t sum = 0;
    for (uint64_t at = 0; at < count; at += room) {
        const uint64_t part = count - at < room ? count - at : room;
        if (fread(piece, bytes, part, s->aside[which]) != part) return false;
        sum = psvi_chain_elements(sum, piece, bytes, part);
    }
    return sum == chain;
}

#define PIECE_ELEMENTS (UINT64_C(1) << 16)

// Entries from the list's beginning on, as long as their seals and the checksums of their runs hold.
static psv_status take_over(psvi_stream *s) {
    psvi_restart *restart = &s->restart;
    uint8_t *piece = malloc(PIECE_ELEMENTS * 8);
    list_entry entry;
    psv_status status = piece != NULL ? PSV_OK : psvi_fail(s->context, PSV_ERROR_MEMORY, "no memory to check the runs");
    while (status == PSV_OK && fread(&entry, sizeof entry, 1, restart->list) == 1) {
        const uint64_t seal = seal_of(restart->seal, &entry, sizeof entry);
        bool good = seal == entry.seal && entry.count > 0 && entry.count <= s->known_count - s->count;
        for (int c = 0; c < (s->value_bytes > 0 ? 2 : 1) && good; ++c)
            good = chain_holds(s, c, entry.count, entry.chain[c], piece, PIECE_ELEMENTS);
        if (!good) break;
        s->count += entry.count;
        s->done += entry.count;
        s->sum_in = entry.sum_in;
        restart->seal = seal;
        ++restart->kept_runs;
        status = psvi_add_run(s, entry.count);
    }
    free(piece);
    return status;
}

// Cuts off what was not taken over, and goes to the end of the list and to the input's next record.
static psv_status go_on(psvi_stream *s, bool same, const list_head *head) {
    psvi_restart *restart = &s->restart;
    const off_t length = same ? (off_t)(sizeof *head + restart->kept_runs * sizeof(list_entry)) : 0;
    const off_t input = (off_t)(s->count * (s->key_bytes + s->value_bytes));
    bool good = fseeko(restart->list, length, SEEK_SET) == 0 && ftruncate(fileno(restart->list), length) == 0 &&
                fseeko(s->input, input, SEEK_SET) == 0;
    for (int c = 0; c < (s->value_bytes > 0 ? 2 : 1) && good; ++c) {
        const off_t bytes = (off_t)(s->count * (c == 0 ? s->key_bytes : s->value_bytes));
        good = fseeko(s->aside[c], bytes, SEEK_SET) == 0 && ftruncate(fileno(s->aside[c]), bytes) == 0;
    }
    if (good && !same) good = fwrite(head, sizeof *head, 1, restart->list) == 1 && fflush(restart->list) == 0;
    return good ? PSV_OK : restart_error(s, "cannot write", restart->names[0]);
}

psv_status psvi_open_restart(psvi_stream *s) {
    struct stat input;
    if (fstat(fileno(s->input), &input) != 0 || !S_ISREG(input.st_mode) || s->output.part[0] == 0)
        return psvi_fail(s->context, PSV_ERROR_UNSUPPORTED,
                         "def.restart needs plain files as input and output, not pipes or devices");
    psv_status status = open_files(s);
    if (status != PSV_OK) return status;
    const list_head head = head_of(s, &input);
    list_head found;
    errno = 0;
    const bool same = fread(&found, sizeof found, 1, s->restart.list) == 1 && memcmp(&found, &head, sizeof head) == 0;
    s->restart.seal = head.seal;
    if (same) status = take_over(s);
    if (status == PSV_OK) status = go_on(s, same, &head);
    s->restart.opened = status == PSV_OK;
    return status;
}

static bool to_disk(FILE *file) { return fflush(file) == 0 && fsync(fileno(file)) == 0; }

psv_status psvi_note_run(psvi_stream *s) {
    psvi_restart *restart = &s->restart;
    const psvi_run *run = &s->runs[s->runs_put - 1];
    list_entry entry = {.count = run->end - run->next, .sum_in = s->sum_in};
    memcpy(entry.chain, restart->chain, sizeof entry.chain);
    restart->chain[0] = restart->chain[1] = 0;
    restart->seal = entry.seal = seal_of(restart->seal, &entry, sizeof entry);
    errno = 0;
    const bool good = to_disk(s->aside[0]) && (s->value_bytes == 0 || to_disk(s->aside[1])) &&
                      fwrite(&entry, sizeof entry, 1, restart->list) == 1 && to_disk(restart->list);
    return good ? PSV_OK : restart_error(s, "cannot write", restart->names[0]);
}

void psvi_close_restart(psvi_stream *s, psv_status status) {
    psvi_restart *restart = &s->restart;
    if (restart->list == NULL) return;
    // Runs of which the check found that they are wrong, and an empty list, are worth nothing.
    const bool stay = status != PSV_OK && status != PSV_ERROR_INTERNAL && (s->runs_put > 0 || !restart->opened);
    for (int f = 0; f < 3 && !stay; ++f)
        if (restart->names[f][0] != 0) (void)unlink(restart->names[f]);
    (void)fclose(restart->list); // lets go of the lock
    restart->list = NULL;
}
#endif
