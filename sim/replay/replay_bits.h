// Numbers as bits: Golomb-Rice codes, whose parameter follows the numbers of a column.
#ifndef PAIRSIEVE_REPLAY_BITS_H
#define PAIRSIEVE_REPLAY_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define REPLAY_MOST_ONES 20u // as many ones, and the number follows in full
#define REPLAY_FULL_BITS 53u // of such a number: what a page can compute with

typedef struct replay_bytes {
    uint8_t *data;
    uint64_t count, room;
    bool failed; // no memory: what was written since is missing
} replay_bytes;

static inline bool replay_reserve(replay_bytes *bytes, uint64_t more) {
    if (bytes->failed) return false;
    if (bytes->room - bytes->count >= more) return true;
    const uint64_t room = 2 * bytes->room + more + 256;
    uint8_t *data = realloc(bytes->data, room);
    if (data == NULL) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->room = room;
    return true;
}

static inline void replay_put_bytes(replay_bytes *bytes, const void *source, uint64_t count) {
    if (!replay_reserve(bytes, count)) return;
    for (uint64_t i = 0; i < count; ++i)
        bytes->data[bytes->count + i] = ((const uint8_t *)source)[i];
    bytes->count += count;
}

// The mean of a column's last numbers, in sixteenths, from which the length of the next code follows.
typedef struct replay_column {
    uint32_t mean16;
} replay_column;

static inline uint32_t replay_column_bits(const replay_column *column) {
    uint32_t bits = 0;
    for (uint32_t mean = (column->mean16 >> 4) + 1; mean > 1; mean >>= 1)
        ++bits;
    return bits;
}

static inline void replay_follow(replay_column *column, uint64_t number) {
    const uint32_t most = UINT32_C(1) << 20;
    column->mean16 += (number < most ? (uint32_t)number : most) - (column->mean16 >> 4);
}

static inline uint64_t replay_fold(int64_t number) { return ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0); }

static inline int64_t replay_unfold(uint64_t number) { return (int64_t)(number >> 1) ^ -(int64_t)(number & 1); }

// --- writing --------------------------------------------------------------------------------------------------------

typedef struct replay_bit_writer {
    replay_bytes *bytes;
    uint64_t held;
    uint32_t count; // of bits held, below 8 between calls
} replay_bit_writer;

// The lowest `count` bits (at most 32), the first bit lowest.
static inline void replay_put_bits(replay_bit_writer *writer, uint64_t value, uint32_t count) {
    if (!replay_reserve(writer->bytes, 8)) return;
    writer->held |= (value & ((UINT64_C(1) << count) - 1)) << writer->count;
    for (writer->count += count; writer->count >= 8; writer->count -= 8) {
        writer->bytes->data[writer->bytes->count++] = (uint8_t)writer->held;
        writer->held >>= 8;
    }
}

static inline void replay_put_number(replay_bit_writer *writer, replay_column *column, uint64_t number) {
    const uint32_t bits = replay_column_bits(column);
    const uint64_t ones = number >> bits;
    replay_follow(column, number);
    if (ones < REPLAY_MOST_ONES) {
        replay_put_bits(writer, (UINT64_C(1) << ones) - 1, (uint32_t)ones + 1);
        replay_put_bits(writer, number, bits);
        return;
    }
    replay_put_bits(writer, (UINT64_C(1) << REPLAY_MOST_ONES) - 1, REPLAY_MOST_ONES);
    replay_put_bits(writer, number, 32);
    replay_put_bits(writer, number >> 32, REPLAY_FULL_BITS - 32);
}

static inline void replay_flush_bits(replay_bit_writer *writer) {
    if (writer->count > 0) replay_put_bits(writer, 0, 8 - writer->count);
}

// --- reading --------------------------------------------------------------------------------------------------------

typedef struct replay_bit_reader {
    const uint8_t *data;
    uint64_t size, at; // bytes
    uint64_t held;
    uint32_t count;
    bool failed; // read past the end; zeros came
} replay_bit_reader;

static inline uint64_t replay_get_bits(replay_bit_reader *reader, uint32_t count) {
    while (reader->count < count) {
        if (reader->at >= reader->size) {
            reader->failed = true;
            return 0;
        }
        reader->held |= (uint64_t)reader->data[reader->at++] << reader->count;
        reader->count += 8;
    }
    const uint64_t value = reader->held & ((UINT64_C(1) << count) - 1);
    reader->held >>= count;
    reader->count -= count;
    return value;
}

static inline uint64_t replay_get_number(replay_bit_reader *reader, replay_column *column) {
    const uint32_t bits = replay_column_bits(column);
    uint64_t number = 0, ones = 0;
    while (ones < REPLAY_MOST_ONES && replay_get_bits(reader, 1) != 0)
        ++ones;
    if (ones < REPLAY_MOST_ONES) {
        number = ones << bits;
        number |= replay_get_bits(reader, bits);
    } else {
        number = replay_get_bits(reader, 32);
        number |= replay_get_bits(reader, REPLAY_FULL_BITS - 32) << 32;
    }
    replay_follow(column, number);
    return number;
}

#endif
