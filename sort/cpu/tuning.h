// Tuning constants of the CPU sorters, measured on a Zen 5 EPYC (48 KB L1, 1 MB L2 a core).
#ifndef PAIRSIEVE_SORT_CPU_TUNING_H
#define PAIRSIEVE_SORT_CPU_TUNING_H

// Elements that a thread loads, transforms and scatters at a time; the block stays in L1.
#define RADIX_BLOCK 512u

// Up to this many elements a plain insertion sort wins.
#define RADIX_INSERTION_MAX 32u

// Widest digit: 2048 counters are 8 KB.
#define RADIX_MAX_DIGIT_BITS 11u
#define RADIX_MAX_DIGITS (1u << RADIX_MAX_DIGIT_BITS)

// Elements that make a further thread worth waking. Below, one thread is nearly as fast, and does not depend on another
// one being scheduled.
#define RADIX_COUNT_PER_WORKER 49152u

// One thread's elements and their copy fit L2 up to this count: no split.
#define RADIX_CACHED_MAX 49152u

#define RADIX_MAX_WORKERS 64u

// Elements of a bucket that the splitting pass aims at (it makes a power of two of them, so up to twice this many): a
// bucket and its copy stay in L2. Of 4, 8, 12, 16 and 32 thousand, 16 is best at 1M (a third over 4) and as good at
// 10M.
#define RADIX_BUCKET_TARGET 16384u

// From this many bytes of elements on the splitting pass writes around the cache, a line at a time.
#define RADIX_STREAM_BYTES (16u << 20)
// Its lines must stay in L1: at most this many digits.
#define RADIX_STREAM_MAX_BITS 10u

// Bits looked at beyond log2(count): of uniform keys that agree in these there are few, and insertion puts them in
// order.
#define RADIX_SPARE_BITS 6u

// Cycles for an element and for a counter of one digit pass: their ratio decides between few wide and many narrow
// digits.
#define RADIX_ELEMENT_COST 5u
#define RADIX_COUNTER_COST 2u

// Merge sort: runs that insertion makes, and elements that make a further thread worth waking.
#define MERGE_INSERTION_MAX 20u
#define MERGE_COUNT_PER_WORKER 16384u

#endif
