#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool view_start_child(view_child *child, const char *const *arguments) {
    int ends[2];
    pid_t process;
    posix_spawn_file_actions_t actions;
    *child = (view_child){0};
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    const int error =
        posix_spawnp(&process, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (error != 0) {
        close(ends[1]);
        errno = error;
        return false;
    }
    *child = (view_child){.process = process, .input = ends[1]};
    signal(SIGPIPE, SIG_IGN); // a dead child is reported, it does not end us
    return true;
}

bool view_write_child(view_child *child, const void *bytes, size_t count) {
    const char *next = bytes;
    while (count > 0) {
        const ssize_t written = write((int)child->input, next, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        next += written;
        count -= (size_t)written;
    }
    return true;
}

bool view_end_child(view_child *child) {
    int status = 0;
    close((int)child->input);
    while (waitpid((pid_t)child->process, &status, 0) < 0 && errno == EINTR) {
    }
    *child = (view_child){0};
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
