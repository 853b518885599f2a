// Drives the viewer in a test: turns, keys, mouse, pictures.
#ifndef PAIRSIEVE_TESTS_VIEW_DRIVER_H
#define PAIRSIEVE_TESTS_VIEW_DRIVER_H

#include "app.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// A small viewer with the panel hidden: 192x108, 300 bodies, seed 7, CPU.
view_options driver_options(void);

// Opens the viewer; the scene, or the start page, is there afterwards. NULL, with a note on stdout, where no driver
// gives OpenGL 4.5 at all.
view_app *driver_open(const view_options *options);
void driver_close(view_app *app);

void driver_turns(view_app *app, int count);                           // each must succeed
void driver_wait_load(view_app *app);                                  // turns until nothing is being loaded
void driver_key(view_app *app, SDL_Keycode key, SDL_Keymod modifiers); // press and release, then one turn
void driver_button(view_app *app, uint8_t button, bool down, int x, int y);
void driver_move(view_app *app, int x, int y, int dx, int dy);
// Clicks a widget of the panel, in whatever tab it is.
void driver_click(view_app *app, const char *name);
void driver_window_event(view_app *app, uint8_t event);

typedef struct driver_picture {
    uint8_t *pixels; // 3 bytes each
    int width, height;
} driver_picture;

driver_picture driver_take(view_app *app);
driver_picture driver_load_png(const char *path); // pixels NULL when there is none
void driver_free(driver_picture *picture);

// Mean and largest difference (0 to 255) of means over blocks of 6 x 6 pixels; rasterizers differ by a pixel here and
// there.
typedef struct driver_difference {
    double mean, largest;
} driver_difference;

driver_difference driver_compare(const driver_picture *a, const driver_picture *b);

#endif
