// Sorts too large for the reference: checked by what a stable sort must satisfy.
#ifndef SORT_BIG_H
#define SORT_BIG_H

#include "sort_harness.h"

// 10M and 100M pairs and 2^31 + 1 keys, as far as the backend's memory reaches (on the CPU: 10M pairs).
void run_big_sorts(sort_harness *harness);

#endif
