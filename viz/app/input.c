// Keys and mouse.
#include "app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAG_PIXELS 4.0f
#define TURN_PER_PIXEL 0.006f
#define SKIPPED_FRAMES 60 // by an arrow with Shift

float view_app_aspect(const view_app *app) {
    int width = 1, height = 1;
    SDL_GetWindowSize(app->window.window, &width, &height);
    return (float)(width > 0 ? width : 1) / (float)(height > 0 ? height : 1);
}

static void ray_at(const view_app *app, float x, float y, float direction[3]) {
    int width = 1, height = 1;
    SDL_GetWindowSize(app->window.window, &width, &height);
    view_camera_ray(&app->camera, (x + 0.5f) / (float)width, (y + 0.5f) / (float)height, view_app_aspect(app),
                    direction);
}

static void shoot(view_app *app) {
    float direction[3];
    view_message message = {""};
    if (app->scene == NULL) return;
    ray_at(app, app->mouse.x, app->mouse.y, direction);
    float radius = fmaxf(3.0f * app->model.mean_radius, 0.03f * app->model.radius);
    float speed = fmaxf(3.0f * app->model.radius, 10.0f);
    view_before_change(app, VIEW_CHANGE_SHOT);
    if (!view_shoot(&app->touch, app->world, &app->camera, direction, radius, speed, &message)) {
        view_report(app, &message);
    }
}

static void leave(view_app *app) {
    if (app->show_help) {
        app->show_help = false;
        return;
    }
    view_release(&app->touch);
    app->touch.picked = (psv_body_id){0};
}

static void toggle_full_screen(view_app *app) {
    bool full = (SDL_GetWindowFlags(app->window.window) & SDL_WINDOW_FULLSCREEN_DESKTOP) != 0;
    if (SDL_SetWindowFullscreen(app->window.window, full ? 0 : SDL_WINDOW_FULLSCREEN_DESKTOP) != 0) {
        view_toast(app, "full screen: %s", SDL_GetError());
    }
}

// Panel, one line, nothing.
static void next_panel(view_app *app) {
    if (!app->show_panel)
        app->show_panel = true, app->folded = false;
    else if (!app->folded)
        app->folded = true;
    else
        app->show_panel = false;
}

static void press_setting(view_app *app, SDL_Keycode key) {
    switch (key) {
    case SDLK_1:
    case SDLK_2:
    case SDLK_3:
    case SDLK_4:
    case SDLK_5:
    case SDLK_6: view_toggle_overlays(app, 1u << (key - SDLK_1)); break;
    case SDLK_v:
        app->colour = (view_colour_mode)((app->colour + 1) % VIEW_COLOUR_COUNT);
        view_toast(app, "colour by %s", view_colour_name(app->colour));
        break;
    case SDLK_t: app->transparent = !app->transparent; break;
    case SDLK_h: app->shadows = !app->shadows; break;
    case SDLK_y: app->ray_traced = !app->ray_traced; break;
    case SDLK_n: view_next_method(app, true); break;
    case SDLK_b: view_next_method(app, false); break;
    case SDLK_k: view_next_backend(app); break;
    case SDLK_x: view_run_check(app); break;
    case SDLK_F10: view_toggle_video(app, NULL); break;
    case SDLK_F11: toggle_full_screen(app); break;
    case SDLK_F12: app->want_screenshot = true; break;
    default: return;
    }
    app->stale = true;
}

static bool press_tool(view_app *app, SDL_Keycode key) {
    float direction[3];
    switch (key) {
    case SDLK_l: view_pin(app); return true;
    case SDLK_g: view_paint(app); return true;
    case SDLK_f: view_toggle_follow(app); return true;
    case SDLK_m: view_set_cut(app, app->cut_share > 0.0f ? 0.0f : 0.5f); return true;
    case SDLK_j:
        ray_at(app, app->mouse.x, app->mouse.y, direction);
        view_explode(app, direction);
        return true;
    default: return false;
    }
}

static void press(view_app *app, const SDL_KeyboardEvent *event) {
    bool control = (event->keysym.mod & KMOD_CTRL) != 0;
    SDL_Keycode key = event->keysym.sym;
    if (control && key == SDLK_q) app->quit = true;
    if (control && key == SDLK_z) view_undo_change(app);
    if (event->repeat != 0 && key != SDLK_o && key != SDLK_SPACE && key != SDLK_LEFT && key != SDLK_RIGHT) return;
    if (control || view_press_start(app, key)) return;
    if (press_tool(app, key)) return;
    switch (key) {
    case SDLK_p: app->paused = !app->paused; break;
    case SDLK_o:
        app->paused = true;
        app->step_once = true;
        break;
    case SDLK_r: view_start_load(app, app->scene_name, PSV_BACKEND_AUTO); break;
    case SDLK_LEFTBRACKET: view_next_scene(app, -1); break;
    case SDLK_RIGHTBRACKET: view_next_scene(app, 1); break;
    case SDLK_TAB: next_panel(app); break;
    case SDLK_COMMA: view_scale_time(app, 0.5f); break;
    case SDLK_PERIOD: view_scale_time(app, 2.0f); break;
    case SDLK_LEFT: view_move_time(app, (event->keysym.mod & KMOD_SHIFT) != 0 ? -SKIPPED_FRAMES : -1); break;
    case SDLK_RIGHT: view_move_time(app, (event->keysym.mod & KMOD_SHIFT) != 0 ? SKIPPED_FRAMES : 1); break;
    case SDLK_F2: view_show_start(app); break;
    case SDLK_F1: app->show_help = !app->show_help; break;
    case SDLK_HOME: view_frame_all(app); break;
    case SDLK_SPACE: shoot(app); break;
    case SDLK_c: app->camera.fly = !app->camera.fly; break;
    case SDLK_ESCAPE: leave(app); break;
    default: press_setting(app, key); break;
    }
}

