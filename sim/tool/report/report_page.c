// The page of a report: its sections and charts.
#include <math.h>
#include <string.h>

#include "chart.h"
#include "page.h"
#include "report.h"

// Distinct texts of a column, in the order of the rows.
typedef struct word_list {
    const char *words[32];
    uint32_t count;
} word_list;

static word_list distinct(const json_t *rows, const char *column) {
    word_list list = {.count = 0};
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        const char *word = page_text(row, column);
        uint32_t w = 0;
        while (w < list.count && strcmp(list.words[w], word) != 0)
            ++w;
        if (w == list.count && w < 32) list.words[list.count++] = word;
    }
    return list;
}

// --- charts ---------------------------------------------------------------------------------------------------------

// Which rows of a table become a line chart.
typedef struct chart_choice {
    const char *table, *x, *y, *series;
    const char *where[2][2]; // column and text; NULL: no such condition
} chart_choice;

static bool chosen(const json_t *row, const chart_choice *choice) {
    for (int i = 0; i < 2; ++i)
        if (choice->where[i][0] != NULL && strcmp(page_text(row, choice->where[i][0]), choice->where[i][1]) != 0)
            return false;
    return true;
}

// y X_ms has a band from X_q1 to X_q3, where the row has them.
static chart_point point_of(const json_t *row, const chart_choice *choice) {
    chart_point point = {.x = page_number(row, choice->x), .y = page_number(row, choice->y)};
    char column[64];
    const int stem = (int)strlen(choice->y) - 3;
    point.low = point.high = point.y;
    if (stem <= 0) return point;
    (void)snprintf(column, sizeof column, "%.*s_q1", stem, choice->y);
    if (json_object_get(row, column) != NULL) point.low = page_number(row, column);
    (void)snprintf(column, sizeof column, "%.*s_q3", stem, choice->y);
    if (json_object_get(row, column) != NULL) point.high = page_number(row, column);
    return point;
}

// A name has one colour in all charts of a table: its place among the table's names.
static void set_colours(const json_t *report, const chart_choice *choice, line_chart *chart) {
    const word_list names = distinct(page_rows(report, choice->table), choice->series);
    for (uint32_t s = 0; s < chart->series_count; ++s)
        for (uint32_t w = 0; w < names.count; ++w)
            if (strcmp(names.words[w], chart->series[s].name) == 0) chart->series[s].colour = w % CHART_MOST_SERIES;
}

static void write_lines(FILE *out, const json_t *report, const chart_choice *choice, line_chart *chart) {
    size_t i;
    const json_t *row;
    json_array_foreach(page_rows(report, choice->table), i, row) if (chosen(row, choice))
        chart_add_point(chart_find_series(chart, page_text(row, choice->series)), point_of(row, choice));
    set_colours(report, choice, chart);
    chart_write(out, chart);
    chart_free(chart);
}

static void write_phases(FILE *out, const json_t *report, const char *scene) {
    char title[128];
    (void)snprintf(title, sizeof title, "%s: time of each frame, by phase", scene);
    line_chart chart = {.title = title, .x_name = "frame", .y_name = "ms", .stacked = true};
    const chart_choice choice = {.table = "frames", .where = {{"scene", scene}}};
    size_t i;
    const json_t *row;
    for (int p = 0; p < PSV_PHASE_COUNT; ++p) {
        char column[32];
        double sum = 0;
        (void)snprintf(column, sizeof column, "%s_ms", psv_phase_name((psv_phase)p));
        json_array_foreach(page_rows(report, "frames"), i, row) if (chosen(row, &choice)) sum +=
            page_number(row, column);
        if (sum <= 0) continue;
        chart_series *series = chart_find_series(&chart, psv_phase_name((psv_phase)p));
        json_array_foreach(page_rows(report, "frames"), i, row) if (chosen(row, &choice)) {
            const double y = page_number(row, column);
            chart_add_point(series, (chart_point){page_number(row, "frame"), y, y, y});
        }
    }
    chart_write(out, &chart);
    chart_free(&chart);
}

// --- sections -------------------------------------------------------------------------------------------------------

static void begin_section(FILE *out, const char *title, const char *says) {
    fprintf(out, "<h2>%s</h2><p>%s</p>\n<div class='charts'>\n", title, says);
}

