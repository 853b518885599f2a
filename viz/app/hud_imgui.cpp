// The panel with Dear ImGui.
#include "hud_parts.h"
#include "options.h"

#include <backends/imgui_impl_opengl3.h>
#include <backends/imgui_impl_sdl.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace {
// Lengths are for a window of this size; a smaller or larger one scales them, to a size that can be read.
const float full_width = 1280.0f, full_height = 720.0f, least_scale = 0.625f, most_scale = 4.0f;
const float panel_width = 344.0f, font_size = 13.0f, usual_dpi = 96.0f;
const float least_width = 1130.0f; // of a window that a panel of full size may cover a quarter of
} // namespace

view_hud *own_hud() { return static_cast<view_hud *>(ImGui::GetIO().UserData); }

float scaled(float length) { return length * own_hud()->scale; }

void mark(const char *name) {
    view_hud *hud = own_hud();
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    view_item item = {{}, 0.5f * (low.x + high.x), 0.5f * (low.y + high.y), 0.5f * (high.x - low.x)};
    snprintf(item.name, sizeof item.name, "%s", name);
    hud->items.push_back(item);
}

bool button(const char *name) {
    bool pressed = ImGui::Button(name);
    mark(name);
    return pressed;
}

bool checkbox(const char *name, bool on) {
    bool pressed = ImGui::Checkbox(name, &on);
    mark(name);
    return pressed;
}

// 1234567 as "1,234,567".
const char *grouped(uint64_t number, char (&text)[32]) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    int out = 0;
    for (int i = 0; i < length; ++i) {
        if (i > 0 && (length - i) % 3 == 0) text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = '\0';
    return text;
}

void explain_on_hover(const char *text) {
    if (!ImGui::IsItemHovered()) return;
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(scaled(300.0f));
    ImGui::TextUnformatted(text);
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
    snprintf(own_hud()->tip, sizeof own_hud()->tip, "%s", text);
}

void row(const char *name, uint64_t number, const char *meaning) {
    char text[32];
    char place[32];
    snprintf(place, sizeof place, "row %s", name);
    ImGui::TextDisabled("%s", name);
    mark(place);
    explain_on_hover(meaning);
    ImGui::SameLine(scaled(96.0f));
    ImGui::TextUnformatted(grouped(number, text));
}

float view_hud_scale(float width, float height, float dpi) {
    const float base = std::min(width / full_width, height / full_height);
    const float most = std::min(width, height * full_width / full_height) / least_width; // a quarter of the window
    const float scale = std::max(base, std::min(dpi / usual_dpi, most));
    return std::floor(8.0f * std::min(std::max(scale, least_scale), most_scale)) / 8.0f;
}

