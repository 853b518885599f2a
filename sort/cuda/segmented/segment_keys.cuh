// Kinds of keys of a segmented sort: how a key is stored, what is compared, and what is moved while a block sorts.
#ifndef PAIRSIEVE_SEGMENT_KEYS_CUH
#define PAIRSIEVE_SEGMENT_KEYS_CUH

#include "../../src/key_order.h"
#include "segment_job.h"

namespace psvi_segments {

// Compared bits and position of up to 32 bits each, in one number. No two are equal, so any sort is stable.
struct narrow_item {
    uint64_t both;
    static constexpr uint32_t PAD = 16; // one place more after so many, so that threads do not meet in banks
    __device__ static narrow_item make(uint32_t field, uint32_t position) { return {(uint64_t)field << 32 | position}; }
    __device__ static narrow_item last() { return {UINT64_MAX}; }
    __device__ bool operator<(const narrow_item &other) const { return both < other.both; }
    __device__ uint32_t position() const { return (uint32_t)both; }
};

struct __align__(16) wide_item {
    uint64_t field;
    uint32_t place, unused;
    static constexpr uint32_t PAD = 8;
    __device__ static wide_item make(uint64_t field, uint32_t position) { return {field, position, 0}; }
    __device__ static wide_item last() { return {UINT64_MAX, UINT32_MAX, 0}; }
    __device__ bool operator<(const wide_item &other) const {
        return field < other.field || (field == other.field && place < other.place);
    }
    __device__ uint32_t position() const { return place; }
};

struct key32 {
    using raw_t = uint32_t;
    using field_t = uint32_t;
    using item_t = narrow_item;
    __device__ static field_t field(raw_t raw, const psvi_segment_job &job) {
        return psvi_transform_u32(raw, job.order) >> job.order.begin_bit & (uint32_t)job.mask;
    }
};

struct key64 {
    using raw_t = uint64_t;
    using field_t = uint64_t;
    using item_t = wide_item;
    __device__ static field_t field(raw_t raw, const psvi_segment_job &job) {
        return psvi_transform_u64(raw, job.order) >> job.order.begin_bit & job.mask;
    }
};

// 64-bit keys of which at most 32 bits are compared.
struct key64_narrow {
    using raw_t = uint64_t;
    using field_t = uint32_t;
    using item_t = narrow_item;
    __device__ static field_t field(raw_t raw, const psvi_segment_job &job) { return (uint32_t)key64::field(raw, job); }
};

template <typename Key>
constexpr uint32_t block_length = PSVI_SEGMENT_BLOCK_BYTES / (uint32_t)sizeof(typename Key::item_t);

// Calls f(kind of key) and returns what it returns.
template <typename F> inline auto with_key(const psvi_segment_job &job, F f) {
    if (job.key_bytes == 4) return f(key32());
    return job.mask > UINT32_MAX ? f(key64()) : f(key64_narrow());
}

// Pieces of `size` that hold `length` elements.
__device__ __forceinline__ uint32_t pieces(uint32_t length, uint32_t size) {
    return length / size + (length % size != 0);
}

__device__ __forceinline__ uint32_t segment_count(const psvi_segment_job &job) {
    if (job.segments_device == nullptr) return (uint32_t)job.segments;
    const uint64_t given = *job.segments_device;
    return (uint32_t)(given < job.segments ? given : job.segments);
}

__device__ __forceinline__ uint64_t load_value(const psvi_segment_job &job, uint64_t at, uint32_t position) {
    if (job.implicit) return position;
    return job.value_bytes == 4 ? static_cast<const uint32_t *>(job.values)[at]
                                : static_cast<const uint64_t *>(job.values)[at];
}

__device__ __forceinline__ void store_value(const psvi_segment_job &job, uint64_t at, uint64_t value) {
    if (job.value_bytes == 4)
        static_cast<uint32_t *>(job.values)[at] = (uint32_t)value;
    else
        static_cast<uint64_t *>(job.values)[at] = value;
}

} // namespace psvi_segments

#endif
