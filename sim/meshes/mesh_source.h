// Internals of the mesh readers: a file in memory with a reading position, and a mesh that grows. Not installed.
//
// A reader trusts nothing in the file: it allocates only as much as the bytes present can describe.
#ifndef PAIRSIEVE_SIM_MESH_SOURCE_H
#define PAIRSIEVE_SIM_MESH_SOURCE_H

#include <locale.h>

#include "pairsieve/sim.h"

typedef struct psvi_mesh_source {
    psv_context *context; // takes the sentence; may be NULL
    const char *name;     // file name for sentences
    const uint8_t *begin, *at, *end;
    uint64_t line;          // of `at`, from 1; text files
    locale_t number_locale; // «C», so that a decimal point is a point
} psvi_mesh_source;

// The mesh that is read. Counts are 64-bit until psvi_finish_mesh has checked them.
typedef struct psvi_mesh_builder {
    float *positions;
    uint64_t vertex_count, vertex_room;
    uint32_t *triangles;
    uint64_t triangle_count, triangle_room;
    uint32_t *face; // corners of the face that is being read
    uint64_t corner_count, corner_room;
} psvi_mesh_builder;

// Reads a mesh from memory; `name` gives the format (its ending) where the content does not, and appears in sentences.
psv_status psvi_parse_mesh(psv_context *context, const char *name, const uint8_t *data, uint64_t size, psv_mesh *mesh);

psv_status psvi_read_ply(psvi_mesh_source *source, psvi_mesh_builder *mesh);
psv_status psvi_read_obj(psvi_mesh_source *source, psvi_mesh_builder *mesh);
// Its length is that of the triangles that it counts.
bool psvi_is_binary_stl(const psvi_mesh_source *source);
psv_status psvi_read_stl(psvi_mesh_source *source, psvi_mesh_builder *mesh);

// Fails with PSV_ERROR_FORMAT and «NAME: line L: ...» or «NAME: offset O: ...» (of the position).
psv_status psvi_fail_line(psvi_mesh_source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));
psv_status psvi_fail_offset(psvi_mesh_source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A piece of text within the file, and how to print it with «%.*s»: a damaged file may hold very long words.
typedef struct psvi_word {
    const char *text;
    uint64_t length;
} psvi_word;
#define PSVI_WORD_ARGS(word) (int)((word).length < 40 ? (word).length : 40), (word).text

bool psvi_word_is(psvi_word word, const char *text);

// The next word of the current line; length 0 at its end. Never passes the end of the line.
psvi_word psvi_next_word(psvi_mesh_source *source);
// Goes to the start of the next line («\n», «\r\n» or «\r»); false at the end of the file.
bool psvi_next_line(psvi_mesh_source *source);
// Goes to the next line that is not blank, the current one included; false when there is none.
bool psvi_skip_blank_lines(psvi_mesh_source *source);

// The whole word is a number (nan and inf too), correctly rounded to double.
bool psvi_parse_number(const psvi_mesh_source *source, psvi_word word, double *value);
// The whole word is a decimal integer that fits.
bool psvi_parse_integer(psvi_word word, int64_t *value);

psv_status psvi_add_vertex(psvi_mesh_source *source, psvi_mesh_builder *mesh, const double position[3]);
psv_status psvi_add_corner(psvi_mesh_source *source, psvi_mesh_builder *mesh, uint32_t vertex);
// Splits the corners that were added since the last face into a fan of triangles.
psv_status psvi_add_face(psvi_mesh_source *source, psvi_mesh_builder *mesh);

// Grows *array to hold at least `count` elements of `bytes` bytes.
psv_status psvi_grow_array(psvi_mesh_source *source, void **array, uint64_t *room, uint64_t count, uint64_t bytes);

#endif
