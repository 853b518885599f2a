// The start page with Dear ImGui: as many columns as make the pictures largest.
#include "../app/hud_parts.h"
#include "start_page.h"

#include <algorithm>
#include <cstdio>

namespace {

const float wanted_width = 200.0f, least_width = 96.0f; // of a picture

struct grid {
    uint32_t columns;
    float cell, picture, row; // widths of a cell and a picture, height of a row
};

// Of the name and the longest sentence.
float text_height(const view_start_page &page, float width) {
    float most = 0.0f;
    for (uint32_t i = 0; i < page.count; ++i)
        most = std::max(most, ImGui::CalcTextSize(page.scenes[i].sentence, nullptr, false, width).y);
    return most + ImGui::GetTextLineHeightWithSpacing();
}

grid grid_of(const view_start_page &page, uint32_t columns, ImVec2 room, bool fits) {
    const ImVec2 gap = ImGui::GetStyle().ItemSpacing;
    const uint32_t rows = (page.count + columns - 1) / columns;
    grid g = {columns, std::max(1.0f, (room.x - gap.x * (float)(columns - 1)) / (float)columns), 0, 0};
    const float texts = text_height(page, g.cell) + 4.0f * gap.y;
    const float high = fits ? room.y / (float)rows - texts : g.cell * 9.0f / 16.0f;
    g.picture = std::min(g.cell, high * 16.0f / 9.0f);
    g.row = g.picture * 9.0f / 16.0f + texts;
    return g;
}

// Where not all pictures can be seen at once, the page scrolls.
grid choose_grid(const view_start_page &page, ImVec2 room) {
    grid best = {0, 0, 0, 0};
    for (uint32_t columns = 1; columns <= 12; ++columns) {
        const grid g = grid_of(page, columns, room, true);
        if (g.picture > best.picture) best = g;
    }
    if (best.picture >= scaled(least_width)) return best;
    const float columns = std::max(1.0f, room.x / scaled(wanted_width));
    return grid_of(page, (uint32_t)columns, room, false);
}

void scene(const view_start_page &page, uint32_t i, const grid &g, view_hud_actions &actions) {
    const view_start_scene &shown = page.scenes[i];
    const ImVec2 corner = ImGui::GetCursorScreenPos(), size(g.picture, g.picture * 9.0f / 16.0f);
    const float gap = ImGui::GetStyle().ItemSpacing.y;
    ImGui::PushID((int)i);
    if (ImGui::InvisibleButton("scene", ImVec2(g.cell, g.row - 2.0f * gap))) actions.open = (int)i;
    const bool under_mouse = ImGui::IsItemHovered(), chosen = page.chosen == i;
    if (chosen && page.turned) ImGui::SetScrollHereY();
    ImDrawList *list = ImGui::GetWindowDrawList();
    const ImVec2 end(corner.x + size.x, corner.y + size.y);
    list->AddRectFilled(corner, end, IM_COL32(60, 66, 78, 255));
    if (shown.picture != 0) list->AddImage((ImTextureID)(intptr_t)shown.picture, corner, end);
    if (chosen || under_mouse)
        list->AddRect(corner, end, under_mouse ? IM_COL32(255, 255, 255, 255) : ImGui::GetColorU32(hud_orange), 0.0f, 0,
                      scaled(3.0f));
    ImFont *font = ImGui::GetFont();
    const ImVec2 name(corner.x, end.y + gap);
    const ImVec2 sentence(corner.x, name.y + ImGui::GetTextLineHeightWithSpacing());
    list->AddText(font, ImGui::GetFontSize(), name, ImGui::GetColorU32(hud_orange), shown.name);
    list->AddText(font, ImGui::GetFontSize(), sentence, IM_COL32(205, 210, 220, 255), shown.sentence, nullptr, g.cell);
    char place[32];
    snprintf(place, sizeof place, "start %s", shown.name);
    view_item item = {{}, 0.5f * (corner.x + end.x), 0.5f * (corner.y + end.y), 0.5f * size.x};
    snprintf(item.name, sizeof item.name, "%s", place);
    own_hud()->items.push_back(item);
    ImGui::PopID();
}

} // namespace

void hud_start(const view_hud_model &model, ImVec2 window, view_hud_actions &actions) {
    const view_start_page &page = *model.start;
    ImGui::SetNextWindowPos(ImVec2(0.0f, 0.0f), ImGuiCond_Always);
    ImGui::SetNextWindowSize(window, ImGuiCond_Always);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0f);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(scaled(12.0f), scaled(4.0f)));
    ImGui::PushStyleColor(ImGuiCol_WindowBg, ImVec4(0.07f, 0.08f, 0.10f, 1.0f));
    const ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize |
                                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;
    if (ImGui::Begin("start", nullptr, flags)) {
        ImGui::TextUnformatted("Choose a scene: click, or arrows and Enter.");
        ImGui::SameLine();
        ImGui::TextDisabled("F2 comes back to this page.");
        ImGui::Spacing();
        const grid g = choose_grid(page, ImGui::GetContentRegionAvail());
        own_hud()->start_columns = g.columns;
        for (uint32_t i = 0; i < page.count; ++i) {
            if (i % g.columns != 0) ImGui::SameLine();
            scene(page, i, g, actions);
        }
    }
    ImGui::End();
    ImGui::PopStyleColor();
    ImGui::PopStyleVar(2);
}

uint32_t view_hud_start_columns(const view_hud *hud) { return hud->start_columns > 0 ? hud->start_columns : 1; }