namespace {

void set_style(float scale) {
    ImGuiStyle &style = ImGui::GetStyle();
    style = ImGuiStyle();
    ImGui::StyleColorsDark();
    style.WindowRounding = 6.0f;
    style.FrameRounding = 3.0f;
    style.WindowBorderSize = 0.0f;
    style.WindowPadding = ImVec2(10, 9);
    style.ItemSpacing = ImVec2(6, 4);
    style.FramePadding = ImVec2(5, 2);
    style.Colors[ImGuiCol_WindowBg] = ImVec4(0.05f, 0.06f, 0.08f, 0.80f);
    style.Colors[ImGuiCol_TitleBgActive] = ImVec4(0.10f, 0.13f, 0.18f, 0.95f);
    style.Colors[ImGuiCol_FrameBg] = ImVec4(0.22f, 0.26f, 0.34f, 0.95f);
    style.Colors[ImGuiCol_Button] = ImVec4(0.20f, 0.26f, 0.36f, 0.9f);
    style.Colors[ImGuiCol_ButtonHovered] = ImVec4(0.29f, 0.40f, 0.56f, 1.0f);
    style.Colors[ImGuiCol_CheckMark] = ImVec4(0.96f, 0.67f, 0.24f, 1.0f);
    style.ScaleAllSizes(scale);
}

// Between frames: style and letters for a window of this size. Eighths, so that a drag of its edge sets few fonts.
void set_scale(view_hud *hud, ImVec2 window) {
    const float scale = view_hud_scale(window.x, window.y, hud->dpi);
    if (scale == hud->scale) return;
    hud->scale = scale;
    hud->measured = false;
    set_style(scale);
    ImFontConfig letters;
    letters.SizePixels = std::round(font_size * scale);
    ImGui::GetIO().Fonts->Clear();
    ImGui::GetIO().Fonts->AddFontDefault(&letters);
    ImGui_ImplOpenGL3_DestroyDeviceObjects(); // made again, with the letters, when the frame begins
    ImGui_ImplOpenGL3_NewFrame();
}

int choose(const char *label, const view_names &names) {
    int chosen = -1;
    const char *shown = names.current >= 0 ? names.names[names.current] : "-";
    ImGui::TextDisabled("%s", label);
    ImGui::SameLine(scaled(96.0f));
    ImGui::SetNextItemWidth(-1.0f);
    char id[40];
    snprintf(id, sizeof id, "##%s", label);
    bool open = ImGui::BeginCombo(id, shown, ImGuiComboFlags_HeightLargest); // all scenes without a scrollbar
    mark(label);
    if (!open) return chosen;
    for (uint32_t i = 0; i < names.count; ++i) {
        bool is_current = (int)i == names.current;
        if (ImGui::Selectable(names.names[i], is_current) && !is_current) chosen = (int)i;
        mark(names.names[i]);
    }
    ImGui::EndCombo();
    return chosen;
}

void cross_check(const view_hud_model &model, view_hud_actions &actions) {
    bool sampled = model.check_sampled;
    if (ImGui::Checkbox("check some pairs as it runs", &sampled)) actions.toggle_sampled = true;
    mark("check sampled");
    explain_on_hover("some bodies' boxes against all others, in at most 2% of the time");
    if (button("check pairs (X)")) actions.check = true;
    const view_check &check = *model.check;
    if (!check.done) return;
    char a[32], b[32];
    bool equal = view_check_agrees(&check);
    ImGui::SameLine();
    ImGui::TextColored(equal ? ImVec4(0.45f, 0.85f, 0.45f, 1.0f) : ImVec4(1.0f, 0.3f, 0.25f, 1.0f), "%s",
                       equal ? "equal" : "DIFFERENT");
    ImGui::Text("%s %s   %s %s", check.method, grouped(check.pairs, a), check.other, grouped(check.other_pairs, b));
    if (check.settled > 0) ImGui::Text("%s of them between bodies now asleep", grouped(check.settled, a));
}

void picked(const view_hud_model &model) {
    if (!model.has_picked) {
        ImGui::TextDisabled("click a body: its box and pairs");
        return;
    }
    const psv_aabb &box = model.picked_box;
    ImGui::TextColored(ImVec4(1.0f, 0.85f, 0.3f, 1.0f), "body %u", model.picked_slot);
    ImGui::SameLine();
    ImGui::Text("%.2f m/s", model.picked_speed);
    ImGui::Text("min %9.3f %9.3f %9.3f", box.min[0], box.min[1], box.min[2]);
    ImGui::Text("max %9.3f %9.3f %9.3f", box.max[0], box.max[1], box.max[2]);
    ImGui::Text("%llu pairs", (unsigned long long)model.partner_count);
    char line[256];
    int used = 0;
    for (uint32_t i = 0; i < model.partners_shown && used < (int)sizeof line - 16; ++i) {
        used += snprintf(line + used, sizeof line - (size_t)used, "%s%u", i > 0 ? " " : "", model.partners[i]);
    }
    if (model.partners_shown > 0)
        ImGui::TextWrapped("with %s%s", line, model.partner_count > model.partners_shown ? " ..." : "");
}

// The broad phase that ran, its route, and why not a faster one.
void runs(const psv_world_counters &counters) {
    if (counters.broad_phase == nullptr) return;
    ImGui::TextDisabled("runs");
    ImGui::SameLine(scaled(96.0f));
    if (strcmp(counters.route, counters.broad_phase) == 0)
        ImGui::TextUnformatted(counters.broad_phase);
    else if (strcmp(counters.veto, "none") == 0)
        ImGui::Text("%s, %s", counters.broad_phase, counters.route);
    else
        ImGui::Text("%s, %s (%s)", counters.broad_phase, counters.route, counters.veto);
}

void switches(const view_hud_model &model, view_hud_actions &actions) {
    actions.scene = choose("scene", model.scenes);
    actions.backend = choose("backend", model.backends);
    actions.sort = choose("sort", model.sorts);
    actions.broad_phase = choose("broad phase", model.broad_phases);
    runs(model.counters);
    if (button("explain")) actions.toggle_explanation = true;
    ImGui::SameLine();
    if (button("start page")) actions.show_start = true;
    explain_on_hover("pictures of all scenes, to choose from; the key F2, too");
    if (model.explanation[0] != '\0') { // as long as it is: with a scrollbar of its own
        ImGui::BeginChild("explanation", ImVec2(0.0f, scaled(130.0f)), true);
        ImGui::TextWrapped("%s", model.explanation);
        ImGui::EndChild();
    }
    actions.colour = choose("colour", model.colours);
    for (uint32_t i = 0; i < VIEW_OVERLAY_COUNT; ++i) {
        bool on = (model.overlays >> i & 1u) != 0;
        if (i % 3 != 0) ImGui::SameLine(scaled(i % 3 == 1 ? 96.0f : 182.0f));
        if (checkbox(view_overlay_name(i), on)) actions.toggle_overlays |= 1u << i;
    }
    if (checkbox("transparent", model.transparent)) actions.toggle_transparent = true;
    ImGui::SameLine();
    if (checkbox("shadows", model.shadows)) actions.toggle_shadows = true;
    ImGui::SameLine();
    if (checkbox("rays", model.traced != nullptr)) actions.toggle_traced = true;
}

void buttons(const view_hud_model &model, view_hud_actions &actions) {
    if (button(model.paused ? "go on" : "pause")) actions.toggle_pause = true;
    ImGui::SameLine();
    if (button("step")) actions.step = true;
    ImGui::SameLine();
    if (button("restart")) actions.restart = true;
    ImGui::SameLine();
    if (button("frame")) actions.frame_all = true;
    ImGui::SameLine();
    if (button("help")) actions.toggle_help = true;
    ImGui::SameLine();
    if (button("undo")) actions.undo = true;
    explain_on_hover("the scene as it was before your last change; Ctrl+Z");
    if (button("CSV")) actions.export_csv = true;
    ImGui::SameLine();
    if (button("trace")) actions.export_trace = true;
    ImGui::SameLine();
    if (button("picture")) actions.screenshot = true;
    ImGui::SameLine();
    if (button(model.recording ? "stop video" : "video")) actions.toggle_video = true;
}

bool slide_any(const char *name, const char *meaning, ImGuiDataType type, void *value, const void *low,
               const void *high, const char *format, ImGuiSliderFlags flags) {
    ImGui::TextDisabled("%s", name);
    ImGui::SameLine(scaled(96.0f));
    ImGui::SetNextItemWidth(-1.0f);
    char id[40];
    snprintf(id, sizeof id, "##%s", name);
    const bool changed = ImGui::SliderScalar(id, type, value, low, high, format, flags | ImGuiSliderFlags_AlwaysClamp);
    mark(name);
    explain_on_hover(meaning);
    return changed;
}

bool slide(const char *name, const char *meaning, float *value, float low, float high, const char *format) {
    return slide_any(name, meaning, ImGuiDataType_Float, value, &low, &high, format, 0);
}

// The scene begins again when the slider is let go, not at every number on the way.
void slide_bodies(const view_hud_model &model, view_hud_actions &actions) {
    const uint64_t low = 1, high = 1000000;
    uint64_t &dragged = own_hud()->dragged_bodies;
    uint64_t shown = dragged > 0 ? dragged : model.play.bodies;
    (void)slide_any("bodies", "when you let go, the scene begins again with so many; scenes of fixed parts keep theirs",
                    ImGuiDataType_U64, &shown, &low, &high, "%llu", ImGuiSliderFlags_Logarithmic);
    if (ImGui::IsItemActive()) dragged = shown;
    if (!ImGui::IsItemDeactivated()) return;
    actions.set_bodies = dragged > 0 && dragged != model.play.bodies;
    actions.play.bodies = dragged;
    dragged = 0;
}

void slide_substeps(view_hud_actions &actions) {
    const uint32_t low = 0, high = 64;
    actions.set_substeps = slide_any(
        "substeps", "solver substeps of a step, from the next one on; more make contacts stiffer and cost time",
        ImGuiDataType_U32, &actions.play.substeps, &low, &high,
        actions.play.substeps > 0 ? "%u" : "by the step's time: 960 a second", 0);
}

void sliders(const view_hud_model &model, view_hud_actions &actions) {
    view_play &play = actions.play;
    play = model.play;
    actions.set_gravity = slide("gravity", "metres a second squared, along the scene's own direction", &play.gravity,
                                -20.0f, 20.0f, "%.2f m/s2");
    actions.set_wind = slide("wind", "a sideways push on every body, in metres a second squared", &play.wind, -10.0f,
                             10.0f, "%.2f m/s2");
    actions.set_time_scale =
        slide("time", "below 1: slow motion (keys , and .)", &play.time_scale, 0.02f, 2.0f, "x %.2f");
    actions.set_friction = slide("friction", "of all shapes; 0 is ice", &play.friction, 0.0f, 1.5f,
                                 play.friction_set ? "%.2f" : "as each shape has");
    actions.set_restitution = slide("bounce", "restitution of all shapes; 1 gives back all of the speed",
                                    &play.restitution, 0.0f, 1.0f, play.restitution_set ? "%.2f" : "as each shape has");
    slide_substeps(actions);
    slide_bodies(model, actions);
}

// What the user does to the picked body, and to all of them.
void tools(const view_hud_model &model, view_hud_actions &actions) {
    if (button("pin")) actions.pin = true;
    explain_on_hover("the picked body stays where it is, whatever hits it, until it is pinned again; key L");
    ImGui::SameLine();
    if (button("paint")) actions.paint = true;
    explain_on_hover("the picked body, in another colour each time; key G");
    ImGui::SameLine();
    if (checkbox("follow", model.follow)) actions.toggle_follow = true;
    explain_on_hover("the camera goes with the picked body; key F");
    ImGui::SameLine();
    if (button("explode")) actions.explode = true;
    explain_on_hover("in the middle of the picture; key J: under the mouse");
    actions.cut_share = model.cut_share;
    actions.set_cut = slide("cut", "leaves out the bodies before a plane that faces you, to see inside; key M",
                            &actions.cut_share, 0.0f, 1.0f, model.cut_share > 0.0f ? "%.2f" : "nothing");
}

void tabs(const view_hud_model &model, view_hud_actions &actions) {
    if (!ImGui::BeginTabBar("tabs")) return;
    bool open = ImGui::BeginTabItem("cost");
    mark("tab cost");
    if (open) {
        hud_costs(model);
        ImGui::Separator();
        hud_counters(model);
        ImGui::EndTabItem();
    }
    open = ImGui::BeginTabItem("scene");
    mark("tab scene");
    if (open) {
        switches(model, actions);
        cross_check(model, actions);
        ImGui::EndTabItem();
    }
    open = ImGui::BeginTabItem("methods");
    mark("tab methods");
    if (open) {
        hud_methods(model, actions);
        ImGui::EndTabItem();
    }
    open = ImGui::BeginTabItem("play");
    mark("tab play");
    if (open) {
        buttons(model, actions);
        ImGui::Separator();
        sliders(model, actions);
        ImGui::Separator();
        tools(model, actions);
        picked(model);
        ImGui::EndTabItem();
    }
    ImGui::EndTabBar();
}

// What computes and what draws; then the tabs, each low enough for every window that the panel fits.
void panel(const view_hud_model &model, float height, view_hud_actions &actions) {
    const float edge = scaled(12.0f), width = scaled(panel_width);
    ImGui::SetNextWindowPos(ImVec2(edge, edge), ImGuiCond_Always);
    ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(width, height - 2.0f * edge));
    ImGui::SetNextWindowSize(ImVec2(width, 0), ImGuiCond_Always);
    const ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize |
                                   ImGuiWindowFlags_NoFocusOnAppearing;
    if (ImGui::Begin("pairsieve", nullptr, flags)) {
        own_hud()->scrolls = ImGui::GetScrollMaxY() > 0.0f;
        if (!model.read_only) {
            if (button("fold")) actions.toggle_fold = true;
            explain_on_hover("one line at the lower edge; the key Tab, too");
            ImGui::SameLine();
        }
        ImGui::TextUnformatted(model.device);
        ImGui::TextDisabled("drawn by %s", model.renderer);
        ImGui::TextDisabled("bodies by %s", model.transfer);
        if (model.note[0] != '\0') ImGui::TextWrapped("no interop: %s", model.note);
        if (model.read_only) {
            ImGui::Separator();
            hud_costs(model);
            ImGui::Separator();
            hud_counters(model);
        } else {
            tabs(model, actions);
        }
    }
    ImGui::End();
}