static void button_down(view_app *app, const SDL_MouseButtonEvent *event) {
    view_mouse *mouse = &app->mouse;
    mouse->x = mouse->down_x = (float)event->x;
    mouse->y = mouse->down_y = (float)event->y;
    mouse->moved = false;
    if (event->button == SDL_BUTTON_RIGHT) mouse->right = true;
    if (event->button == SDL_BUTTON_MIDDLE) mouse->middle = true;
    if (event->button != SDL_BUTTON_LEFT) return;
    mouse->left = true;
    if (app->scene == NULL) return; // a replay's bodies stay where it has them
    float direction[3];
    ray_at(app, mouse->x, mouse->y, direction);
    app->last_change = VIEW_CHANGE_NONE;
    view_grab(&app->touch, app->world, &app->camera, direction);
}

static void button_up(view_app *app, const SDL_MouseButtonEvent *event) {
    view_mouse *mouse = &app->mouse;
    if (event->button == SDL_BUTTON_RIGHT) mouse->right = false;
    if (event->button == SDL_BUTTON_MIDDLE) mouse->middle = false;
    if (event->button != SDL_BUTTON_LEFT) return;
    mouse->left = false;
    view_release(&app->touch);
    if (mouse->moved || app->world == NULL) return;
    float direction[3], distance = 0.0f;
    ray_at(app, mouse->x, mouse->y, direction);
    app->touch.picked = view_pick(app->world, &app->camera, direction, &distance);
}

static void move_mouse(view_app *app, const SDL_MouseMotionEvent *event) {
    view_mouse *mouse = &app->mouse;
    float dx = (float)event->xrel, dy = (float)event->yrel;
    mouse->x = (float)event->x;
    mouse->y = (float)event->y;
    if (hypotf(mouse->x - mouse->down_x, mouse->y - mouse->down_y) > DRAG_PIXELS) mouse->moved = true;
    bool turn = mouse->right || (mouse->left && app->touch.grabbed.index1 == 0 && mouse->moved);
    int width = 1, height = 1;
    SDL_GetWindowSize(app->window.window, &width, &height);
    if (turn) view_camera_turn(&app->camera, -dx * TURN_PER_PIXEL, dy * TURN_PER_PIXEL);
    if (mouse->middle) view_camera_pan(&app->camera, -dx / (float)height, dy / (float)height);
}

static void let_go_of_all(view_app *app) {
    memset(&app->mouse, 0, sizeof app->mouse);
    view_release(&app->touch);
    app->focused = false;
}

static void window_event(view_app *app, const SDL_WindowEvent *event) {
    switch (event->event) {
    case SDL_WINDOWEVENT_MINIMIZED:
    case SDL_WINDOWEVENT_HIDDEN: app->minimised = !app->options.headless; break;
    case SDL_WINDOWEVENT_RESTORED:
    case SDL_WINDOWEVENT_MAXIMIZED:
    case SDL_WINDOWEVENT_SHOWN: app->minimised = false; break;
    case SDL_WINDOWEVENT_FOCUS_LOST: let_go_of_all(app); break; // no button or key stays down unseen
    case SDL_WINDOWEVENT_FOCUS_GAINED: app->focused = true; break;
    case SDL_WINDOWEVENT_CLOSE: app->quit = true; break;
    default: break;
    }
}

void view_handle_event(view_app *app, const SDL_Event *event) {
    bool panel = app->hud != NULL && !app->options.hide_hud;
    if (panel) view_hud_event(app->hud, event);
    bool mouse_free = !app->start.shown && (!panel || !view_hud_wants_mouse(app->hud));
    bool keys_free = !panel || !view_hud_wants_keys(app->hud);
    switch (event->type) {
    case SDL_QUIT: // without a window: a signal; the frame that follows is the last
        if (app->options.headless && app->world != NULL)
            app->interrupted = true;
        else
            app->quit = true;
        break;
    case SDL_WINDOWEVENT: window_event(app, &event->window); break;
    case SDL_KEYDOWN:
        if (keys_free) press(app, &event->key);
        break;
    case SDL_MOUSEBUTTONDOWN:
        if (mouse_free) button_down(app, &event->button);
        break;
    case SDL_MOUSEBUTTONUP: button_up(app, &event->button); break;
    case SDL_MOUSEMOTION: move_mouse(app, &event->motion); break;
    case SDL_MOUSEWHEEL:
        if (mouse_free) view_camera_zoom(&app->camera, (float)event->wheel.y);
        break;
    default: break;
    }
}

static void drag_grabbed(view_app *app) {
    float direction[3];
    view_message message = {""};
    if (app->touch.grabbed.index1 == 0 || app->world == NULL || !app->mouse.moved) return;
    ray_at(app, app->mouse.x, app->mouse.y, direction);
    view_before_change(app, VIEW_CHANGE_GRAB);
    if (!view_drag(&app->touch, app->world, &app->camera, direction, app->paused, &message)) view_report(app, &message);
}

void view_hold_keys(view_app *app, float seconds) {
    drag_grabbed(app);
    const uint8_t *keys = app->held_keys;
    if (!app->camera.fly || keys == NULL || !app->focused) return;
    float step = app->camera.speed * fminf(seconds, 0.1f) * (keys[SDL_SCANCODE_LSHIFT] ? 3.0f : 0.7f);
    view_camera_move(&app->camera, step * (float)(keys[SDL_SCANCODE_D] - keys[SDL_SCANCODE_A]),
                     step * (float)(keys[SDL_SCANCODE_E] - keys[SDL_SCANCODE_Q]),
                     step * (float)(keys[SDL_SCANCODE_W] - keys[SDL_SCANCODE_S]));
}
