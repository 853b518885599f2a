// Sorting more pairs than the memory that is allowed: files and host memory, every size of record, every kind of key;
// errors; a process that is killed in the middle.
//
// The oracle streams: key i is a function of i, and the value is i. So the output is right if it has as many records,
// each key is the one that its value names, no value comes twice, keys ascend and values of equal keys ascend.
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../test_scale.h"
#include "pairsieve/stream_sort.h"

#define MIB (UINT64_C(1) << 20)

static psv_context *context;
static psv_backend backend = PSV_BACKEND_CPU; // or the one that the first argument names, with fewer pairs
static char folder[] = "/tmp/pairsieve-stream-XXXXXX";

static uint64_t mix(uint64_t i) {
    i = (i ^ (i >> 31)) * UINT64_C(0x7fb5d329728ea185);
    i = (i ^ (i >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return i ^ (i >> 33);
}

typedef enum kind { KIND_ANY, KIND_FEW, KIND_ASCENDING, KIND_DESCENDING, KIND_EQUAL, KIND_COUNT } kind;

// Bits of key i.
static uint64_t bits_of(kind k, psv_key_type type, uint64_t i, uint64_t count) {
    uint64_t bits = mix(i);
    if (k == KIND_FEW) bits %= 7;
    if (k == KIND_ASCENDING) bits = i / 3;
    if (k == KIND_DESCENDING) bits = count - i;
    if (k == KIND_EQUAL) bits = 9;
    if (type == PSV_KEY_F32) { // whole numbers: no NaN, and either sign
        const float number = (float)(int32_t)(bits % 2000001) - 1000000.0f;
        uint32_t word;
        memcpy(&word, &number, 4);
        return word;
    }
    if (type == PSV_KEY_F64) {
        const double number = (double)(int64_t)(bits % 2000001) - 1000000.0;
        memcpy(&bits, &number, 8);
    }
    return psv_key_type_bytes(type) == 4 ? bits & UINT32_MAX : bits;
}

static int compare(psv_key_type type, uint64_t a, uint64_t b) {
    double x, y;
    float u, v;
    const uint32_t short_a = (uint32_t)a, short_b = (uint32_t)b;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    memcpy(&u, &short_a, 4);
    memcpy(&v, &short_b, 4);
    switch (type) {
    case PSV_KEY_F32: return (u > v) - (u < v);
    case PSV_KEY_F64: return (x > y) - (x < y);
    case PSV_KEY_I32: return ((int32_t)short_a > (int32_t)short_b) - ((int32_t)short_a < (int32_t)short_b);
    case PSV_KEY_I64: return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    default: return (a > b) - (a < b);
    }
}

typedef struct stream_case {
    psv_key_type type;
    uint32_t value_bytes;
    kind keys;
    uint64_t count, memory;
    bool descending;
} stream_case;

static psv_stream_def def_of(const stream_case *c) {
    psv_stream_def def = psv_default_stream_def();
    def.key_type = c->type;
    def.value_bytes = c->value_bytes;
    def.memory_bytes = c->memory;
    def.descending = c->descending;
    return def;
}

static void write_input(const char *path, const stream_case *c) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint64_t i = 0; i < c->count; ++i) {
        const uint64_t key = bits_of(c->keys, c->type, i, c->count);
        (void)fwrite(&key, psv_key_type_bytes(c->type), 1, file);
        if (c->value_bytes > 0) (void)fwrite(&i, c->value_bytes, 1, file);
    }
    assert_int_equal(fclose(file), 0);
}

typedef struct oracle {
    const stream_case *c;
    uint8_t *seen;
    uint64_t at, last_key, last_value, sum;
} oracle;

static void check_next(oracle *o, uint64_t key, uint64_t value) {
    const stream_case *c = o->c;
    const int order = o->at == 0 ? -1 : (c->descending ? -1 : 1) * compare(c->type, o->last_key, key);
    if (order > 0) fail_msg("record %llu is out of order", (unsigned long long)o->at);
    if (c->value_bytes > 0) {
        assert_true(value < c->count);
        if (key != bits_of(c->keys, c->type, value, c->count))
            fail_msg("value %llu lost its key", (unsigned long long)value);
        if (o->seen[value]++ != 0) fail_msg("value %llu comes twice", (unsigned long long)value);
        if (order == 0 && value <= o->last_value) fail_msg("record %llu is not stable", (unsigned long long)o->at);
    }
    o->sum += key;
    o->last_key = key;
    o->last_value = value;
    ++o->at;
}

