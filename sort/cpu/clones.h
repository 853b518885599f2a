// PSVI_CLONES before a function compiles it for several instruction sets and picks one at load time. So one binary uses
// the vector units that the machine has. Functions called within must be inlined to benefit.
#ifndef PAIRSIEVE_CLONES_H
#define PAIRSIEVE_CLONES_H

// Sanitizers instrument the resolvers, which run before the sanitizer does.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PSVI_CLONES
#elif defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define PSVI_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PSVI_CLONES
#endif

// Builds with sanitizers, and quick ones without optimisation: the compiler decides what it copies. Instrumented code
// is several times as long, and a file would take minutes.
#ifdef PSV_NO_FORCED_INLINING
#define PSVI_INLINE static inline __attribute__((unused))
#else
#define PSVI_INLINE static inline __attribute__((always_inline))
#endif

#endif