// The panel as one line at the lower edge.
void strip(const view_hud_model &model, ImVec2 window, view_hud_actions &actions) {
    ImGui::SetNextWindowPos(ImVec2(0.0f, window.y), ImGuiCond_Always, ImVec2(0.0f, 1.0f));
    ImGui::SetNextWindowSize(ImVec2(window.x, 0.0f), ImGuiCond_Always);
    const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoSavedSettings;
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0f);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(scaled(8.0f), scaled(5.0f)));
    if (ImGui::Begin("strip", nullptr, flags)) {
        if (!model.read_only) {
            if (ImGui::SmallButton("unfold")) actions.toggle_fold = true;
            mark("unfold");
            ImGui::SameLine();
        }
        hud_strip(model);
    }
    ImGui::End();
    ImGui::PopStyleVar(2);
}

void help(float width, float height) {
    static const char *const lines[] = {"P          pause, go on",
                                        "O          one step",
                                        ", .        slower, faster",
                                        "left right a frame back, on; Shift: 60",
                                        "R          restart the scene",
                                        "[ ]        previous, next scene",
                                        "Tab        panel, one line, nothing",
                                        "F1         this help; F2: start page",
                                        "Home       frame all bodies",
                                        "Space      shoot a ball",
                                        "drag       grab a body, or turn",
                                        "right drag turn; middle drag: pan",
                                        "wheel      nearer, farther",
                                        "click      pick: its box and pairs",
                                        "Ctrl+Z     undo what you changed last",
                                        "C          orbit or fly (WASD QE)",
                                        "1 to 6     boxes, pairs, cells, order, speeds, forces",
                                        "L G F      pin, paint, follow the body",
                                        "J          explode under the mouse",
                                        "M          cut open, and whole again",
                                        "V          next colour mode",
                                        "T          transparent, depth sorted",
                                        "H          shadows",
                                        "Y          ray-traced, without overlays",
                                        "N          next sorting method",
                                        "B          next broad phase",
                                        "K          next backend",
                                        "X          check the pair count",
                                        "F11        full screen",
                                        "F12        picture; F10: video",
                                        "Esc        let go; Ctrl+Q: quit"};
    ImGui::SetNextWindowPos(ImVec2(width * 0.5f, height * 0.5f), ImGuiCond_Always, ImVec2(0.5f, 0.5f));
    const ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_AlwaysAutoResize |
                                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoInputs;
    if (ImGui::Begin("help", nullptr, flags)) {
        for (const char *line : lines)
            ImGui::TextUnformatted(line);
    }
    ImGui::End();
}