static void end_oracle(oracle *o) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < o->c->count; ++i)
        sum += bits_of(o->c->keys, o->c->type, i, o->c->count);
    assert_int_equal(o->at, o->c->count);
    assert_int_equal(o->sum, sum);
    free(o->seen);
}

static void check_output(const char *path, const stream_case *c) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    oracle o = {.c = c, .seen = calloc(c->count + 1, 1)};
    uint64_t key = 0, value = 0;
    while (fread(&key, psv_key_type_bytes(c->type), 1, file) == 1) {
        if (c->value_bytes > 0) assert_int_equal(fread(&value, c->value_bytes, 1, file), 1);
        check_next(&o, key, value);
    }
    (void)fclose(file);
    end_oracle(&o);
}

// Names in the test's folder that begin with a dot: temporary files.
static int count_hidden(void) {
    DIR *opened = opendir(".");
    int hidden = 0;
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;)
        hidden += strncmp(entry->d_name, ".pairsieve", 10) == 0;
    (void)closedir(opened);
    return hidden;
}

static void sort_case(const stream_case *c, uint64_t least_runs) {
    psv_stream_result result;
    const psv_stream_def def = def_of(c);
    write_input("in.bin", c);
    const psv_status status = psv_sort_file(context, &def, "in.bin", "out.bin", &result);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    assert_int_equal(result.count, c->count);
    assert_true(result.runs >= least_runs);
    check_output("out.bin", c);
    assert_int_equal(count_hidden(), 0);
}

// --- files ----------------------------------------------------------------------------------------------------------

static void files_of_all_kinds(void **state) {
    (void)state;
    const bool cpu = backend == PSV_BACKEND_CPU,
               cuda = backend == PSV_BACKEND_CUDA; // whose sorters take 1 MiB at least
    const uint64_t count = (cpu || cuda ? 400000 : 80000) / test_scale(), memory = cuda ? 3 * MIB : cpu ? 2 * MIB : MIB;
    const uint64_t runs = test_scale() > 1 ? 0 : cpu ? 3 : 2, small = cuda ? memory : MIB;
    for (int k = 0; k < KIND_COUNT; ++k) {
        sort_case(&(stream_case){PSV_KEY_U32, 4, (kind)k, count, memory, false}, runs);
        sort_case(&(stream_case){PSV_KEY_U32, 4, (kind)k, count, memory, true}, runs);
    }
    for (int type = PSV_KEY_U32; type <= PSV_KEY_F64; ++type)
        for (uint32_t bytes = 0; bytes <= 8; bytes += 4)
            sort_case(&(stream_case){(psv_key_type)type, bytes, KIND_ANY, count / 2 + 1, small, bytes == 4}, runs);
}

static void files_of_few_records(void **state) {
    (void)state;
    static const uint64_t counts[] = {0, 1, 2, 1023, 30011};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        sort_case(&(stream_case){PSV_KEY_U32, 4, KIND_ANY, counts[i], 64 * MIB, false}, 0);
}

static void output_may_be_the_input(void **state) {
    (void)state;
    const stream_case c = {PSV_KEY_U32, 4, KIND_FEW, 200000, MIB, false};
    const psv_stream_def def = def_of(&c);
    write_input("same.bin", &c);
    assert_int_equal(psv_sort_file(context, &def, "same.bin", "same.bin", NULL), PSV_OK);
    check_output("same.bin", &c);
}

static void input_may_be_a_pipe(void **state) {
    (void)state;
    const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 200000, MIB, false};
    const psv_stream_def def = def_of(&c);
    (void)unlink("pipe");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        write_input("pipe", &c);
        _exit(0);
    }
    assert_int_equal(psv_sort_file(context, &def, "pipe", "out.bin", NULL), PSV_OK);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    check_output("out.bin", &c);
}

// --- host memory ----------------------------------------------------------------------------------------------------

static void sort_host_case(const stream_case *c, uint32_t *memory) {
    const uint64_t count = c->count;
    const psv_stream_def def = def_of(c);
    for (uint64_t i = 0; i < count; ++i) {
        memory[i] = (uint32_t)bits_of(c->keys, c->type, i, count);
        memory[count + i] = (uint32_t)i;
    }
    psv_stream_result result;
    const psv_status status =
        psv_sort_host(context, &def, memory, memory + count, count, memory + 2 * count, memory + 3 * count, &result);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    assert_true(result.runs > 1 && result.rounds > 0);
    oracle o = {.c = c, .seen = calloc(count + 1, 1)};
    for (uint64_t i = 0; i < count; ++i)
        check_next(&o, memory[2 * count + i], memory[3 * count + i]);
    end_oracle(&o);
}

