// A program that reads our output: started by name, as the system looks programs up, with a pipe to its standard input.
// It shares our standard output and error. One file for each system: child_posix.c, child_windows.c.
#ifndef PAIRSIEVE_VIEW_CHILD_PROCESS_H
#define PAIRSIEVE_VIEW_CHILD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct view_child {
    intptr_t process; // 0: none
    intptr_t input;   // the pipe's end that we write to
} view_child;

// arguments[0] is the program; NULL ends the list. False with errno set: ENOENT where there is no such program.
bool view_start_child(view_child *child, const char *const *arguments);

// All bytes, or false with errno set: EPIPE when the program has ended or reads no more. No signal is raised.
bool view_write_child(view_child *child, const void *bytes, size_t count);

// Closes the pipe and waits for the end; *child is then none. Whether the program ended by itself with exit code 0.
bool view_end_child(view_child *child);

#endif
