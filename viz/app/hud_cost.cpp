// The panel's figures and plots: what a frame costs, and how much of it sorting is.
#include "hud_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

const ImU32 phase_colours[PSV_PHASE_COUNT] = {
    IM_COL32(102, 153, 204, 255), IM_COL32(120, 200, 190, 255), IM_COL32(245, 170, 60, 255),
    IM_COL32(200, 200, 110, 255), IM_COL32(225, 95, 75, 255),   IM_COL32(170, 120, 200, 255),
    IM_COL32(120, 180, 90, 255),  IM_COL32(80, 130, 230, 255),  IM_COL32(160, 160, 160, 255)};

const char *const phase_meanings[PSV_PHASE_COUNT] = {
    "bounds: the box around each body, for where it is and where it will be at the step's end",
    "keys: a number for each box, which says where along the sorted order the box lies",
    "sort: the boxes are ordered by their keys; neighbours in space become neighbours in memory",
    "gather: the boxes are copied into the sorted order",
    "sweep: each box is tested against the few boxes near it in the order; boxes that overlap are a pair",
    "events: the pairs are compared with those of the last frame: which began, which ended",
    "narrow: the exact shapes of each pair: where they touch, and how deep",
    "solve: impulses that hold bodies apart, with friction",
    "integrate: bodies move by their velocities; bodies that rest fall asleep"};

const double plot_seconds = 8.0, figure_seconds = 1.0; // figures are medians of the last second

// Of the step, in hundredths; one decimal where it is small.
const char *share_text(double sort, double step, char (&text)[16]) {
    const double share = step > 0.0 ? 100.0 * sort / step : 0.0;
    snprintf(text, sizeof text, "%.*f%%", share < 10.0 ? 1 : 0, share);
    return text;
}

double figure(const view_history &history, int what) {
    return view_quantile(&history, view_recent_count(&history, figure_seconds), what, 0.5);
}

// One bar a frame, a piece a phase, newest at the right. A frame that took far longer than others is cut off.
void plot(const view_history &history) {
    const ImVec2 size(ImGui::GetContentRegionAvail().x, scaled(72.0f));
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImDrawList *list = ImGui::GetWindowDrawList();
    ImGui::Dummy(size);
    mark("phase plot");
    explain_on_hover("one bar a frame, newest at the right: how long each phase of the step took");
    list->AddRectFilled(corner, ImVec2(corner.x + size.x, corner.y + size.y), IM_COL32(12, 14, 18, 220), 3.0f);
    const float bar = std::max(1.0f, std::round(scaled(2.0f)));
    const uint64_t columns = (uint64_t)(size.x / bar);
    const uint64_t shown = std::min<uint64_t>(std::min<uint64_t>(history.count, VIEW_HISTORY), columns);
    const double most = std::max(1.0e-3, 1.25 * view_quantile(&history, shown, VIEW_OF_PHASES, 0.95));
    for (uint64_t i = 0; i < shown; ++i) {
        const view_sample &sample = history.samples[(history.count - 1 - i) % VIEW_HISTORY];
        float x = corner.x + size.x - bar * (float)(i + 1);
        float y = corner.y + size.y;
        for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase) {
            float height = (float)(sample.profile.phase_ms[phase] / most) * size.y;
            height = std::min(height, y - corner.y);
            if (height <= 0.0f) continue;
            list->AddRectFilled(ImVec2(x, y - height), ImVec2(x + bar, y), phase_colours[phase]);
            y -= height;
        }
    }
    char scale[32];
    snprintf(scale, sizeof scale, "%.3g ms", most);
    list->AddText(ImVec2(corner.x + 4.0f, corner.y + 2.0f), IM_COL32(200, 200, 200, 200), scale);
}

