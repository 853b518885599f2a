// The tables at the end of a file, as numbers in little-endian order, and the sums over parts of a file.
#ifndef PAIRSIEVE_REPLAY_TABLES_H
#define PAIRSIEVE_REPLAY_TABLES_H

#include "replay.h"
#include "replay_bits.h"

#include <stdarg.h>
#include <string.h>

#define REPLAY_MAGIC "PSREPLAY"
#define REPLAY_HEAD_BYTES 16u // magic, version, 0
#define REPLAY_TAIL_BYTES 32u // offset and bytes of the tables, their sum, version, magic

static inline bool replay_fail(replay_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Says why; always false.
static inline bool replay_fail(replay_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

static inline void replay_put_u32(replay_bytes *bytes, uint32_t value) {
    uint8_t parts[4];
    for (int i = 0; i < 4; ++i)
        parts[i] = (uint8_t)(value >> 8 * i);
    replay_put_bytes(bytes, parts, 4);
}

static inline void replay_put_u64(replay_bytes *bytes, uint64_t value) {
    replay_put_u32(bytes, (uint32_t)value);
    replay_put_u32(bytes, (uint32_t)(value >> 32));
}

static inline void replay_put_floats(replay_bytes *bytes, const float *values, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &values[i], 4);
        replay_put_u32(bytes, bits);
    }
}

static inline void replay_put_text(replay_bytes *bytes, const char *text) {
    const uint32_t length = (uint32_t)strlen(text);
    replay_put_u32(bytes, length);
    replay_put_bytes(bytes, text, length);
}

// CRC-32 as zlib and PNG have it.
static inline uint32_t replay_sum(const uint8_t *data, uint64_t count) {
    uint32_t table[256], sum = ~UINT32_C(0);
    for (uint32_t i = 0; i < 256; ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit)
            table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? UINT32_C(0xEDB88320) : 0);
    }
    for (uint64_t i = 0; i < count; ++i)
        sum = (sum >> 8) ^ table[(sum ^ data[i]) & 255];
    return ~sum;
}

#endif