static void write_sort_cost(FILE *out, const json_t *report) {
    const word_list methods = distinct(page_rows(report, "runs"), "broad_phase");
    const word_list scenes = distinct(page_rows(report, "runs"), "scene");
    begin_section(out, "What sorting costs a frame",
                  "Time of the phase «sort», and its share of the whole frame, by broad phase and sorter. Bands are "
                  "quartiles. «cells» is a method's own order of cells where it has one, else radix.");
    for (uint32_t m = 0; m < methods.count; ++m)
        for (int share = 0; share < 2; ++share) {
            char title[160];
            (void)snprintf(title, sizeof title, "%s in scene %s: sort, %s", methods.words[m], scenes.words[0],
                           share ? "share of the frame" : "ms a frame");
            line_chart chart = {.title = title,
                                .x_name = "bodies",
                                .y_name = share ? "share" : "ms",
                                .log_x = true,
                                .log_y = !share,
                                .percent = share};
            const chart_choice choice = {"runs",
                                         "bodies",
                                         share ? "sort_share" : "sort_ms",
                                         "sort",
                                         {{"broad_phase", methods.words[m]}, {"scene", scenes.words[0]}}};
            write_lines(out, report, &choice, &chart);
        }
    fputs("</div>\n", out);
    page_source(out, report, "runs");
}

static void write_over_frames(FILE *out, const json_t *report) {
    begin_section(out, "The sort over the frames",
                  "Each frame from the first one on, with lbvh, whose keys need a sorter.");
    for (int share = 0; share < 2; ++share) {
        line_chart chart = {.title = share ? "share of the frame" : "ms of each frame",
                            .x_name = "frame",
                            .y_name = share ? "share" : "ms",
                            .percent = share};
        const chart_choice choice = {
            .table = "sort_by_frame", .x = "frame", .y = share ? "sort_share" : "sort_ms", .series = "sort"};
        write_lines(out, report, &choice, &chart);
    }
    fputs("</div>\n", out);
    page_source(out, report, "sort_by_frame");
    const word_list scenes = distinct(page_rows(report, "frames"), "scene");
    begin_section(out, "Where a frame's time goes", "All phases, one on top of the other.");
    for (uint32_t s = 0; s < scenes.count; ++s)
        write_phases(out, report, scenes.words[s]);
    fputs("</div>\n", out);
    page_source(out, report, "frames");
}

static void write_broad_phases(FILE *out, const json_t *report) {
    const word_list scenes = distinct(page_rows(report, "runs"), "scene");
    begin_section(out, "Broad phases", "From boxes to pairs, with the sorter that «auto» takes.");
    for (uint32_t s = 0; s < scenes.count; ++s) {
        char title[96];
        (void)snprintf(title, sizeof title, "%s: boxes to pairs", scenes.words[s]);
        line_chart chart = {.title = title, .x_name = "bodies", .y_name = "ms", .log_x = true, .log_y = true};
        const chart_choice choice = {
            "runs", "bodies", "find_ms", "broad_phase", {{"scene", scenes.words[s]}, {"sort", "auto"}}};
        write_lines(out, report, &choice, &chart);
    }
    fputs("</div>\n", out);
    page_source(out, report, "runs");
}

static double rate_of(const json_t *report, const char *method, const char *kind, double count) {
    size_t i;
    const json_t *row;
    json_array_foreach(page_rows(report, "sorts"), i,
                       row) if (strcmp(page_text(row, "method"), method) == 0 &&
                                strcmp(page_text(row, "kind"), kind) == 0 &&
                                page_number(row, "count") == count) return page_number(row, "million_pairs_per_s");
    return NAN;
}

// Rates by kind, at the count that all kinds were measured at.
static void write_kinds(FILE *out, const json_t *report) {
    const word_list methods = distinct(page_rows(report, "sorts"), "method"),
                    kinds = distinct(page_rows(report, "sorts"), "kind");
    double count = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(page_rows(report, "sorts"), i, row) if (strcmp(page_text(row, "kind"), "uniform") != 0) count =
        page_number(row, "count");
    char text[32];
    fprintf(out, "<div class='scroll'><table><tr><th>million pairs a second, %s keys</th>",
            tool_format_count(text, (uint64_t)count));
    for (uint32_t k = 0; k < kinds.count; ++k)
        fprintf(out, "<th>%s</th>", kinds.words[k]);
    for (uint32_t m = 0; m < methods.count; ++m) {
        fprintf(out, "</tr>\n<tr><td>%s</td>", methods.words[m]);
        for (uint32_t k = 0; k < kinds.count; ++k) {
            const double rate = rate_of(report, methods.words[m], kinds.words[k], count);
            if (isnan(rate))
                fputs("<td></td>", out);
            else if (rate >= 999.5)
                fprintf(out, "<td>%s</td>", tool_format_count(text, (uint64_t)(rate + 0.5)));
            else
                fprintf(out, "<td>%.3g</td>", rate);
        }
    }
    fputs("</tr></table></div>\n", out);
}

