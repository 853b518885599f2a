// The CPU backend: host memory, the wall clock, and the program's threads or the context's own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/mman.h>
#endif

#include "../context.h"
#include "../portable/aligned_memory.h"
#include "workers.h"

static bool cpu_available(void) { return true; }

// Name of the processor; "CPU" where the system does not report one.
static void read_processor_name(char *name, size_t bytes) {
    (void)snprintf(name, bytes, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) != 0) continue;
        const char *colon = strchr(line, ':');
        if (colon != NULL) (void)snprintf(name, bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    (void)fclose(file);
}

static psv_status cpu_open(psv_context *context, const psv_context_def *def) {
    if (def->device != 0)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.device is %d; the CPU backend has device 0 only",
                         def->device);
    if (def->borrow_stream)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "def.borrow_stream is set; the CPU backend has no streams");
    context->worker_count = def->worker_count > 0 ? def->worker_count : psvi_count_cores();
    if (def->run_parallel == NULL) context->pool = psvi_make_pool();
    read_processor_name(context->info.name, sizeof context->info.name);
    return PSV_OK;
}

static void cpu_close(psv_context *context) { psvi_end_pool(context->pool); }

// From this size on memory is asked for in huge pages: random access to many small ones costs more than the access.
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static void *cpu_alloc(psv_context *context, uint64_t bytes) {
    (void)context;
    if (bytes > SIZE_MAX / 2) return NULL;
    if (bytes < 2 * HUGE_PAGE_BYTES) return psvi_alloc_aligned(256, (size_t)psvi_align(bytes));
    size_t whole = ((size_t)bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    void *memory = psvi_alloc_aligned(HUGE_PAGE_BYTES, whole);
#if defined(MADV_HUGEPAGE)
    if (memory != NULL) (void)madvise(memory, whole, MADV_HUGEPAGE); // a wish; nothing depends on it
#endif
    return memory;
}

static void cpu_release(psv_context *context, void *address) {
    (void)context;
    psvi_free_aligned(address);
}

static psv_status cpu_copy(psv_context *context, void *target, const void *source, uint64_t bytes,
                           psvi_copy_kind kind) {
    (void)context;
    (void)kind;
    if (bytes > 0) memmove(target, source, (size_t)bytes);
    return PSV_OK;
}

// Large memory is given back to the system, page by page, which then reads as zeros. Three marks tell whether it does:
// an allocator in the place of the C library's may have taken it from a file.
static void cpu_clear_fresh(psv_context *context, void *address, uint64_t bytes) {
    (void)context;
#if defined(MADV_DONTNEED) && defined(MADV_HUGEPAGE)
    if (bytes >= 2 * HUGE_PAGE_BYTES) {
        volatile char *first = address, *middle = first + bytes / 2, *last = first + bytes - 1;
        const size_t whole = ((size_t)bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
        *first = *middle = *last = 1;
        if (madvise(address, whole, MADV_DONTNEED) == 0 && *first == 0 && *middle == 0 && *last == 0) return;
    }
#endif
    memset(address, 0, (size_t)bytes);
}

static psv_status cpu_fill(psv_context *context, void *target, int byte, uint64_t bytes) {
    (void)context;
    if (bytes > 0) memset(target, byte, (size_t)bytes); // an empty buffer has no address
    return PSV_OK;
}

static psv_status cpu_synchronize(psv_context *context) {
    (void)context;
    return PSV_OK;
}

// The number behind `key` at a line's beginning, or alone in the file where `key` is empty; false where there is none.
static bool read_number(const char *path, const char *key, uint64_t *number) {
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *rest;
        *number = strtoull(line + strlen(key), &rest, 10);
        found = rest != line + strlen(key); // not "max"
    }
    (void)fclose(file);
    return found;
}

// Memory that a container may still take: its limit minus its use, without file caches, which the system frees.
static void bound_by_container(uint64_t *free_bytes, uint64_t *total_bytes) {
    static const char *const files[2][4] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file "},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
         "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "},
    };
    for (int version = 0; version < 2; ++version) {
        const char *const *names = files[version];
        uint64_t limit = 0, used = 0, cache = 0;
        if (!read_number(names[0], "", &limit) || !read_number(names[1], "", &used)) continue;
        if (limit >= *total_bytes) continue; // no limit is a number beyond every machine's
        (void)read_number(names[2], names[3], &cache);
        const uint64_t taken = used > cache ? used - cache : 0, left = limit > taken ? limit - taken : 0;
        *total_bytes = limit;
        if (left < *free_bytes) *free_bytes = left;
    }
}

static psv_status cpu_memory_info(psv_context *context, uint64_t *free_bytes, uint64_t *total_bytes) {
    const long page = sysconf(_SC_PAGESIZE), total = sysconf(_SC_PHYS_PAGES), unused = sysconf(_SC_AVPHYS_PAGES);
    if (page <= 0 || total <= 0 || unused < 0)
        return psvi_fail(context, PSV_ERROR_DEVICE, "the system does not tell its memory size");
    *total_bytes = (uint64_t)total * (uint64_t)page;
    // Pages that hold file caches are not unused, but can be had.
    uint64_t kilobytes;
    *free_bytes = read_number("/proc/meminfo", "MemAvailable:", &kilobytes) ? kilobytes * 1024
                                                                            : (uint64_t)unused * (uint64_t)page;
    bound_by_container(free_bytes, total_bytes);
    return PSV_OK;
}

static bool cpu_owns_address(psv_context *context, const void *address) {
    (void)context;
    return address != NULL;
}

const psvi_backend_ops psvi_cpu_ops = {
    .name = "cpu",
    .immediate = true,
    .available = cpu_available,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .clear_fresh = cpu_clear_fresh,
    .synchronize = cpu_synchronize,
    .memory_info = cpu_memory_info,
    .owns_address = cpu_owns_address,
};
