#include "hull_planes.h"

#include <cglm/cglm.h>
#include <string.h>

#define SAME_NORMAL 0.99999f // cosine; of faces that meet so flatly, the picture shows no edge
#define ROOM 1.001f          // a box's faces lie in front of the hull's, as the depth test wants it

static const float *corner(const psv_shape_def *def, uint32_t triangle, uint32_t i) {
    return def->vertices + 3 * (size_t)def->indices[3 * (size_t)triangle + i];
}

static void box_of(const psv_shape_def *def, float middle[3], float half[3]) {
    for (int k = 0; k < 3; ++k) {
        float low = corner(def, 0, 0)[k], high = low;
        for (uint32_t i = 0; i < 3 * def->triangle_count; ++i) {
            low = fminf(low, corner(def, i / 3, i % 3)[k]);
            high = fmaxf(high, corner(def, i / 3, i % 3)[k]);
        }
        middle[k] = 0.5f * (low + high);
        half[k] = 0.5f * ROOM * (high - low);
    }
}

uint32_t view_hull_planes(const psv_shape_def *def, float (*rows)[4], float middle[3]) {
    uint32_t count = 1;
    box_of(def, middle, rows[0]);
    for (uint32_t i = 0; i < def->triangle_count; ++i) {
        vec3 a, ab, ac, normal;
        glm_vec3_sub((float *)corner(def, i, 0), middle, a);
        glm_vec3_sub((float *)corner(def, i, 1), (float *)corner(def, i, 0), ab);
        glm_vec3_sub((float *)corner(def, i, 2), (float *)corner(def, i, 0), ac);
        glm_vec3_cross(ab, ac, normal);
        glm_vec3_normalize(normal);
        bool known = false;
        for (uint32_t k = 1; k < count && !known; ++k)
            known = glm_vec3_dot(rows[k], normal) > SAME_NORMAL;
        if (known) continue;
        memcpy(rows[count], normal, 12);
        rows[count++][3] = glm_vec3_dot(normal, a);
    }
    rows[0][3] = (float)(count - 1);
    return count;
}