void toast(const char *text, float width, float height) {
    ImGui::SetNextWindowPos(ImVec2(width * 0.5f, height - scaled(24.0f)), ImGuiCond_Always, ImVec2(0.5f, 1.0f));
    const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoInputs |
                                   ImGuiWindowFlags_NoFocusOnAppearing;
    if (ImGui::Begin("toast", nullptr, flags)) {
        ImGui::PushTextWrapPos(std::max(200.0f, width * 0.7f));
        ImGui::TextUnformatted(text);
        ImGui::PopTextWrapPos();
    }
    ImGui::End();
}

// Frames as a slider at the lower edge, beside the panel and above the line that it folds into.
void time_line(const view_hud_model &model, ImVec2 window, view_hud_actions &actions) {
    const view_time_line &line = model.line;
    const float edge = scaled(12.0f);
    const bool has_panel = model.show_panel && !model.folded, has_strip = model.show_panel && model.folded;
    const float left = has_panel ? scaled(panel_width) + 2.0f * edge : edge;
    const float low = window.y - (has_strip ? scaled(40.0f) : edge);
    ImGui::SetNextWindowPos(ImVec2(left, low), ImGuiCond_Always, ImVec2(0.0f, 1.0f));
    ImGui::SetNextWindowSize(ImVec2(window.x - left - edge, 0.0f), ImGuiCond_Always);
    const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoSavedSettings;
    if (ImGui::Begin("time", nullptr, flags)) {
        if (ImGui::Button(model.paused ? "play" : "hold")) actions.toggle_pause = true;
        mark("play or hold");
        ImGui::SameLine();
        actions.time = line.now;
        char shown[64];
        snprintf(shown, sizeof shown, "%%llu   %.2f s", (double)((float)line.now * line.frame_seconds));
        ImGui::SetNextItemWidth(-1.0f);
        actions.set_time = ImGui::SliderScalar("##time line", ImGuiDataType_U64, &actions.time, &line.first, &line.last,
                                               shown, ImGuiSliderFlags_AlwaysClamp);
        mark("time line");
        explain_on_hover("the frame; the keys left and right go by one, with Shift by a second");
    }
    ImGui::End();
}

