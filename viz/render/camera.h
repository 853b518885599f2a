// The camera: orbits a target, or flies. Angles in radians, lengths in metres.
#ifndef PAIRSIEVE_VIEW_CAMERA_H
#define PAIRSIEVE_VIEW_CAMERA_H

#include <stdbool.h>

typedef struct view_camera {
    float target[3];
    float distance;
    float yaw, pitch;
    bool fly;
    float speed; // metres a second when flying
    // A plane (n, d): bodies whose middle is where n.p + d > 0 are neither drawn nor picked. All zero: none.
    float cut[4];
} view_camera;

void view_camera_look(view_camera *camera, const float eye[3], const float target[3]);
void view_camera_frame(view_camera *camera, const float centre[3], float radius, float aspect);
void view_camera_turn(view_camera *camera, float yaw, float pitch); // around the target, or around the eye in flight
void view_camera_pan(view_camera *camera, float right, float up);   // in units of the view's height
void view_camera_zoom(view_camera *camera, float steps);            // nearer for positive steps
void view_camera_move(view_camera *camera, float right, float up, float forward); // metres

void view_camera_axes(const view_camera *camera, float right[3], float up[3], float forward[3]);
void view_camera_eye(const view_camera *camera, float eye[3]);
float view_camera_near(const view_camera *camera);

#define VIEW_HALF_FIELD_TANGENT 0.41421356f // 45 degrees high

// Direction (not unit) of the ray through a point of the picture, x and y from 0 to 1, y down.
void view_camera_ray(const view_camera *camera, float x, float y, float aspect, float direction[3]);

#endif