static void host_memory(void **state) {
    (void)state;
    const uint64_t count = 300000, many = backend == PSV_BACKEND_CUDA ? 30000000 : count; // batches beside each other
    uint32_t *memory = malloc(16 * many);
    assert_non_null(memory);
    for (int k = 0; k < KIND_COUNT; ++k) {
        sort_host_case(&(stream_case){PSV_KEY_I32, 4, (kind)k, count, MIB, k == KIND_FEW}, memory);
        if (many > count) sort_host_case(&(stream_case){PSV_KEY_U32, 4, (kind)k, many, 180 * MIB, false}, memory);
    }
    psv_stream_def keys_only = psv_default_stream_def();
    keys_only.value_bytes = 0;
    assert_int_equal(psv_sort_host(context, &keys_only, memory, NULL, 1000, memory + 2000, NULL, NULL), PSV_OK);
    assert_int_equal(psv_sort_host(context, &keys_only, memory, NULL, 1000, memory + 999, NULL, NULL),
                     PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_sort_host(context, &keys_only, NULL, NULL, 1, memory, NULL, NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_sort_host(context, &keys_only, NULL, NULL, 0, NULL, NULL, NULL), PSV_OK);
    free(memory);
}

// --- errors ---------------------------------------------------------------------------------------------------------

static void expect_old_content(void) {
    char text[16] = "";
    FILE *file = fopen("old.bin", "rb");
    assert_non_null(file);
    (void)fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    assert_string_equal(text, "old content");
    assert_int_equal(count_hidden(), 0);
}

static void errors_leave_the_output(void **state) {
    (void)state;
    const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 1000, MIB, false};
    psv_stream_def def = def_of(&c);
    FILE *file = fopen("old.bin", "wb");
    (void)fputs("old content", file);
    (void)fclose(file);
    write_input("in.bin", &c);
    assert_int_equal(psv_sort_file(context, &def, "nowhere.bin", "old.bin", NULL), PSV_ERROR_FILE);
    assert_int_equal(psv_sort_file(context, &def, ".", "old.bin", NULL), PSV_ERROR_FILE);
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "nowhere/old.bin", NULL), PSV_ERROR_FILE);
    assert_int_equal(psv_sort_file(context, &def, NULL, "old.bin", NULL), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_sort_file(context, NULL, "in.bin", "old.bin", NULL), PSV_ERROR_ARGUMENT);
    def.memory_bytes = 1000;
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_ARGUMENT);
    def = def_of(&c);
    def.method = "magic";
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_UNSUPPORTED);
    def = def_of(&c);
    def.value_bytes = 5;
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_ARGUMENT);
    def = def_of(&c);
    def.cookie = 0;
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_ARGUMENT);
    def = def_of(&c);
    assert_int_equal(truncate("in.bin", 8 * 1000 - 3), 0);
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_FORMAT);
    expect_old_content();
}

static void too_little_memory_for_the_count(void **state) {
    (void)state;
    if (test_scale() > 1) return; // writes 64 MB
    const stream_case c = {PSV_KEY_U32, 0, KIND_ASCENDING, 16000000, MIB, false};
    const psv_stream_def def = def_of(&c);
    write_input("in.bin", &c);
    const psv_status status = psv_sort_file(context, &def, "in.bin", "old.bin", NULL);
    assert_int_equal(status, PSV_ERROR_CAPACITY);
    assert_non_null(strstr(psv_last_error(context), "twice as much"));
    expect_old_content();
}

// --- a killed process -----------------------------------------------------------------------------------------------

typedef struct stop_at {
    int descriptor;
    bool merging;
    uint64_t done;
} stop_at;

// Reports to the parent once the sort is there, and waits for the end.
static void stop(void *user, const psv_stream_progress *progress) {
    const stop_at *at = user;
    if (progress->merging != at->merging || progress->done < at->done) return;
    (void)!write(at->descriptor, "x", 1);
    for (;;)
        (void)pause();
}

// A process that sorts in.bin to old.bin and stands still when it has come so far.
static pid_t begin_child(const stream_case *c, bool restart, bool merging, uint64_t done) {
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        psv_context_def own = psv_default_context_def();
        own.backend = PSV_BACKEND_CPU;
        own.worker_count = 1; // ThreadSanitizer ends a child process that starts threads
        psv_context *of_child = NULL;
        stop_at at = {ends[1], merging, done};
        psv_stream_def def = def_of(c);
        def.restart = restart;
        def.progress = stop;
        def.user = &at;
        if (psv_create_context(&own, &of_child) == PSV_OK)
            (void)psv_sort_file(of_child, &def, "in.bin", "old.bin", NULL);
        _exit(1); // was not stopped
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    return child;
}

