// CreateProcess and a pipe; names and arguments are in the code page of the program's own command line.
#include "child_process.h"

#define WIN32_LEAN_AND_MEAN
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define LONGEST_COMMAND 32767 // of CreateProcess, with its end

static bool failed_with(DWORD error) {
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: errno = ENOENT; break;
    case ERROR_ACCESS_DENIED: errno = EACCES; break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY: errno = ENOMEM; break;
    case ERROR_FILENAME_EXCED_RANGE: errno = E2BIG; break;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA: errno = EPIPE; break;
    case ERROR_BAD_EXE_FORMAT: errno = ENOEXEC; break;
    default: errno = EIO;
    }
    return false;
}

// Appends an argument as the C runtime of the other side takes it apart: within quotes; a quote gets a backslash, and
// backslashes before a quote are doubled. False where there is no room for it and the end.
static bool append_argument(char *command, size_t *length, const char *argument) {
    size_t at = *length, backslashes = 0;
    const size_t most = 2 * strlen(argument) + 4; // every character doubled, two quotes, a space and the end
    if (at + most > LONGEST_COMMAND) return false;
    if (at > 0) command[at++] = ' ';
    command[at++] = '"';
    for (const char *c = argument; *c != '\0'; ++c) {
        if (*c == '"') {
            for (size_t i = 0; i <= backslashes; ++i)
                command[at++] = '\\';
        }
        backslashes = *c == '\\' ? backslashes + 1 : 0;
        command[at++] = *c;
    }
    while (backslashes-- > 0)
        command[at++] = '\\';
    command[at++] = '"';
    command[at] = '\0';
    *length = at;
    return true;
}

// One command line of all arguments, to be freed; NULL with errno set.
static char *join_arguments(const char *const *arguments) {
    size_t length = 0;
    char *command = malloc(LONGEST_COMMAND);
    if (command == NULL) return NULL;
    for (size_t i = 0; arguments[i] != NULL; ++i) {
        if (append_argument(command, &length, arguments[i])) continue;
        free(command);
        errno = E2BIG;
        return NULL;
    }
    return command;
}

// The child inherits every handle that allows it: of the pipe that is its own end alone.
static bool start(char *command, HANDLE input, HANDLE *process) {
    PROCESS_INFORMATION started;
    STARTUPINFOA startup = {.cb = sizeof startup,
                            .dwFlags = STARTF_USESTDHANDLES,
                            .hStdInput = input,
                            .hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE),
                            .hStdError = GetStdHandle(STD_ERROR_HANDLE)};
    if (!SetHandleInformation(input, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) ||
        !CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &started))
        return failed_with(GetLastError());
    CloseHandle(started.hThread);
    *process = started.hProcess;
    return true;
}

bool view_start_child(view_child *child, const char *const *arguments) {
    HANDLE ours, theirs, process = NULL;
    *child = (view_child){0};
    char *command = join_arguments(arguments);
    if (command == NULL) return false;
    if (!CreatePipe(&theirs, &ours, NULL, 1u << 20)) {
        free(command);
        return failed_with(GetLastError());
    }
    const bool good = start(command, theirs, &process);
    const int error = errno;
    free(command);
    CloseHandle(theirs);
    if (good) {
        *child = (view_child){.process = (intptr_t)process, .input = (intptr_t)ours};
    } else {
        CloseHandle(ours);
        errno = error;
    }
    return good;
}

bool view_write_child(view_child *child, const void *bytes, size_t count) {
    const char *next = bytes;
    while (count > 0) {
        const DWORD part = count < 1u << 30 ? (DWORD)count : 1u << 30;
        DWORD written = 0;
        if (!WriteFile((HANDLE)child->input, next, part, &written, NULL)) return failed_with(GetLastError());
        next += written;
        count -= written;
    }
    return true;
}

bool view_end_child(view_child *child) {
    const HANDLE process = (HANDLE)child->process;
    DWORD code = 1;
    CloseHandle((HANDLE)child->input);
    if (WaitForSingleObject(process, INFINITE) != WAIT_OBJECT_0 || !GetExitCodeProcess(process, &code)) code = 1;
    CloseHandle(process);
    *child = (view_child){0};
    return code == 0;
}
