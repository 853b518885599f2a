// Parts of the panel that its files share. C++, and of the panel alone.
#ifndef PAIRSIEVE_VIEW_HUD_PARTS_H
#define PAIRSIEVE_VIEW_HUD_PARTS_H

#include "hud.h"

#include <imgui.h>

#include <vector>

struct view_item {
    char name[32];
    float x, y, half_width;
};

struct view_hud {
    ImGuiContext *context;
    SDL_Window *window;
    float scale;                  // of all lengths; 0: not set yet
    float dpi;                    // pixels an inch of the window's display
    bool scrolls;                 // the panel is higher than the window
    char tip[256];                // explanation that is shown, or empty
    bool measured;                // the size of its windows is known
    std::vector<view_item> items; // of the last frame
    ImVec2 mouse;                 // by events: SDL's own state knows nothing of scripted ones
    bool down[3], pressed[3];     // pressed: since the last frame, however short
    uint32_t start_columns;       // of the start page
    uint64_t dragged_bodies;      // on the slider that is held; 0: it is not
};

const ImVec4 hud_orange(0.96f, 0.67f, 0.24f, 1.0f);

view_hud *own_hud(); // of the current frame

float scaled(float length);                             // a length of the full-size panel in this one
void mark(const char *name);                            // notes where the last widget lies
bool button(const char *name);                          // true when pressed
const char *grouped(uint64_t number, char (&text)[32]); // 1234567 as "1,234,567"
bool checkbox(const char *name, bool on);               // true when pressed
void row(const char *name, uint64_t number, const char *meaning);
void explain_on_hover(const char *text); // of the last widget

void hud_costs(const view_hud_model &model);                              // step, sort, plots, phases
void hud_counters(const view_hud_model &model);                           // bodies, pairs, ...
void hud_methods(const view_hud_model &model, view_hud_actions &actions); // all of them, timed
void hud_start(const view_hud_model &model, ImVec2 window, view_hud_actions &actions);
void hud_strip(const view_hud_model &model); // the same in one line, and the phases as one bar

#endif
