// Names of files that a test makes: each process has its own, as the same program may run several times side by side
// (on another backend, or in a thread with other floating-point modes).
#ifndef PAIRSIEVE_TEST_OWN_FILE_H
#define PAIRSIEVE_TEST_OWN_FILE_H

#include <stdio.h>
#include <unistd.h>

// NAME.snapshot of this process, in the current folder. Valid until the next call.
static inline const char *own_snapshot(const char *name) {
    static char path[128];
    (void)snprintf(path, sizeof path, "%s_%ld.snapshot", name, (long)getpid());
    return path;
}

#endif