void lay_out(const view_hud_model &model, ImVec2 window, view_hud_actions &actions) {
    if (model.start != nullptr) hud_start(model, window, actions);
    if (model.start != nullptr && (model.loading || model.toast[0] != '\0'))
        toast(model.loading ? "loading the scene ..." : model.toast, window.x, window.y);
    if (model.start != nullptr) return;
    if (model.show_panel && model.folded) strip(model, window, actions);
    if (model.show_panel && !model.folded) panel(model, window.y, actions);
    if (model.line.shown && !model.read_only) time_line(model, window, actions);
    if (model.show_help) help(window.x, window.y);
    if (model.loading) {
        toast("loading the scene ...", window.x, window.y);
    } else if (model.toast[0] != '\0') {
        toast(model.toast, window.x, window.y);
    }
}

// Pixels an inch; the usual number where the display does not say, and for a window that nobody sees.
float display_dpi(SDL_Window *window) {
    float dpi = usual_dpi;
    const bool hidden = (SDL_GetWindowFlags(window) & SDL_WINDOW_HIDDEN) != 0;
    const int display = SDL_GetWindowDisplayIndex(window);
    if (hidden || display < 0 || SDL_GetDisplayDPI(display, &dpi, nullptr, nullptr) != 0) return usual_dpi;
    return dpi > 0.0f ? dpi : usual_dpi;
}

} // namespace

