// Loads and stores of the solver, and what becomes of contacts without a colour.
#ifndef PAIRSIEVE_SIM_SOLVE_LOADS_CUH
#define PAIRSIEVE_SIM_SOLVE_LOADS_CUH

#include "solver_data.h"

#define REST_SCALE 4294967296.0 // fixed-point steps of a velocity: sums of integers do not depend on their order
#define REST_FIELDS 7           // 3 linear, 3 angular, and how many contacts of the rest a body has

// --- loads and stores ------------------------------------------------------------------------------------------------

__device__ static psvi_f4 f4_of(float4 q) {
    psvi_f4 r;
    r.x = q.x;
    r.y = q.y;
    r.z = q.z;
    r.w = q.w;
    return r;
}

// What is read once a pass and in a row makes room for the bodies in the caches.
__device__ static psvi_f4 load_row(const psvi_f4 *p) { return f4_of(__ldcs((const float4 *)p)); }
__device__ static void store_row(psvi_f4 *p, psvi_f4 a) { __stcs((float4 *)p, make_float4(a.x, a.y, a.z, a.w)); }
__device__ static psvi_two_bodies load_bodies(const psvi_two_bodies *p) {
    uint2 q = __ldcs((const uint2 *)p);
    psvi_two_bodies r;
    r.a = q.x;
    r.b = q.y;
    return r;
}
__device__ static psvi_f2 load_two(const psvi_f2 *p) {
    float2 q = __ldcs((const float2 *)p);
    psvi_f2 r;
    r.x = q.x;
    r.y = q.y;
    return r;
}

// Bodies lie anywhere; the second half of a record is found in the first cache.
__device__ static psvi_f4 load_any(const psvi_f4 *p) { return f4_of(*(const float4 *)p); }

// The record of each lane's body, by pairs of lanes: both lanes read one record, a half each, then the other one, so
// that a request has whole sectors. All lanes of the warp take part.
__device__ static psvi_f4 exchange(psvi_f4 a) {
    psvi_f4 r;
    r.x = __shfl_xor_sync(~0u, a.x, 1);
    r.y = __shfl_xor_sync(~0u, a.y, 1);
    r.z = __shfl_xor_sync(~0u, a.z, 1);
    r.w = __shfl_xor_sync(~0u, a.w, 1);
    return r;
}

__device__ static psvi_motion load_record(const psvi_motion *bodies, uint32_t body) {
    bool odd = (threadIdx.x & 1) != 0;
    uint32_t other = __shfl_xor_sync(~0u, body, 1);
    const float4 *even_half = (const float4 *)(bodies + (odd ? other : body)) + (odd ? 1 : 0);
    const float4 *odd_half = (const float4 *)(bodies + (odd ? body : other)) + (odd ? 1 : 0);
    psvi_f4 q0 = f4_of(__ldcg(even_half)), q1 = f4_of(__ldcg(odd_half));
    psvi_f4 got = exchange(odd ? q0 : q1);
    psvi_motion m;
    m.linear = odd ? got : q0;
    m.angular = odd ? q1 : got;
    return m;
}

// Writes the records of the lanes with `write`.
__device__ static void store_record(psvi_motion *bodies, uint32_t body, psvi_motion m, bool write) {
    bool odd = (threadIdx.x & 1) != 0;
    uint32_t other = __shfl_xor_sync(~0u, body, 1);
    bool other_writes = __shfl_xor_sync(~0u, (int)write, 1) != 0;
    psvi_f4 got = exchange(odd ? m.linear : m.angular);
    psvi_f4 q0 = odd ? got : m.linear, q1 = odd ? m.angular : got;
    float4 *even_half = (float4 *)(bodies + (odd ? other : body)) + (odd ? 1 : 0);
    float4 *odd_half = (float4 *)(bodies + (odd ? body : other)) + (odd ? 1 : 0);
    if (odd ? other_writes : write) *even_half = make_float4(q0.x, q0.y, q0.z, q0.w);
    if (odd ? write : other_writes) *odd_half = make_float4(q1.x, q1.y, q1.z, q1.w);
}

// --- contacts without a colour: mass splitting (Tonge, Benevolenski, Voroshilov 2012) --------------------------------

__device__ static void add_rest(const psvi_sim &s, uint32_t body, int field, v3 change) {
    unsigned long long *sums = (unsigned long long *)(s.rest + (uint64_t)REST_FIELDS * body + field);
    atomicAdd(sums, (unsigned long long)__double2ll_rn((double)change.x * REST_SCALE));
    atomicAdd(sums + 1, (unsigned long long)__double2ll_rn((double)change.y * REST_SCALE));
    atomicAdd(sums + 2, (unsigned long long)__double2ll_rn((double)change.z * REST_SCALE));
}

__device__ static float rest_split(const psvi_sim &s, psvi_two_bodies two, bool moving_a, bool moving_b) {
    int64_t a = moving_a ? s.rest[(uint64_t)REST_FIELDS * two.a + 6] : 1;
    int64_t b = moving_b ? s.rest[(uint64_t)REST_FIELDS * two.b + 6] : 1;
    return 1.0f / (float)(a > b ? a : b);
}

__device__ static v3 take_rest(int64_t *sums) {
    const double unit = 1.0 / REST_SCALE;
    v3 change =
        v3_make((float)((double)sums[0] * unit), (float)((double)sums[1] * unit), (float)((double)sums[2] * unit));
    sums[0] = sums[1] = sums[2] = 0;
    return change;
}

__device__ static void apply_rest(const psvi_sim &s, const psvi_solver &v, uint32_t body) {
    int64_t *sums = s.rest + (uint64_t)REST_FIELDS * body;
    if (sums[6] == 0) return;
    psvi_motion m = v.movers.motion[body];
    m.linear = f4_make(v3_add(v3_of4(m.linear), take_rest(sums)), m.linear.w);
    if (m.angular.w != 0) m.angular = f4_make(v3_add(v3_of4(m.angular), take_rest(sums + 3)), m.angular.w);
    v.movers.motion[body] = m;
}

#endif
