// The page on which a scene is chosen: a picture, the name and a sentence of each shipped scene. The pictures are files
// of pictures/, made by viz/screenshots/make.sh --gallery; the program holds them.
#ifndef PAIRSIEVE_VIEW_START_PAGE_H
#define PAIRSIEVE_VIEW_START_PAGE_H

#include "../render/gl_util.h"

#include <SDL.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VIEW_START_SCENES 64 // most that the page shows

typedef struct view_start_scene {
    const char *name, *sentence;
    GLuint picture; // a texture; 0: there is none
} view_start_scene;

typedef struct view_start_page {
    bool shown;
    bool used;   // it was shown since the program began
    bool turned; // by a key: the chosen scene has to be in sight
    uint32_t count;
    uint32_t chosen;
    view_start_scene scenes[VIEW_START_SCENES];
} view_start_page;

// A picture file that the program holds; the list ends with a NULL name.
typedef struct view_start_picture {
    const char *name; // of the scene
    const unsigned char *bytes;
    uint32_t length;
} view_start_picture;

extern const view_start_picture view_start_pictures[];

// Shows the page. The first time it decodes the pictures; the OpenGL context is current.
void view_open_start(view_start_page *page);
void view_destroy_start(view_start_page *page);

// Arrows, Home and End move the choice in rows of so many `columns`. True when the key takes the chosen scene.
bool view_start_key(view_start_page *page, SDL_Keycode key, uint32_t columns);

#ifdef __cplusplus
}
#endif
#endif
