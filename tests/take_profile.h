// Lets a context take its device for a lesser one (device_profiles.h).
#ifndef TAKE_PROFILE_H
#define TAKE_PROFILE_H

#include "../core/context.h"
#include "device_profiles.h"

// Before any sorter or finder is made. The multiprocessors are left as they are: benchmarks compare with others' code
// on the whole device.
static inline void take_kernels_for(psvi_device_info *info, const device_profile *profile) {
    info->cluster_launch &= profile->cluster_blocks != 0;
    info->cooperative_launch &= profile->cooperative;
    if (info->shared_bytes_per_block > (int)profile->shared_kb * 1024)
        info->shared_bytes_per_block = (int)profile->shared_kb * 1024;
    if (info->code_capability > (int)profile->code) info->code_capability = (int)profile->code;
}

// The multiprocessors too.
static inline void take_device_for(psvi_device_info *info, const device_profile *profile) {
    take_kernels_for(info, profile);
    if (info->multiprocessors > (int)profile->multiprocessors) info->multiprocessors = (int)profile->multiprocessors;
}

#endif
