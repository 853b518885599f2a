// Touching the world: pick, grab, shoot.
#ifndef PAIRSIEVE_VIEW_TOUCH_H
#define PAIRSIEVE_VIEW_TOUCH_H

#include "../render/camera.h"
#include "../render/gl_util.h"
#include "pairsieve/sim.h"

#define VIEW_SHOTS 32        // bodies that shooting makes at most; then the oldest is shot again
#define VIEW_PICKED_PAIRS 64 // partners shown of the picked body

typedef struct view_picked {
    psv_body_id id; // zero: none
    psv_aabb box;
    uint32_t partners[VIEW_PICKED_PAIRS];
    uint64_t partner_count; // exact; may exceed the number shown
    float speed;
} view_picked;

typedef struct view_touch {
    psv_body_id picked;
    psv_body_id grabbed; // zero: none
    float grab_distance; // along the ray, in lengths of its direction
    psv_body_id shots[VIEW_SHOTS];
    uint64_t shot_count;
    uint32_t shot_shape; // number + 1
} view_touch;

// The body under a ray from the camera; zero id when there is none. Blocks.
psv_body_id view_pick(psv_world *world, const view_camera *camera, const float direction[3], float *distance);

// Takes hold of the body under the ray; true when there is one that can move.
bool view_grab(view_touch *touch, psv_world *world, const view_camera *camera, const float direction[3]);
// Draws the held body to the ray, by its velocity, or straight there when the world stands still.
bool view_drag(view_touch *touch, psv_world *world, const view_camera *camera, const float direction[3], bool paused,
               view_message *message);
void view_release(view_touch *touch);

// Shoots a heavy ball along the ray.
bool view_shoot(view_touch *touch, psv_world *world, const view_camera *camera, const float direction[3],
                float ball_radius, float speed, view_message *message);

// Box, speed and partners of the picked body. Blocks. False when the body is gone.
bool view_inspect(psv_world *world, psv_body_id id, view_picked *picked);

#endif
