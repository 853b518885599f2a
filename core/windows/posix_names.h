// For Windows alone, included before every file of this project (cmake/PairsieveOptions.cmake): functions of POSIX that
// mingw-w64 lacks, or has under other names. Functions do what their POSIX manual says unless a comment here says
// otherwise.
#ifndef PAIRSIEVE_POSIX_NAMES_H
#define PAIRSIEVE_POSIX_NAMES_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of sysconf: as in Linux.
#define _SC_PAGESIZE 30
#define _SC_NPROCESSORS_ONLN 84
#define _SC_PHYS_PAGES 85
#define _SC_AVPHYS_PAGES 86
long psvi_sysconf(int name);
#define sysconf(name) psvi_sysconf(name)

// Replaces an existing file, unless another program has it open.
int psvi_rename(const char *from, const char *to);
#define rename(from, to) psvi_rename(from, to)
#define fsync(descriptor) _commit(descriptor)

// For an existing file; NULL otherwise. `to` has room for PATH_MAX.
char *psvi_realpath(const char *path, char *to);
#define realpath(path, to) psvi_realpath(path, to)
#define mkdir(path, mode) _mkdir(path)
#define lstat(path, facts) stat(path, facts) // links are followed
#define fchmod(descriptor, mode) ((void)(descriptor), (void)(mode), 0)
#define fchown(descriptor, user, group) ((void)(descriptor), 0)
#define O_CLOEXEC (_O_NOINHERIT | _O_BINARY)

int psvi_setenv(const char *name, const char *value, int replace);
#define setenv(name, value, replace) psvi_setenv(name, value, replace)
#define unsetenv(name) _putenv_s(name, "")

#undef P_tmpdir
#define P_tmpdir (getenv("TEMP") != NULL ? getenv("TEMP") : ".")

// A new folder of the user's own; the last six letters of `path` are replaced.
char *psvi_mkdtemp(char *path);
#define mkdtemp(path) psvi_mkdtemp(path)

// A library of the system's folder or of the program's own.
void *psvi_dlopen(const char *name);
void *psvi_dlsym(void *library, const char *name);
#define dlopen(name, flags) psvi_dlopen(name)
#define dlsym(library, name) psvi_dlsym(library, name)

typedef _locale_t locale_t;
#define LC_ALL_MASK LC_ALL
#define newlocale(mask, name, base) ((void)(base), _create_locale(mask, name))
#define freelocale(locale) _free_locale(locale)
#define strtod_l(text, rest, locale) _strtod_l(text, rest, locale)

#ifdef __cplusplus
}
#endif
#endif