view_hud *view_create_hud(SDL_Window *window, SDL_GLContext context, view_message *message) {
    ImGuiContext *imgui = ImGui::CreateContext();
    ImGui::SetCurrentContext(imgui);
    ImGui::GetIO().IniFilename = nullptr; // leaves no file behind
    if (!ImGui_ImplSDL2_InitForOpenGL(window, context)) {
        view_say(message, "the panel could not start on this window");
        ImGui::DestroyContext(imgui);
        return nullptr;
    }
    if (!ImGui_ImplOpenGL3_Init("#version 450 core")) {
        view_say(message, "the panel could not start on this OpenGL driver");
        ImGui_ImplSDL2_Shutdown();
        ImGui::DestroyContext(imgui);
        return nullptr;
    }
    view_hud *hud = new view_hud{};
    hud->context = imgui;
    hud->window = window;
    hud->dpi = display_dpi(window);
    hud->mouse = ImVec2(-FLT_MAX, -FLT_MAX);
    ImGui::GetIO().UserData = hud;
    return hud;
}

void view_destroy_hud(view_hud *hud) {
    if (hud == nullptr) return;
    ImGui::SetCurrentContext(hud->context);
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplSDL2_Shutdown();
    ImGui::DestroyContext(hud->context);
    delete hud;
}

