// What posix_names.h declares.
#define WIN32_LEAN_AND_MEAN
#include <errno.h>
#include <windows.h>

long psvi_sysconf(int name) {
    SYSTEM_INFO system;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    GetSystemInfo(&system);
    if (name == _SC_NPROCESSORS_ONLN) return (long)system.dwNumberOfProcessors;
    if (name == _SC_PAGESIZE) return (long)system.dwPageSize;
    if (!GlobalMemoryStatusEx(&memory)) return -1;
    const DWORDLONG bytes = name == _SC_PHYS_PAGES ? memory.ullTotalPhys : memory.ullAvailPhys;
    return (long)(bytes / system.dwPageSize); // a `long` of 32 bits holds 8 TiB of pages
}

int psvi_rename(const char *from, const char *to) {
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) return 0;
    const DWORD error = GetLastError();
    errno = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ? ENOENT : EACCES;
    return -1;
}

char *psvi_realpath(const char *path, char *to) {
    return access(path, F_OK) == 0 ? _fullpath(to, path, PATH_MAX) : NULL;
}

int psvi_setenv(const char *name, const char *value, int replace) {
    return !replace && getenv(name) != NULL ? 0 : _putenv_s(name, value);
}

void *psvi_dlopen(const char *name) {
    const DWORD places = LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32;
    return (void *)LoadLibraryExA(name, NULL, places);
}

void *psvi_dlsym(void *library, const char *name) {
    void *address = NULL;
    const FARPROC function = GetProcAddress((HMODULE)library, name);
    memcpy(&address, &function, sizeof address); // a function's address is no object's in C
    return address;
}

char *psvi_mkdtemp(char *path) { return _mktemp(path) != NULL && _mkdir(path) == 0 ? path : NULL; }
