// What a fuzz target defines: called by libFuzzer, or by fuzz_driver.c where the compiler has none.
#ifndef PAIRSIEVE_FUZZ_TARGET_H
#define PAIRSIEVE_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
