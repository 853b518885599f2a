// Least and greatest field over a group of 256 threads: thread 0 gets them.
shared KEY group_low[256], group_high[256];

void reduce_range(inout KEY low, inout KEY high) {
    uint thread = gl_LocalInvocationID.x;
    group_low[thread] = low;
    group_high[thread] = high;
    barrier();
    for (uint step = 128u; step > 0u; step /= 2u) {
        if (thread < step) {
            KEY other_low = group_low[thread + step], other_high = group_high[thread + step];
            if (comes_after(group_low[thread], other_low)) group_low[thread] = other_low;
            if (comes_after(other_high, group_high[thread])) group_high[thread] = other_high;
        }
        barrier();
    }
    low = group_low[0];
    high = group_high[0];
}
