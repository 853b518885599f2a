// Triangles of planes, height fields and meshes.
#ifndef PAIRSIEVE_VIEW_SURFACES_H
#define PAIRSIEVE_VIEW_SURFACES_H

#include "model.h"

// Uploads positions and normals (6 floats a vertex) with indices.
void view_upload_geometry(view_geometry *geometry, const float *vertices, uint32_t vertex_count,
                          const uint32_t *indices, uint32_t index_count);
void view_free_geometry(view_geometry *geometry);

bool view_build_height_field(view_geometry *geometry, const psv_shape_def *def);
bool view_build_mesh(view_geometry *geometry, const psv_shape_def *def);

// The part of plane `which` of `count` planes (point and normal each) that lies inside all others and within `reach` of
// `centre`, in world coordinates. Empty geometry when nothing is left.
void view_build_plane(view_geometry *geometry, const float (*points)[3], const float (*normals)[3], uint32_t count,
                      uint32_t which, const float centre[3], float reach);

#endif
