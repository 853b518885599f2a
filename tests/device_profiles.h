// Devices that a test can take its own for: shared memory, clusters, cooperative launches, the architecture of the code
// and multiprocessors as such a card has them. Tests only: no program can be told to use less than it has. Kernels of
// lesser cards run on greater ones too, so that one GPU can test the code for all.
#ifndef DEVICE_PROFILES_H
#define DEVICE_PROFILES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct device_profile {
    const char *name;
    uint32_t multiprocessors;
    uint32_t shared_kb;      // of a block
    uint32_t cluster_blocks; // of the largest cluster that fits; 0: no clusters
    uint32_t code;           // 10 * major + minor
    bool cooperative;        // launches
} device_profile;

static const device_profile device_profiles[] = {
    {"turing", 68, 64, 0, 75, true},             // RTX 2080 Ti
    {"ampere", 108, 163, 0, 80, true},           // A100
    {"ampere_rtx", 84, 99, 0, 86, true},         // A40, RTX 3090
    {"ada", 142, 99, 0, 89, true},               // L40, RTX 6000 Ada
    {"hopper", 132, 227, 16, 90, true},          // H100, H200
    {"hopper_cluster_8", 114, 227, 8, 90, true}, // where clusters of 16 do not fit
    {"hopper_chained", 132, 227, 0, 90, false},  // neither clusters nor cooperative launches
    {"hopper_old_code", 132, 227, 0, 89, true},  // code for 8.9
    {"turing_chained", 68, 64, 0, 75, false},    // neither of them on a small device
    {"blackwell", 148, 227, 16, 100, true},      // B200
    {"blackwell_rtx", 170, 99, 0, 120, true},    // RTX 5090
};
#define DEVICE_PROFILES (sizeof device_profiles / sizeof *device_profiles)

// NULL for an unknown name.
static inline const device_profile *find_device_profile(const char *name) {
    for (size_t p = 0; p < DEVICE_PROFILES; ++p)
        if (strcmp(device_profiles[p].name, name) == 0) return &device_profiles[p];
    return NULL;
}

#endif