static void write_sorters(FILE *out, const json_t *report) {
    begin_section(out, "Sorters", "Keys of 32 bits with values of 32 bits, all of them stable.");
    line_chart chart = {.title = "uniform keys, million pairs a second",
                        .x_name = "keys",
                        .y_name = "million pairs / s",
                        .log_x = true,
                        .log_y = true};
    const chart_choice choice = {
        .table = "sorts", .x = "count", .y = "million_pairs_per_s", .series = "method", .where = {{"kind", "uniform"}}};
    write_lines(out, report, &choice, &chart);
    fputs("</div>\n", out);
    write_kinds(out, report);
    page_source(out, report, "sorts");
}

static void write_memory(FILE *out, const json_t *report) {
    begin_section(out, "Memory", "Bytes a box of a pair finder with room for eight pairs a box.");
    line_chart chart = {.title = "bytes a box", .x_name = "boxes", .y_name = "bytes", .log_x = true};
    const chart_choice choice = {.table = "memory", .x = "boxes", .y = "bytes_per_box", .series = "method"};
    write_lines(out, report, &choice, &chart);
    fputs("</div>\n", out);
    page_source(out, report, "memory");
}

static double our_time(const json_t *report, const json_t *row) {
    size_t i;
    const json_t *other;
    json_array_foreach(page_rows(report, "peers"), i,
                       other) if (strcmp(page_text(other, "peer"), "pairsieve") == 0 &&
                                  strcmp(page_text(other, "work"), page_text(row, "work")) ==
                                      0) return page_number(other, "peer_ms");
    return 0;
}

static void write_cell(FILE *out, const char *text) {
    fputs("<td>", out);
    chart_write_text(out, text);
    fputs("</td>", out);
}

// A row for each library and work, beside our time of the same work.
static void write_peers(FILE *out, const json_t *report) {
    size_t i;
    const json_t *row;
    if (page_rows(report, "peers") == NULL) return;
    fputs(
        "<h2>Beside other libraries</h2>\n<p>The same keys (32 bits) and boxes (unit cubes) for all, medians of whole "
        "calls "
        "by the clock. «Result» says whether a library found what pairsieve found.</p>\n<div class='scroll'><table "
        "class='words'><tr><th>work</th><th>count</th><th>library</th><th>version</th><th>on</th><th>ms</th><th>times "
        "ours</th><th>result</th></tr>\n",
        out);
    json_array_foreach(page_rows(report, "peers"), i, row) {
        const double ms = page_number(row, "peer_ms"), ours = our_time(report, row);
        char text[32];
        fputs("<tr>", out);
        write_cell(out, page_text(row, "work"));
        write_cell(out, tool_format_count(text, (uint64_t)page_number(row, "count")));
        write_cell(out, page_text(row, "peer"));
        write_cell(out, page_text(row, "version"));
        write_cell(out, page_text(row, "device"));
        text[0] = 0;
        if (ms > 0) (void)snprintf(text, sizeof text, "%.3g", ms);
        write_cell(out, text);
        text[0] = 0;
        if (ms > 0 && ours > 0) (void)snprintf(text, sizeof text, "%.2f", ms / ours);
        write_cell(out, text);
        write_cell(out, page_text(row, "result"));
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
    page_source(out, report, "peers");
}

void report_write_page(FILE *out, const json_t *report) {
    char lead[320];
    (void)snprintf(lead, sizeof lead, "Measured by %.200s in %.0f s.", page_text(report, "command"),
                   page_number(report, "seconds"));
    page_begin(out, "What sorting costs a frame", lead, json_object_get(report, "machine"));
    write_sort_cost(out, report);
    write_over_frames(out, report);
    write_broad_phases(out, report);
    write_sorters(out, report);
    write_memory(out, report);
    write_peers(out, report);
    page_end(out);
}
