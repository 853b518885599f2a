// The CPU radix sort's way for nearly sorted input: radix_near.c.
#ifndef PAIRSIEVE_RADIX_NEAR_H
#define PAIRSIEVE_RADIX_NEAR_H

#include "radix_job.h"

// Where the input is not in order and its keys survive their transform: sorts input that is nearly sorted, or in
// descending order. False, and the input as it was, when it is neither.
bool psvi_near_sort(radix_job *job);

#endif
