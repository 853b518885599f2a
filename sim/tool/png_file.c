// PNG (ISO 15948) with stored blocks (RFC 1951, 3.2.4) in a zlib stream (RFC 1950): one block a row.
#include "png_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct png_stream {
    FILE *file;
    uint32_t crc;
    uint32_t sum_a, sum_b; // Adler-32 of the rows
} png_stream;

static uint32_t next_crc(uint32_t crc, uint8_t byte) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
        crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    return crc;
}

static void put_bytes(png_stream *png, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i)
        png->crc = next_crc(png->crc, ((const uint8_t *)bytes)[i]);
    (void)fwrite(bytes, 1, count, png->file);
}

static void put_number(png_stream *png, uint32_t number) {
    const uint8_t bytes[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                              (uint8_t)number};
    put_bytes(png, bytes, 4);
}

static void begin_chunk(png_stream *png, const char name[5], uint32_t bytes) {
    put_number(png, bytes);
    png->crc = 0xffffffffu;
    put_bytes(png, name, 4);
}

static void end_chunk(png_stream *png) { put_number(png, ~png->crc); }

static void add_row(png_stream *png, const uint8_t *row, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i) {
        png->sum_a = (png->sum_a + row[i]) % 65521;
        png->sum_b = (png->sum_b + png->sum_a) % 65521;
    }
}

bool tool_write_png(FILE *stream, const uint8_t *pixels, uint32_t width, uint32_t height) {
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const uint8_t format[5] = {8, 2, 0, 0, 0}; // eight bits, RGB
    static const uint8_t filter = 0, zlib[2] = {0x78, 0x01};
    png_stream png = {.file = stream, .sum_a = 1};
    const uint32_t row = 3 * width + 1; // a filter's number, then the pixels
    (void)fwrite(signature, 1, sizeof signature, stream);
    begin_chunk(&png, "IHDR", 13);
    put_number(&png, width);
    put_number(&png, height);
    put_bytes(&png, format, sizeof format);
    end_chunk(&png);
    begin_chunk(&png, "IDAT", 2 + height * (5 + row) + 4);
    put_bytes(&png, zlib, sizeof zlib);
    for (uint32_t y = 0; y < height; ++y) {
        const uint8_t block[5] = {y + 1 == height, (uint8_t)row, (uint8_t)(row >> 8), (uint8_t)~row,
                                  (uint8_t)(~row >> 8)};
        const uint8_t *from = pixels + (size_t)y * 3 * width;
        put_bytes(&png, block, sizeof block);
        put_bytes(&png, &filter, 1);
        put_bytes(&png, from, 3 * (size_t)width);
        add_row(&png, &filter, 1);
        add_row(&png, from, 3 * width);
    }
    put_number(&png, png.sum_b << 16 | png.sum_a);
    end_chunk(&png);
    begin_chunk(&png, "IEND", 0);
    end_chunk(&png);
    return !ferror(stream);
}
