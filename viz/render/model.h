// What does not change every frame: the shape table, and the surfaces (planes, height fields, meshes) with their
// places.
#ifndef PAIRSIEVE_VIEW_MODEL_H
#define PAIRSIEVE_VIEW_MODEL_H

#include "gl_util.h"
#include "pairsieve/sim.h"

typedef enum view_kind {
    VIEW_KIND_NONE = 0,
    VIEW_KIND_SPHERE = 1,
    VIEW_KIND_BOX = 2,
    VIEW_KIND_CAPSULE = 3,
    VIEW_KIND_HULL = 4
} view_kind;

// As struct Part of common.glsl.
typedef struct view_part {
    float position[3], radius;
    float rotation[4];
    float size[3];
    uint32_t kind;
} view_part;

typedef enum view_surface_kind {
    VIEW_SURFACE_PLANE = 0,
    VIEW_SURFACE_HEIGHT_FIELD = 1,
    VIEW_SURFACE_MESH = 2
} view_surface_kind;

typedef struct view_surface {
    view_surface_kind kind;
    uint32_t shape;
    uint32_t geometry; // number in view_model.geometries
    uint32_t colour;   // as psv_shape_def.colour
    float position[4];
    float rotation[4];
} view_surface;

typedef struct view_geometry {
    GLuint vertex_array, vertices, indices;
    GLsizei index_count;
    uint32_t shape;
} view_geometry;

typedef struct view_model {
    GLuint shapes, parts, planes; // shader storage; planes of hulls
    uint32_t shape_count;
    uint32_t max_parts; // of one body
    bool has_clear;     // bodies whose shape has an opacity
    // bodies' parts in all: drawn as anything, as spheres, boxes (and capsules), capsules and hulls
    uint64_t list_rooms[4];
    uint64_t slots, bodies; // as scanned
    view_surface *surfaces;
    uint32_t surface_count;
    view_geometry *geometries;
    uint32_t geometry_count;
    float centre[3], radius; // of the moving bodies, as last measured
    float mean_radius;       // of a body, likewise
    float mean_mass;         // likewise
    float largest_speed;     // likewise
} view_model;

// Whether a colour has an opacity that lets something through.
static inline bool view_is_clear(uint32_t colour) { return colour != 0 && colour >> 24 < 255; }

// Reads shapes and places again where their numbers changed. Blocks when they did.
bool view_update_model(view_model *model, psv_world *world, view_message *message);

// Measures centre, radius and speeds from a sample of up to 65,536 bodies. Blocks.
bool view_measure_model(view_model *model, psv_world *world, view_message *message);
void view_destroy_model(view_model *model);

// Reads part of a world's array to the host: a copy that the caller frees, NULL when memory or the device failed.
void *view_read_array(psv_world *world, psv_buffer array, uint64_t first_byte, uint64_t bytes);

#endif
