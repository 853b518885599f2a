// The page of the papers' figures.
#include <string.h>

#include "../../sim/tool/report/chart.h"
#include "../../sim/tool/report/page.h"
#include "figures.h"

static void write_text(FILE *out, const char *before, const char *text, const char *behind) {
    fputs(before, out);
    chart_write_text(out, text);
    fputs(behind, out);
}

// --- all figures ----------------------------------------------------------------------------------------------------

static void write_list(FILE *out, const json_t *report) {
    size_t i;
    const json_t *item;
    fputs("<h2>All figures and tables</h2><div class='scroll'><table class='words'><tr><th>paper</th><th>figure</th>"
          "<th>subject</th><th>here</th></tr>\n",
          out);
    json_array_foreach(json_object_get(report, "figures"), i, item) {
        write_text(out, "<tr><td>", page_text(item, "paper"), "</td>");
        write_text(out, "<td><a href='#", page_text(item, "id"), "'>");
        write_text(out, "", page_text(item, "place"), "</a></td>");
        write_text(out, "<td>", page_text(item, "title"), "</td>");
        write_text(out, "<td>", page_text(item, "state"), "</td></tr>\n");
    }
    fputs("</table></div>\n", out);
}

// --- one figure -----------------------------------------------------------------------------------------------------

static void series_name(const json_t *row, char name[48]) {
    const char *source = page_text(row, "source");
    const bool ours = strcmp(source, "here") == 0;
    (void)snprintf(name, 48, "%s%s%s, %s", ours ? "" : source, ours ? "" : ": ", page_text(row, "device"),
                   page_text(row, "series"));
}

#define MOST_TOGETHER 9 // series in a chart of all devices

// NULL takes all devices; with a device, the paper's points come too unless areas are stacked.
static void write_chart(FILE *out, const json_t *report, const json_t *item, const char *device) {
    char title[160], name[48];
    (void)snprintf(title, sizeof title, "%s%s%s", page_text(item, "title"), device != NULL ? ", " : "",
                   device != NULL ? device : "");
    line_chart chart = {.title = title,
                        .x_name = page_text(item, "x"),
                        .y_name = page_text(item, "y"),
                        .log_x = json_is_true(json_object_get(item, "log_x")),
                        .log_y = json_is_true(json_object_get(item, "log_y")),
                        .stacked = json_is_true(json_object_get(item, "stacked"))};
    size_t i;
    const json_t *row;
    bool any = false;
    json_array_foreach(page_rows(report, page_text(item, "id")), i, row) {
        const bool paper = strcmp(page_text(row, "source"), "paper") == 0;
        const bool same = device == NULL || strcmp(page_text(row, "device"), device) == 0;
        if (!same && (!paper || chart.stacked)) continue;
        any = any || !paper;
        series_name(row, name);
        chart_series *series = chart_find_series(&chart, name);
        if (series != NULL) series->dashed = strcmp(page_text(row, "source"), "here") != 0;
        chart_add_point(series, (chart_point){page_number(row, "x"), page_number(row, "y"), page_number(row, "y_q1"),
                                              page_number(row, "y_q3")});
    }
    if (any || device == NULL) chart_write(out, &chart);
    chart_free(&chart);
}

static uint32_t count_series(const json_t *rows) {
    char names[64][48], name[48];
    uint32_t count = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        uint32_t n = 0;
        series_name(row, name);
        while (n < count && strcmp(names[n], name) != 0)
            ++n;
        if (n == count && count < 64) memcpy(names[count++], name, sizeof name);
    }
    return count;
}

// One chart, or one a device where that were too full and where areas are stacked.
static void write_charts(FILE *out, const json_t *report, const json_t *item) {
    static const char *const devices[] = {"cpu", "gl", "vulkan", "cuda"};
    const json_t *rows = page_rows(report, page_text(item, "id"));
    const bool apart = json_is_true(json_object_get(item, "stacked")) || count_series(rows) > MOST_TOGETHER;
    if (!apart) write_chart(out, report, item, NULL);
    for (int d = 0; d < FIGURE_DEVICES && apart; ++d)
        write_chart(out, report, item, devices[d]);
}

static void write_figure(FILE *out, const json_t *report, const json_t *item) {
    write_text(out, "<h2 id='", page_text(item, "id"), "'>");
    chart_write_text(out, page_text(item, "paper"));
    write_text(out, ", ", page_text(item, "place"), ": ");
    write_text(out, "", page_text(item, "title"), "</h2>\n");
    fputs("<div class='pair'><div>\n", out); // text beside its charts where there is room
    write_text(out, "<p><b>The paper:</b> ", page_text(item, "claim"), "</p>\n");
    if (page_text(item, "here")[0] != 0) write_text(out, "<p><b>This machine:</b> ", page_text(item, "here"), "</p>\n");
    if (page_text(item, "absent")[0] != 0) write_text(out, "<p class='source'>", page_text(item, "absent"), "</p>\n");
    const bool has_rows = json_array_size(page_rows(report, page_text(item, "id"))) > 0;
    if (has_rows) page_source(out, report, page_text(item, "id"));
    fputs("</div><div>\n", out);
    if (has_rows) write_charts(out, report, item);
    fputs("</div></div>\n", out);
}

void figures_write_page(FILE *out, const json_t *report) {
    size_t i;
    const json_t *item;
    char lead[640];
    (void)snprintf(
        lead, sizeof lead,
        "Every figure and table of three papers on GPU sorting. Measured by %.200s in %.0f s. Broken lines are "
        "points read off a paper's text, or another machine's; bands are quartiles. What would take too long at a "
        "count "
        "is left out there.",
        page_text(report, "command"), page_number(report, "seconds"));
    page_begin(out, "Three papers on GPU sorting, measured again", lead, json_object_get(report, "machine"));
    write_list(out, report);
    json_array_foreach(json_object_get(report, "figures"), i, item) { write_figure(out, report, item); }
    page_end(out);
}
