// What benchmarks share: numbers of their command lines, a clock, and how times scatter. A word that is no number, or
// not in its range, ends the program with exit code 2 and one sentence.
#ifndef PAIRSIEVE_BENCH_NUMBERS_H
#define PAIRSIEVE_BENCH_NUMBERS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A whole number; 20K, 1M and 2G are understood.
static inline uint64_t bench_count(const char *program, const char *option, const char *text, uint64_t least,
                                   uint64_t most) {
    static const char suffixes[] = "KMG";
    char *rest = NULL;
    errno = 0;
    uint64_t value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &rest, 10) : 0;
    bool fits = rest != NULL && errno == 0;
    const char *suffix = fits && *rest != 0 ? strchr(suffixes, *rest) : NULL;
    for (long i = 0; suffix != NULL && i <= suffix - suffixes; ++i) {
        fits &= value <= UINT64_MAX / 1000;
        value *= 1000;
    }
    if (fits && rest[suffix != NULL] == 0 && value >= least && value <= most) return value;
    (void)fprintf(stderr, "%s: %s %s: a whole number from %llu to %llu is accepted\n", program, option, text,
                  (unsigned long long)least, (unsigned long long)most);
    exit(2);
}

// A number of more than 0, at most `most`.
static inline double bench_positive(const char *program, const char *option, const char *text, double most) {
    char *rest;
    const double value = strtod(text, &rest);
    if (rest != text && *rest == 0 && value > 0 && value <= most) return value;
    (void)fprintf(stderr, "%s: %s %s: a number of more than 0 and at most %g is accepted\n", program, option, text,
                  most);
    exit(2);
}

// Milliseconds of a clock that runs evenly.
static inline double bench_wall_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

// For qsort: doubles, ascending.
static inline int bench_compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// How far the times of one case lie apart: the distance of their quartiles over the median. `times` ascend.
static inline double bench_scatter(const double *times, int count) {
    if (count < 2 || !(times[count / 2] > 0)) return 0;
    return (times[(3 * count - 1) / 4] - times[count / 4]) / times[count / 2];
}

// Says on stderr that other programs run on this machine: more than 0.3 of each processor in the last minute.
static inline void bench_warn_busy(const char *program) {
#if !defined(_WIN32)
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double load = 0;
    if (getloadavg(&load, 1) == 1 && processors > 0 && load > 0.3 * (double)processors)
        (void)fprintf(stderr, "%s: other programs keep this machine busy (load %.2f a processor): times scatter\n",
                      program, load / (double)processors);
#else
    (void)program;
#endif
}

#endif
