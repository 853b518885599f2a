// The program's own threads: run_parallel passes tasks to the program's job system. Here that is a few POSIX threads
// that sleep when idle; the caller helps.
#include <pairsieve/sort.h>
#include <pthread.h>
#include <stdio.h>

#define COUNT 300000u
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static psv_task *job;
static void *job_data;
static uint32_t next, total, done, calls, stop, keys[COUNT];

// With the lock held. A task may take a while; the lock is open meanwhile.
static void run_tasks(void) {
    while (next < total) {
        const uint32_t index = next++;
        (void)pthread_mutex_unlock(&lock);
        job(job_data, index);
        (void)pthread_mutex_lock(&lock);
        if (++done == total) (void)pthread_cond_broadcast(&changed);
    }
}

static void *serve(void *unused) {
    (void)pthread_mutex_lock(&lock);
    while (!stop) {
        run_tasks();
        if (!stop) (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
    return unused;
}

// Returns when all tasks have returned.
static void run_parallel(psv_task *task, void *data, uint32_t count, void *user) {
    (void)user; // psv_context_def.parallel_user
    (void)pthread_mutex_lock(&lock);
    job = task, job_data = data, next = done = 0, total = count;
    ++calls;
    (void)pthread_cond_broadcast(&changed);
    run_tasks();
    while (done < total)
        (void)pthread_cond_wait(&changed, &lock);
    (void)pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&threads[i], NULL, serve, NULL) != 0) return 1;
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    context_def.worker_count = 4; // tasks at most, at a time
    context_def.run_parallel = run_parallel;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    psv_sorter_def def = psv_default_sorter_def();
    psv_sorter *sorter = NULL;
    def.max_count = COUNT;
    for (uint32_t i = 0; i < COUNT; ++i)
        keys[i] = i * 2654435761u;
    if (psv_create_sorter(context, &def, &sorter) != PSV_OK ||
        psv_sort_keys(sorter, psv_buffer_of(keys, sizeof keys), COUNT) != PSV_OK)
        return printf("%s\n", psv_last_error(context));
    uint32_t descents = 0;
    for (uint32_t i = 1; i < COUNT; ++i)
        descents += keys[i - 1] > keys[i];
    printf("%u keys sorted by %u calls of run_parallel\n", COUNT, calls);
    psv_destroy_sorter(sorter);
    psv_destroy_context(context);
    (void)pthread_mutex_lock(&lock);
    stop = 1;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; ++i)
        (void)pthread_join(threads[i], NULL);
    return descents == 0 && calls > 0 ? 0 : 1;
}
