#include "view_driver.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#include <link.h>
#endif
#include <math.h>
#include <stb/stb_image.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 6
#define SCRIPTED 77 // `which` of our own mouse events, data1 of our own focus events

view_options driver_options(void) {
    view_options options = view_default_options();
    options.width = 192;
    options.height = 108;
    options.bodies = 300;
    options.seed = 7;
    options.has_seed = true;
    options.backend = PSV_BACKEND_CPU;
    options.headless = true;
    options.hide_hud = true;
    return options;
}

#if defined(_WIN32)
static void pin_libraries(void) {}
#else
#define PINNED_MAX 128

typedef struct loaded_names {
    char *name[PINNED_MAX];
    uint32_t count;
} loaded_names;

static int add_name(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    loaded_names *names = data;
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0' || names->count == PINNED_MAX) return 0;
    names->name[names->count] = strdup(info->dlpi_name);
    if (names->name[names->count] != NULL) names->count += 1;
    return 0;
}

// Keeps a driver's libraries loaded to the end, so that a leak of their own is reported (and suppressed) by its name.
// Opened after the walk: the walk holds the loader's inner lock, dlopen takes the outer one first, and the thread that
// loads a scene may be inside dlopen as well.
static void pin_libraries(void) {
    loaded_names names = {.count = 0};
    dl_iterate_phdr(add_name, &names);
    for (uint32_t i = 0; i < names.count; ++i) {
        (void)dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        free(names.name[i]);
    }
}
#endif

// A real pointer and a real focus (Xvfb has both, and no window manager to keep them still) must not take part.
static int drop_real_input(void *data, SDL_Event *event) {
    (void)data;
    if (event->type == SDL_WINDOWEVENT && event->window.event == SDL_WINDOWEVENT_FOCUS_LOST)
        return event->window.data1 == SCRIPTED;
    if (event->type == SDL_MOUSEMOTION) return event->motion.which == SCRIPTED;
    if (event->type == SDL_MOUSEBUTTONDOWN || event->type == SDL_MOUSEBUTTONUP) return event->button.which == SCRIPTED;
    return 1;
}

view_app *driver_open(const view_options *options) {
    view_app *app = calloc(1, sizeof *app);
    view_message message = {""};
    assert_non_null(app);
    if (!view_open_app(app, options, &message)) {
        print_message("no viewer here: %s\n", message.text);
        driver_close(app);
        return NULL;
    }
    pin_libraries();
    SDL_SetEventFilter(drop_real_input, NULL);
    if (!app->start.shown) driver_wait_load(app);
    return app;
}

void driver_close(view_app *app) {
    view_close_app(app);
    free(app);
}

void driver_turns(view_app *app, int count) {
    for (int i = 0; i < count; ++i) {
        assert_true(view_turn_app(app));
    }
}

void driver_wait_load(view_app *app) {
    for (int i = 0; i < 3000 && app->load != NULL; ++i) {
        assert_true(view_turn_app(app));
        SDL_Delay(1);
    }
    assert_null(app->load);
    assert_non_null(app->world);
}

static void push(view_app *app, SDL_Event *event) {
    event->common.timestamp = SDL_GetTicks();
    if (event->type != SDL_QUIT) event->window.windowID = SDL_GetWindowID(app->window.window);
    assert_int_equal(SDL_PushEvent(event), 1);
}

void driver_key(view_app *app, SDL_Keycode key, SDL_Keymod modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .state = SDL_PRESSED}};
    event.key.keysym.sym = key;
    event.key.keysym.scancode = SDL_GetScancodeFromKey(key);
    event.key.keysym.mod = (Uint16)modifiers;
    push(app, &event);
    event.type = SDL_KEYUP;
    event.key.state = SDL_RELEASED;
    push(app, &event);
    (void)view_turn_app(app);
}

void driver_button(view_app *app, uint8_t button, bool down, int x, int y) {
    SDL_Event event = {.button = {.type = down ? SDL_MOUSEBUTTONDOWN : SDL_MOUSEBUTTONUP, .button = button}};
    event.button.state = down ? SDL_PRESSED : SDL_RELEASED;
    event.button.which = SCRIPTED;
    event.button.x = x;
    event.button.y = y;
    push(app, &event);
    driver_turns(app, 1);
}

void driver_move(view_app *app, int x, int y, int dx, int dy) {
    SDL_Event event = {.motion = {.type = SDL_MOUSEMOTION, .which = SCRIPTED, .x = x, .y = y, .xrel = dx, .yrel = dy}};
    push(app, &event);
    driver_turns(app, 1);
}

static void press_widget(view_app *app, int x, int y) {
    driver_move(app, x, y, 1, 1);
    driver_button(app, SDL_BUTTON_LEFT, true, x, y);
    driver_button(app, SDL_BUTTON_LEFT, false, x, y);
    driver_turns(app, 1); // what it did may move the others
}

void driver_click(view_app *app, const char *name) {
    static const char *const tabs[] = {"tab cost", "tab scene", "tab methods", "tab play"};
    int x = 0, y = 0;
    for (size_t i = 0; i < sizeof tabs / sizeof *tabs && !view_hud_find(app->hud, name, &x, &y); ++i) {
        if (!view_hud_find(app->hud, tabs[i], &x, &y)) break;
        press_widget(app, x, y);
        driver_turns(app, 1); // the tab's content is laid out a frame later
    }
    if (!view_hud_find(app->hud, name, &x, &y)) fail_msg("the panel has no '%s'", name);
    press_widget(app, x, y);
}

void driver_window_event(view_app *app, uint8_t name) {
    SDL_Event event = {0};
    event.window.type = SDL_WINDOWEVENT;
    event.window.event = name;
    if (name == SDL_WINDOWEVENT_FOCUS_LOST) event.window.data1 = SCRIPTED;
    push(app, &event);
}

driver_picture driver_take(view_app *app) {
    driver_picture picture = {.width = app->renderer.targets.width, .height = app->renderer.targets.height};
    picture.pixels = malloc((size_t)picture.width * (size_t)picture.height * 3);
    assert_non_null(picture.pixels);
    view_read_picture(&app->renderer, picture.pixels);
    return picture;
}

driver_picture driver_load_png(const char *path) {
    driver_picture picture = {0};
    int channels = 0;
    picture.pixels = stbi_load(path, &picture.width, &picture.height, &channels, 3);
    return picture;
}

void driver_free(driver_picture *picture) {
    free(picture->pixels);
    picture->pixels = NULL;
}

static double block_mean(const driver_picture *picture, int left, int top, int channel) {
    double sum = 0.0;
    for (int y = top; y < top + BLOCK; ++y) {
        for (int x = left; x < left + BLOCK; ++x) {
            sum += picture->pixels[3 * ((size_t)y * (size_t)picture->width + (size_t)x) + (size_t)channel];
        }
    }
    return sum / (BLOCK * BLOCK);
}

driver_difference driver_compare(const driver_picture *a, const driver_picture *b) {
    driver_difference result = {0.0, 0.0};
    int blocks = 0;
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    for (int top = 0; top + BLOCK <= a->height; top += BLOCK) {
        for (int left = 0; left + BLOCK <= a->width; left += BLOCK) {
            double difference = 0.0;
            for (int channel = 0; channel < 3; ++channel) {
                difference += fabs(block_mean(a, left, top, channel) - block_mean(b, left, top, channel)) / 3.0;
            }
            result.mean += difference;
            result.largest = fmax(result.largest, difference);
            ++blocks;
        }
    }
    result.mean /= blocks;
    return result;
}