static void follow_mouse(view_hud *hud, const SDL_Event *event) {
    if (event->type == SDL_MOUSEMOTION) hud->mouse = ImVec2((float)event->motion.x, (float)event->motion.y);
    if (event->type == SDL_WINDOWEVENT && event->window.event == SDL_WINDOWEVENT_LEAVE) {
        hud->mouse = ImVec2(-FLT_MAX, -FLT_MAX);
    }
    if (event->type != SDL_MOUSEBUTTONDOWN && event->type != SDL_MOUSEBUTTONUP) return;
    const int button = event->button.button == SDL_BUTTON_LEFT ? 0 : event->button.button == SDL_BUTTON_RIGHT ? 1 : 2;
    hud->down[button] = event->type == SDL_MOUSEBUTTONDOWN;
    hud->pressed[button] |= hud->down[button];
}

static void set_mouse(view_hud *hud) {
    ImGuiIO &io = ImGui::GetIO();
    io.MousePos = hud->mouse;
    for (int i = 0; i < 3; ++i) {
        io.MouseDown[i] = hud->down[i] || hud->pressed[i];
        hud->pressed[i] = false;
    }
}

void view_hud_event(view_hud *hud, const SDL_Event *event) {
    ImGui::SetCurrentContext(hud->context);
    follow_mouse(hud, event);
    if (event->type == SDL_WINDOWEVENT && event->window.event == SDL_WINDOWEVENT_MOVED)
        hud->dpi = display_dpi(hud->window); // of another display, maybe
    // Tab and the other keys are the viewer's own; the panel is for the mouse.
    if (event->type != SDL_KEYDOWN && event->type != SDL_KEYUP) ImGui_ImplSDL2_ProcessEvent(event);
}

bool view_hud_wants_mouse(const view_hud *hud) {
    ImGui::SetCurrentContext(hud->context);
    return ImGui::GetIO().WantCaptureMouse;
}

bool view_hud_wants_keys(const view_hud *hud) {
    ImGui::SetCurrentContext(hud->context);
    return ImGui::GetIO().WantTextInput;
}

const char *view_hud_tip(const view_hud *hud) { return hud->tip; }

bool view_hud_scrolls(const view_hud *hud) { return hud->scrolls; }

bool view_hud_find(const view_hud *hud, const char *name, int *x, int *y) {
    for (const view_item &item : hud->items) {
        if (strcmp(item.name, name) != 0) continue;
        *x = (int)item.x;
        *y = (int)item.y;
        return true;
    }
    return false;
}

void view_hud_list(const view_hud *hud, FILE *out) {
    for (const view_item &item : hud->items)
        fprintf(out, "control %d %d %d %s\n", (int)item.x, (int)item.y, (int)item.half_width, item.name);
    fprintf(out, "set tip %s\nset dpi %.0f\n", hud->tip, hud->dpi);
}

void view_draw_hud(view_hud *hud, const view_hud_model *model, int width, int height, view_hud_actions *actions) {
    ImGui::SetCurrentContext(hud->context);
    hud->items.clear();
    hud->tip[0] = '\0';
    memset(actions, 0, sizeof *actions);
    actions->open = actions->scene = actions->backend = actions->sort = actions->broad_phase = actions->colour = -1;
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplSDL2_NewFrame();
    set_mouse(hud);
    ImGuiIO &io = ImGui::GetIO();
    set_scale(hud, io.DisplaySize);
    const float scale = io.DisplaySize.x > 0.0f ? (float)width / io.DisplaySize.x : 1.0f;
    io.DisplayFramebufferScale = ImVec2(scale, scale);
    if (!hud->measured) { // a window that fits its content is invisible for a frame: until that was measured
        ImGui::NewFrame();
        lay_out(*model, io.DisplaySize, *actions);
        ImGui::EndFrame();
        hud->measured = true;
        hud->items.clear();
    }
    ImGui::NewFrame();
    lay_out(*model, io.DisplaySize, *actions);
    ImGui::Render();
    (void)height;
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}
