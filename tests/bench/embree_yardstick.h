// Embree 3 on the rays of bench_tree; prints a line, or nothing where the build has no Embree.
#ifndef PAIRSIEVE_EMBREE_YARDSTICK_H
#define PAIRSIEVE_EMBREE_YARDSTICK_H

#include <pairsieve/tree.h>

void embree_yardstick(const float *vertices, uint32_t vertex_count, const uint32_t *indices, uint32_t count,
                      const psv_ray *primary, uint32_t primary_count, const psv_ray *shadow, uint32_t shadow_count,
                      const psv_ray *scattered, uint32_t scattered_count, int workers);

#endif