static void end_child(pid_t child) {
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void kill_in_the_middle(const stream_case *c, bool restart, bool merging, uint64_t done) {
    end_child(begin_child(c, restart, merging, done));
}

static void killed_process_leaves_no_half_result(void **state) {
    (void)state;
    const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 200000, MIB, false};
    write_input("in.bin", &c);
    for (int part = 0; part < 3; ++part) {
        FILE *file = fopen("old.bin", "wb");
        (void)fputs("old content", file);
        (void)fclose(file);
        kill_in_the_middle(&c, false, part > 0, part == 2 ? c.count + c.count / 2 : 1);
        assert_int_equal(count_hidden(), 1); // the output's part; runs have no names
        (void)system("rm -f .pairsieve-*");  // NOLINT(cert-env33-c): of this test's folder
        expect_old_content();
    }
    const psv_stream_def def = def_of(&c);
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_OK);
    check_output("old.bin", &c);
}

// --- a later call goes on -------------------------------------------------------------------------------------------

static void remove_parts(void) {
    (void)system("rm -f .pairsieve-*.part"); // NOLINT(cert-env33-c): of this test's folder
}

// Sorts again, with the right result; how many runs were taken over.
static uint64_t sort_again(const stream_case *c, uint64_t *runs) {
    psv_stream_def def = def_of(c);
    psv_stream_result result;
    def.restart = true;
    const psv_status status = psv_sort_file(context, &def, "in.bin", "old.bin", &result);
    if (status != PSV_OK) fail_msg("%s", psv_last_error(context));
    assert_int_equal(result.count, c->count);
    check_output("old.bin", c);
    remove_parts();
    assert_int_equal(count_hidden(), 0);
    *runs = result.runs;
    return result.kept_runs;
}

static void killed_process_goes_on(void **state) {
    (void)state;
    uint64_t runs;
    for (int type = 0; type < 3; ++type) {
        static const stream_case cases[] = {{PSV_KEY_U32, 4, KIND_FEW, 200000, MIB, false},
                                            {PSV_KEY_F64, 0, KIND_ANY, 200000, MIB, false},
                                            {PSV_KEY_I32, 8, KIND_ANY, 200000, MIB, true}};
        const stream_case *c = &cases[type];
        write_input("in.bin", c);
        assert_int_equal(sort_again(c, &runs), 0); // nothing is left of a call that ended
        assert_true(runs >= 3);
        kill_in_the_middle(c, true, false, 1);
        assert_int_equal(sort_again(c, &runs), 1);
        kill_in_the_middle(c, true, false, c->count);
        assert_int_equal(sort_again(c, &runs), runs);
        kill_in_the_middle(c, true, true, c->count + c->count / 2);
        assert_int_equal(sort_again(c, &runs), runs);
        // Killed twice: the second one went on behind the first one's runs.
        kill_in_the_middle(c, true, false, 1);
        kill_in_the_middle(c, true, false, c->count / 2);
        assert_in_range(sort_again(c, &runs), 2, runs - 1);
    }
}

static void what_changed_begins_anew(void **state) {
    (void)state;
    uint64_t runs;
    const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 200000, MIB, false};
    stream_case other = c;
    write_input("in.bin", &c);
    kill_in_the_middle(&c, true, true, 1);
    other.descending = true;
    assert_int_equal(sort_again(&other, &runs), 0);
    kill_in_the_middle(&c, true, true, 1);
    other = c;
    other.keys = KIND_DESCENDING; // a file of the same size
    write_input("in.bin", &other);
    assert_int_equal(sort_again(&other, &runs), 0);
    psv_stream_def def = def_of(&c);
    def.restart = true;
    assert_int_equal(psv_sort_file(context, &def, "/dev/null", "old.bin", NULL), PSV_ERROR_UNSUPPORTED);
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "/dev/null", NULL), PSV_ERROR_UNSUPPORTED);
}

// Flips a bit of a file, from the end where `at` is negative.
static void damage(const char *path, long at) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    (void)fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