// The sort's cost over the last seconds.
void sort_curve(const view_history &history) {
    const uint64_t count = view_recent_count(&history, plot_seconds);
    const double usual = view_quantile(&history, count, PSV_PHASE_SORT, 0.95);
    std::vector<float> values(count);
    for (uint64_t i = 0; i < count; ++i)
        values[i] = (float)history.samples[(history.count - count + i) % VIEW_HISTORY].profile.phase_ms[PSV_PHASE_SORT];
    char text[64];
    snprintf(text, sizeof text, "sort, last %.0f s: to %.3g ms", plot_seconds, 1.25 * usual);
    ImGui::PushStyleColor(ImGuiCol_PlotLines, hud_orange);
    ImGui::PlotLines("##sort", values.data(), (int)count, 0, text, 0.0f, (float)std::max(1.0e-4, 1.25 * usual),
                     ImVec2(ImGui::GetContentRegionAvail().x, scaled(44.0f)));
    ImGui::PopStyleColor();
    mark("sort curve");
}

void legend(const view_history &history) {
    if (!ImGui::BeginTable("phases", 3, ImGuiTableFlags_SizingFixedFit)) return;
    for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase) {
        ImGui::TableNextColumn();
        ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::GetWindowDrawList()->AddRectFilled(
            ImVec2(at.x, at.y + scaled(3.0f)), ImVec2(at.x + scaled(8.0f), at.y + scaled(11.0f)), phase_colours[phase]);
        ImGui::SetCursorPosX(ImGui::GetCursorPosX() + scaled(12.0f));
        const char *name = psv_phase_name((psv_phase)phase);
        const double ms = figure(history, phase);
        if (ms > 0.0) {
            int decimals = ms < 10.0 ? 2 : ms < 100.0 ? 1 : 0; // a column is as wide as that
            ImGui::Text("%s %.*f", name, decimals, ms);
        } else {
            ImGui::TextDisabled("%s -", name);
        }
        char place[32];
        snprintf(place, sizeof place, "phase %s", name);
        mark(place);
        explain_on_hover(phase_meanings[phase]);
    }
    ImGui::EndTable();
}

// What the ray-traced picture cost.
void traced(const view_hud_model &model) {
    const psv_render_statistics &s = *model.traced;
    ImGui::Text("rays %.2f ms, %u x %u", s.frame_ms, model.traced_width, model.traced_height);
    ImGui::TextColored(hud_orange, "sort %.3f ms (%.1f%% of the rays' picture)", s.sort_ms, 100.0 * s.sort_share);
    ImGui::Text("bounds, keys %.3f  build %.3f ms", s.bounds_ms + s.keys_ms, s.build_ms);
    ImGui::Text("trace %.2f  filter %.2f ms", s.trace_ms, s.filter_ms);
    ImGui::Text("%.1f million rays a second", s.rays_per_second * 1.0e-6);
    if (s.added_up > 1) ImGui::Text("%u pictures added up", s.added_up);
}

// What the world's own checks of its pairs found.
void sampled_check(const psv_world_check &check) {
    if (check.steps == 0) return;
    row("checked", check.boxes, "boxes whose pairs were compared with a test against all boxes");
    if (check.missing + check.extra == 0) return;
    ImGui::TextColored(ImVec4(1.0f, 0.3f, 0.25f, 1.0f), "step %llu: pair %u, %u %s",
                       (unsigned long long)check.first_step, check.first.a, check.first.b,
                       check.first_is_missing ? "is missing" : "is too many");
}

// The phases as one bar, each as wide as its share, with its name where there is room.
void phase_bar(const view_history &history, float width, float height) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImDrawList *list = ImGui::GetWindowDrawList();
    double sum = 0.0, ms[PSV_PHASE_COUNT];
    for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase)
        sum += ms[phase] = figure(history, phase);
    float x = corner.x;
    for (int phase = 0; phase < PSV_PHASE_COUNT && sum > 0.0; ++phase) {
        const float wide = (float)(ms[phase] / sum) * width;
        if (wide < 1.0f) continue;
        const char *name = psv_phase_name((psv_phase)phase);
        list->AddRectFilled(ImVec2(x, corner.y), ImVec2(x + wide, corner.y + height), phase_colours[phase]);
        const ImVec2 letters = ImGui::CalcTextSize(name);
        if (letters.x + scaled(4.0f) < wide) {
            const ImVec2 at(x + 0.5f * (wide - letters.x), corner.y + 0.5f * (height - letters.y));
            list->AddText(at, IM_COL32(16, 16, 20, 255), name);
        }
        if (ImGui::IsMouseHoveringRect(ImVec2(x, corner.y), ImVec2(x + wide, corner.y + height)))
            ImGui::SetTooltip("%s", phase_meanings[phase]);
        x += wide;
    }
    ImGui::Dummy(ImVec2(width, height));
    mark("phase bar");
}

} // namespace

