// Tuning constants of the CPU sorters, measured on two cores of a Zen 4 EPYC (32 KB L1, 1 MB L2 a core).
#ifndef PAIRSIEVE_SORT_CPU_TUNING_H
#define PAIRSIEVE_SORT_CPU_TUNING_H

// Elements that a thread loads, transforms and scatters at a time; the block stays in L1.
#define RADIX_BLOCK 512u

// Up to this many elements a plain insertion sort wins.
#define RADIX_INSERTION_MAX 32u

// Widest digit: 2048 counters are 8 KB.
#define RADIX_MAX_DIGIT_BITS 11u

// Elements that one thread sorts in L2. Up to this count it does not split: two passes through L2 and a little more
// take less than the split does. As many make a further thread worth waking: with fewer, one thread is nearly as fast
// and does not depend on another one being scheduled. A larger bucket is split as finely as a digit can.
#define RADIX_CACHED_MAX 49152u

#define RADIX_MAX_WORKERS 64u

// Above this many bytes of elements the split's places are not in L2. From 4 times as many on the output is written
// around the cache.
#define RADIX_FAR_BYTES (1u << 20)

// The splitting pass makes 2^bits buckets. It takes the fewest bits that give buckets of RADIX_BUCKET_TARGET elements,
// up to RADIX_SPLIT_BITS: then the cache lines being written, one for each bucket, stay in L1. If buckets are still 4
// times larger, which fills L2 together with a bucket's copy, it takes up to two bits more. If they are larger than
// RADIX_CACHED_MAX even so, it takes as many as a digit can have, but leaves half of RADIX_BUCKET_TARGET a bucket.
#define RADIX_BUCKET_TARGET 4096u
#define RADIX_SPLIT_BITS 8u

// Bits looked at beyond log2(count): of uniform keys that agree in these there are few, and insertion puts them in
// order.
#define RADIX_SPARE_BITS 5u

// Keys sampled to see whether there are few values, and whether the highest bits separate them.
#define RADIX_SAMPLES 256u

// A bucket with more than one in so many elements is looked at: are most of its keys equal?
#define RADIX_CROWD_SHARE 8u

// Nearly sorted input: elements of a chunk, which with a few more still are one group of codes (radix_near_kernels.h).
#define NEAR_CHUNK 224u

// Keys sampled to see whether the input is nearly sorted, and limits for it. Samples greater than the key a quarter of
// a chunk later, or a quarter of the input later: at most NEAR_APART; keys that moved too far cause these. If as many
// are greater than the next key, keys moved at all. Samples less than the previous key: at most half of NEAR_APART;
// keys far from their places cause these.
#define NEAR_SAMPLES 128u
#define NEAR_APART 8u

// A bucket with a descent in so many elements, or fewer, is left to insertion.
#define NEAR_INSERTION_SHARE 128u

// Merge sort: elements that make a further thread worth waking. Insertion makes runs of RADIX_INSERTION_MAX.
#define MERGE_COUNT_PER_WORKER 16384u

#endif