static void damaged_runs_are_left_out(void **state) {
    (void)state;
    uint64_t runs, all;
    const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 200000, MIB, false};
    write_input("in.bin", &c);
    assert_int_equal(sort_again(&c, &all), 0);
    static const struct {
        const char *file;
        long at;
        int fewer; // runs that are lost; -1: all
    } places[] = {{".pairsieve-old.bin.keys", -4, 1},   {".pairsieve-old.bin.values", -1, 1},
                  {".pairsieve-old.bin.keys", 0, -1},   {".pairsieve-old.bin.values", 1, -1},
                  {".pairsieve-old.bin.list", -8, 1},   {".pairsieve-old.bin.list", -20, 1},
                  {".pairsieve-old.bin.list", 100, -1}, {".pairsieve-old.bin.list", 0, -1}};
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        kill_in_the_middle(&c, true, true, 1);
        damage(places[p].file, places[p].at);
        const uint64_t kept = sort_again(&c, &runs);
        assert_int_equal(kept, places[p].fewer < 0 ? 0 : all - (uint64_t)places[p].fewer);
    }
    kill_in_the_middle(&c, true, true, 1);
    assert_int_equal(truncate(".pairsieve-old.bin.values", 100), 0);
    assert_int_equal(sort_again(&c, &runs), 0);
    kill_in_the_middle(&c, true, true, 1);
    assert_int_equal(unlink(".pairsieve-old.bin.keys"), 0);
    assert_int_equal(symlink("in.bin", ".pairsieve-old.bin.keys"), 0);
    psv_stream_def def = def_of(&c);
    def.restart = true;
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_FILE);
    assert_int_equal(unlink(".pairsieve-old.bin.keys"), 0);
    assert_int_equal(sort_again(&c, &runs), 0);
}

static void two_at_once_are_refused(void **state) {
    (void)state;
    uint64_t runs;
    const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 200000, MIB, false};
    write_input("in.bin", &c);
    const pid_t child = begin_child(&c, true, false, 1);
    psv_stream_def def = def_of(&c);
    def.restart = true;
    assert_int_equal(psv_sort_file(context, &def, "in.bin", "old.bin", NULL), PSV_ERROR_FILE);
    assert_non_null(strstr(psv_last_error(context), "another process"));
    end_child(child);
    assert_int_equal(sort_again(&c, &runs), 1);
}

static void progress_counts(void *user, const psv_stream_progress *progress) {
    uint64_t *last = user;
    assert_true(progress->done >= last[0] && progress->done <= progress->total);
    last[0] = progress->done;
    last[1] = progress->total;
}

static void progress_ends_at_its_total(void **state) {
    (void)state;
    for (int runs = 0; runs < 2; ++runs) {
        const stream_case c = {PSV_KEY_U32, 4, KIND_ANY, 150000, runs ? MIB : 64 * MIB, false};
        uint64_t last[2] = {0, 0};
        psv_stream_def def = def_of(&c);
        def.progress = progress_counts;
        def.user = last;
        write_input("in.bin", &c);
        assert_int_equal(psv_sort_file(context, &def, "in.bin", "out.bin", NULL), PSV_OK);
        assert_int_equal(last[0], last[1]);
        assert_int_equal(last[1], c.count * (uint64_t)(1 + runs));
    }
}

// --- the program ----------------------------------------------------------------------------------------------------

static int begin(void **state) {
    (void)state;
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    def.worker_count = 2;
    return mkdtemp(folder) == NULL || chdir(folder) != 0 || psv_create_context(&def, &context) != PSV_OK ? -1 : 0;
}

static int end(void **state) {
    (void)state;
    psv_destroy_context(context);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") != 0 || system(command) != 0 ? -1 : 0; // NOLINT(cert-env33-c)
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_all_kinds),
        cmocka_unit_test(files_of_few_records),
        cmocka_unit_test(host_memory),
        // What follows is the same on every backend.
        cmocka_unit_test(output_may_be_the_input),
        cmocka_unit_test(input_may_be_a_pipe),
        cmocka_unit_test(errors_leave_the_output),
        cmocka_unit_test(too_little_memory_for_the_count),
        cmocka_unit_test(killed_process_leaves_no_half_result),
        cmocka_unit_test(killed_process_goes_on),
        cmocka_unit_test(what_changed_begins_anew),
        cmocka_unit_test(damaged_runs_are_left_out),
        cmocka_unit_test(two_at_once_are_refused),
        cmocka_unit_test(progress_ends_at_its_total),
    };
    const struct CMUnitTest short_tests[] = {tests[0], tests[1], tests[2]};
    if (argc > 1 && psv_parse_backend(argv[1], &backend) != PSV_OK) return 2;
    if (!psv_backend_available(backend)) return 77;
    return backend == PSV_BACKEND_CPU ? cmocka_run_group_tests(tests, begin, end)
                                      : cmocka_run_group_tests(short_tests, begin, end);
}
