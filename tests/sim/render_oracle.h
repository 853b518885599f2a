// A tracer of pictures in double precision that looks at every body for every ray.
#ifndef PAIRSIEVE_RENDER_ORACLE_H
#define PAIRSIEVE_RENDER_ORACLE_H

#include <pairsieve/render.h>

typedef struct oracle_body {
    const psv_shape_def *shape;
    psv_pose pose;
} oracle_body;

typedef struct oracle_scene {
    const oracle_body *bodies; // by slot
    uint32_t count;
} oracle_scene;

typedef struct oracle_hit {
    double t;         // INFINITY: nothing
    uint32_t slot;    // PSV_NO_ITEM: nothing
    double normal[3]; // unit, against the ray
} oracle_hit;

// The first body on the ray; direction of unit length.
oracle_hit oracle_trace(const oracle_scene *scene, const double origin[3], const double direction[3]);

// The ray of a pixel, at (x, y) of it from its upper left corner.
void oracle_eye_ray(const psv_picture_def *picture, uint32_t pixel, double x, double y, double direction[3]);

// The documented random number, and the ray to the sky that is made of two of them.
double oracle_random(uint32_t seed, uint32_t frame, uint32_t pixel, uint32_t channel);
void oracle_sky_ray(const psv_picture_def *picture, uint32_t pixel, const double normal[3], double direction[3]);

#endif
