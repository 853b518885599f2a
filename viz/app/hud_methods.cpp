// The page of the panel on which all methods are timed on this frame's input, on demand.
#include "hud_parts.h"

#include <algorithm>
#include <cstdio>

namespace {

void bars(const view_comparison &comparison, const char *kind) {
    const float name_width = scaled(66.0f), number_width = scaled(120.0f), height = ImGui::GetTextLineHeight();
    double most = 0.0;
    for (uint32_t i = 0; i < comparison.count; ++i)
        most = std::max(most, comparison.methods[i].ms);
    for (uint32_t i = 0; i < comparison.count; ++i) {
        const view_timed &timed = comparison.methods[i];
        ImGui::TextUnformatted(timed.name);
        ImGui::SameLine(name_width);
        if (timed.note[0] != '\0') {
            ImGui::TextDisabled("%s", timed.note);
        } else {
            const float room = ImGui::GetContentRegionAvail().x - number_width;
            const float wide = std::max(1.0f, (float)(timed.ms / most) * room);
            const ImVec2 corner = ImGui::GetCursorScreenPos();
            const bool best = timed.ms <= comparison.best_ms;
            ImGui::GetWindowDrawList()->AddRectFilled(corner, ImVec2(corner.x + wide, corner.y + height),
                                                      best ? ImGui::GetColorU32(hud_orange)
                                                           : IM_COL32(102, 153, 204, 255));
            ImGui::Dummy(ImVec2(room, height));
            ImGui::SameLine();
            ImGui::Text("%.3g ms  x %.2f", timed.ms, timed.ms / comparison.best_ms);
        }
        char place[48];
        snprintf(place, sizeof place, "%s %s", kind, timed.name);
        mark(place);
    }
}

} // namespace

void hud_methods(const view_hud_model &model, view_hud_actions &actions) {
    char text[32];
    const view_comparison &sorts = *model.sorts_timed, &phases = *model.broad_phases_timed;
    if (button("time all sorts")) actions.time_sorts = true;
    explain_on_hover("sorts a 32-bit key for each body of this frame by every method: median of some runs, and its "
                     "ratio to the fastest. The scene waits meanwhile and goes on as it was");
    if (sorts.count > 0) {
        ImGui::TextDisabled("%s keys of frame %llu", grouped(sorts.elements, text), (unsigned long long)sorts.frame);
        bars(sorts, "sort");
    }
    ImGui::Separator();
    if (button("time all broad phases")) actions.time_broad_phases = true;
    explain_on_hover("finds the pairs of this frame's boxes by every method: each finds the same ones");
    if (phases.count > 0) {
        const bool all_same = std::all_of(phases.methods, phases.methods + phases.count, [&](const view_timed &timed) {
            return timed.note[0] != '\0' || timed.result == phases.methods[0].result;
        });
        ImGui::TextDisabled("%s boxes of frame %llu", grouped(phases.elements, text), (unsigned long long)phases.frame);
        ImGui::TextDisabled("%s", all_same ? "the same number of pairs by each" : "the numbers of pairs DIFFER");
        bars(phases, "broad phase");
    }
}