void hud_costs(const view_hud_model &model) {
    char share[16];
    if (model.history->count == 0) {
        ImGui::TextDisabled("no frame yet");
        return;
    }
    const double step = figure(*model.history, VIEW_OF_STEP), sort = figure(*model.history, PSV_PHASE_SORT);
    ImGui::Text("step %.3f ms", step);
    mark("step time");
    explain_on_hover("one step of the simulation: all phases below. Figures are medians of the last second");
    ImGui::SameLine(scaled(150.0f));
    ImGui::TextColored(hud_orange, "sort %.3f ms (%s)", sort, share_text(sort, step, share));
    mark("sort share");
    explain_on_hover("ordering the boxes, and its share of the step");
    if (!model.read_only || model.draw_ms > 0.0) { // known once a picture was drawn before this one
        ImGui::Text("draw %.3f ms", model.draw_ms);
        ImGui::SameLine(scaled(150.0f));
    }
    ImGui::Text("frame %.1f ms", figure(*model.history, VIEW_OF_FRAME));
    if (model.ordering) ImGui::Text("depth sort of all bodies %.3f ms", model.order_ms);
    plot(*model.history);
    sort_curve(*model.history);
    legend(*model.history);
    if (model.traced != nullptr) traced(model);
}

void hud_counters(const view_hud_model &model) {
    char a[32], b[32];
    row("frame", model.counters.frame, "steps since the scene began");
    row("bodies", model.counters.bodies, "bodies of the scene, those that never move included");
    row("pairs", model.counters.pairs, "boxes that overlap: each pair once, none missing");
    row("contacts", model.counters.contacts, "points at which bodies touch");
    row("tested", model.counters.candidates, "pairs of boxes that were compared to find those that overlap");
    if (model.counters.lost_bodies > 0)
        row("lost", model.counters.lost_bodies, "bodies that left the scene's bounds and were taken out");
    sampled_check(model.world_check);
    ImGui::TextDisabled("sort passes");
    mark("sort passes");
    explain_on_hover(
        "rounds of the radix sort, one for each digit of the keys; a digit that all keys share is skipped");
    ImGui::SameLine(scaled(96.0f));
    ImGui::Text("%u run, %u skipped", model.counters.sort_passes, model.counters.sort_passes_skipped);
    if (model.read_only && model.draw_ms <= 0.0) return;
    ImGui::TextDisabled("drawn");
    ImGui::SameLine(scaled(96.0f));
    ImGui::Text("%s + %s points", grouped((uint64_t)model.drawn[1] + model.drawn[2] + model.drawn[3], a),
                grouped(model.drawn[0], b));
}

void hud_strip(const view_hud_model &model) {
    char bodies[32], pairs[32], share[16];
    if (model.history->count == 0) {
        ImGui::TextDisabled("no frame yet");
        return;
    }
    const double step = figure(*model.history, VIEW_OF_STEP), sort = figure(*model.history, PSV_PHASE_SORT);
    if (!model.read_only) {
        ImGui::Text("frame %.1f ms ", figure(*model.history, VIEW_OF_FRAME));
        ImGui::SameLine();
    }
    ImGui::Text("%s bodies  %s pairs  step %.2f ms ", grouped(model.counters.bodies, bodies),
                grouped(model.counters.pairs, pairs), step);
    ImGui::SameLine();
    ImGui::TextColored(hud_orange, "sort %.2f ms, %s ", sort, share_text(sort, step, share));
    mark("sort share");
    ImGui::SameLine();
    const float room = ImGui::GetContentRegionAvail().x;
    if (room > scaled(80.0f)) phase_bar(*model.history, room, ImGui::GetTextLineHeight());
}
