// The header of a PLY file as read by mesh_ply_header.c, for mesh_ply.c. Not installed.
#ifndef PAIRSIEVE_SIM_MESH_PLY_H
#define PAIRSIEVE_SIM_MESH_PLY_H

#include "mesh_source.h"

#define PLY_ELEMENTS 64
#define PLY_PROPERTIES 256 // of all elements together

typedef enum ply_format { PLY_ASCII, PLY_LITTLE_ENDIAN, PLY_BIG_ENDIAN } ply_format;

typedef enum ply_type {
    PLY_NONE,
    PLY_INT8,
    PLY_UINT8,
    PLY_INT16,
    PLY_UINT16,
    PLY_INT32,
    PLY_UINT32,
    PLY_FLOAT32,
    PLY_FLOAT64
} ply_type;

typedef struct ply_property {
    psvi_word name;
    ply_type count_type; // PLY_NONE: no list
    ply_type type;
} ply_property;

typedef struct ply_element {
    psvi_word name;
    uint64_t count;
    uint32_t first_property, property_count;
} ply_element;

typedef struct ply_header {
    ply_format format;
    uint32_t element_count, property_count;
    ply_element elements[PLY_ELEMENTS];
    ply_property properties[PLY_PROPERTIES];
} ply_header;

static inline uint32_t ply_type_bytes(ply_type type) {
    static const uint8_t bytes[] = {0, 1, 1, 2, 2, 4, 4, 4, 8};
    return bytes[type];
}

static inline bool ply_is_integer(ply_type type) { return type >= PLY_INT8 && type <= PLY_UINT32; }

// Reads up to and including the line «end_header»; the source is then at the first byte of the body.
psv_status psvi_read_ply_header(psvi_mesh_source *source, ply_header *header);

#endif
