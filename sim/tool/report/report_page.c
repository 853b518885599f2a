// The page of a report: one HTML file with its style, drawings and data, which asks the network for nothing.
#include <math.h>
#include <string.h>

#include "chart.h"
#include "report.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--paper:#fff;--line:#d8dee4;--card:#f6f8fa}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--paper:#0d1117;--line:#30363d;--card:#"
    "151b23}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1360px;padding:24px 20px 60px;background:var(--paper);"
    "color:var(--ink);font:16px/1.5 system-ui,sans-serif}h1{margin:0 0 4px;font-size:28px}h2{margin:40px 0 4px;"
    "font-size:21px;border-bottom:1px solid var(--line);padding-bottom:4px}p{max-width:75ch;margin:6px 0}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:8px;margin:16px 0}"
    ".facts div{background:var(--card);border-radius:6px;padding:8px 12px;overflow-wrap:anywhere}"
    ".facts b{display:block;font-size:12px;color:var(--soft);font-weight:600}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:16px}"
    "figure{margin:8px 0;break-inside:avoid}figcaption{font-weight:600;font-size:15px}svg{width:100%;height:auto}"
    ".grid{stroke:var(--line);stroke-width:1;fill:none}.tick,.name{font-size:12px;fill:var(--soft)}"
    ".line{fill:none;stroke-width:2.2;stroke-linejoin:round}.band{opacity:.18;stroke:none}.area{opacity:.85}"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px;color:var(--soft)}"
    ".legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:5px}"
    ".source{font-size:13px;color:var(--soft)}code{background:var(--card);padding:1px 5px;border-radius:4px;"
    "overflow-wrap:anywhere}.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "font-size:14px;margin:8px 0}td,th{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right}"
    "td:first-child,th:first-child{text-align:left}.warn{border-left:4px solid #d29922;padding:4px "
    "12px;background:var(--card)}"
    "@media print{body{max-width:none;font-size:12px}h2{break-after:avoid}}";

static const char *const colours[CHART_MOST_SERIES] = {"#3b82f6", "#f59e0b", "#10b981", "#ef4444",
                                                       "#8b5cf6", "#06b6d4", "#ec4899", "#84cc16",
                                                       "#6366f1", "#f97316", "#14b8a6", "#a3a3a3"};

// --- access ---------------------------------------------------------------------------------------------------------

static const json_t *rows_of(const json_t *report, const char *table) {
    return json_object_get(json_object_get(json_object_get(report, "tables"), table), "rows");
}

static double number_of(const json_t *row, const char *column) {
    return json_number_value(json_object_get(row, column));
}

static const char *text_of(const json_t *row, const char *column) {
    const char *text = json_string_value(json_object_get(row, column));
    return text != NULL ? text : "";
}

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
        const char *word = text_of(row, column);
        uint32_t w = 0;
        while (w < list.count && strcmp(list.words[w], word) != 0)
            ++w;
        if (w == list.count && w < 32) list.words[list.count++] = word;
    }
    return list;
}

// --- data behind a chart --------------------------------------------------------------------------------------------

static void write_field(FILE *out, const json_t *value) {
    if (json_is_string(value)) fprintf(out, "%s", json_string_value(value)); // names: no commas, no quotes
    if (json_is_integer(value)) fprintf(out, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) fprintf(out, "%.6g", json_real_value(value));
}

static void write_row(FILE *out, const json_t *names, const json_t *row) {
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name) {
        if (i > 0) fputs("%2C", out);
        write_field(out, row != NULL ? json_object_get(row, json_string_value(name)) : name);
    }
}

// A link with the table as CSV in it, and the command that measures a row again.
static void write_source(FILE *out, const json_t *report, const char *table) {
    const json_t *object = json_object_get(json_object_get(report, "tables"), table);
    json_t *names = json_copy(json_object_get(object, "keys"));
    size_t i;
    const json_t *row;
    (void)json_array_extend(names, json_object_get(object, "values"));
    fprintf(out, "<p class='source'><a download='%s.csv' href='data:text/csv;charset=utf-8,", table);
    write_row(out, names, NULL);
    json_array_foreach(json_object_get(object, "rows"), i, row) {
        fputs("%0A", out);
        write_row(out, names, row);
    }
    fprintf(out, "'>%s.csv</a> · again: <code>", table);
    chart_write_text(out, text_of(object, "command"));
    fputs("</code></p>\n", out);
    json_decref(names);
}

// --- charts ---------------------------------------------------------------------------------------------------------

// Which rows of a table become a line chart.
typedef struct chart_choice {
    const char *table, *x, *y, *series;
    const char *where[2][2]; // column and text; NULL: no such condition
} chart_choice;

static bool chosen(const json_t *row, const chart_choice *choice) {
    for (int i = 0; i < 2; ++i)
        if (choice->where[i][0] != NULL && strcmp(text_of(row, choice->where[i][0]), choice->where[i][1]) != 0)
            return false;
    return true;
}

// y X_ms has a band from X_q1 to X_q3, where the row has them.
static chart_point point_of(const json_t *row, const chart_choice *choice) {
    chart_point point = {.x = number_of(row, choice->x), .y = number_of(row, choice->y)};
    char column[64];
    const int stem = (int)strlen(choice->y) - 3;
    point.low = point.high = point.y;
    if (stem <= 0) return point;
    (void)snprintf(column, sizeof column, "%.*s_q1", stem, choice->y);
    if (json_object_get(row, column) != NULL) point.low = number_of(row, column);
    (void)snprintf(column, sizeof column, "%.*s_q3", stem, choice->y);
    if (json_object_get(row, column) != NULL) point.high = number_of(row, column);
    return point;
}

// A name has one colour in all charts of a table: its place among the table's names.
static void set_colours(const json_t *report, const chart_choice *choice, line_chart *chart) {
    const word_list names = distinct(rows_of(report, choice->table), choice->series);
    for (uint32_t s = 0; s < chart->series_count; ++s)
        for (uint32_t w = 0; w < names.count; ++w)
            if (strcmp(names.words[w], chart->series[s].name) == 0) chart->series[s].colour = w % CHART_MOST_SERIES;
}

static void write_lines(FILE *out, const json_t *report, const chart_choice *choice, line_chart *chart) {
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(report, choice->table), i, row) if (chosen(row, choice))
        chart_add_point(chart_find_series(chart, text_of(row, choice->series)), point_of(row, choice));
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
        json_array_foreach(rows_of(report, "frames"), i, row) if (chosen(row, &choice)) sum += number_of(row, column);
        if (sum <= 0) continue;
        chart_series *series = chart_find_series(&chart, psv_phase_name((psv_phase)p));
        json_array_foreach(rows_of(report, "frames"), i, row) if (chosen(row, &choice)) {
            const double y = number_of(row, column);
            chart_add_point(series, (chart_point){number_of(row, "frame"), y, y, y});
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
    const word_list methods = distinct(rows_of(report, "runs"), "broad_phase");
    const word_list scenes = distinct(rows_of(report, "runs"), "scene");
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
    write_source(out, report, "runs");
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
    write_source(out, report, "sort_by_frame");
    const word_list scenes = distinct(rows_of(report, "frames"), "scene");
    begin_section(out, "Where a frame's time goes", "All phases, one on top of the other.");
    for (uint32_t s = 0; s < scenes.count; ++s)
        write_phases(out, report, scenes.words[s]);
    fputs("</div>\n", out);
    write_source(out, report, "frames");
}

static void write_broad_phases(FILE *out, const json_t *report) {
    const word_list scenes = distinct(rows_of(report, "runs"), "scene");
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
    write_source(out, report, "runs");
}

static double rate_of(const json_t *report, const char *method, const char *kind, double count) {
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(report, "sorts"), i,
                       row) if (strcmp(text_of(row, "method"), method) == 0 &&
                                strcmp(text_of(row, "kind"), kind) == 0 &&
                                number_of(row, "count") == count) return number_of(row, "million_pairs_per_s");
    return NAN;
}

// Rates by kind, at the count that all kinds were measured at.
static void write_kinds(FILE *out, const json_t *report) {
    const word_list methods = distinct(rows_of(report, "sorts"), "method"),
                    kinds = distinct(rows_of(report, "sorts"), "kind");
    double count = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(report, "sorts"), i, row) if (strcmp(text_of(row, "kind"), "uniform") != 0) count =
        number_of(row, "count");
    fprintf(out, "<div class='scroll'><table><tr><th>million pairs a second, %.0f keys</th>", count);
    for (uint32_t k = 0; k < kinds.count; ++k)
        fprintf(out, "<th>%s</th>", kinds.words[k]);
    for (uint32_t m = 0; m < methods.count; ++m) {
        fprintf(out, "</tr>\n<tr><td>%s</td>", methods.words[m]);
        for (uint32_t k = 0; k < kinds.count; ++k) {
            const double rate = rate_of(report, methods.words[m], kinds.words[k], count);
            if (isnan(rate))
                fputs("<td></td>", out);
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
    write_source(out, report, "sorts");
}

static void write_memory(FILE *out, const json_t *report) {
    begin_section(out, "Memory", "Bytes a box of a pair finder with room for eight pairs a box.");
    line_chart chart = {.title = "bytes a box", .x_name = "boxes", .y_name = "bytes", .log_x = true};
    const chart_choice choice = {.table = "memory", .x = "boxes", .y = "bytes_per_box", .series = "method"};
    write_lines(out, report, &choice, &chart);
    fputs("</div>\n", out);
    write_source(out, report, "memory");
}

static void write_facts(FILE *out, const json_t *machine) {
    static const char *const facts[][2] = {{"processor", "processor"},
                                           {"cores", "cores"},
                                           {"workers", "threads"},
                                           {"memory_bytes", "memory, GiB"},
                                           {"gpu", "GPU"},
                                           {"gpu_driver", "driver"},
                                           {"system", "system"},
                                           {"load_average", "load at the start"},
                                           {"version", "version"},
                                           {"commit", "commit"},
                                           {"compiler", "compiler"},
                                           {"date", "date"}};
    fputs("<div class='facts'>", out);
    for (size_t f = 0; f < sizeof facts / sizeof *facts; ++f) {
        const json_t *value = json_object_get(machine, facts[f][0]);
        if (value == NULL) continue;
        fprintf(out, "<div><b>%s</b>", facts[f][1]);
        if (json_is_string(value))
            chart_write_text(out, json_string_value(value));
        else
            fprintf(out, "%.4g", json_number_value(value) / (strcmp(facts[f][0], "memory_bytes") == 0 ? 0x1p30 : 1));
        fputs("</div>\n", out);
    }
    fputs("</div>\n", out);
}

void report_write_page(FILE *out, const json_t *report) {
    const json_t *machine = json_object_get(report, "machine");
    fputs(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        "<title>pairsieve report</title><style>",
        out);
    fputs(style, out);
    for (int c = 0; c < CHART_MOST_SERIES; ++c)
        fprintf(out, ".line.c%d{stroke:%s}.dot.c%d,.band.c%d,.area.c%d{fill:%s}i.c%d{background:%s}", c, colours[c], c,
                c, c, colours[c], c, colours[c]);
    fprintf(out,
            "</style></head><body>\n<h1>What sorting costs a frame</h1><p>Measured by <code>%s</code> in %.0f s.</p>\n",
            text_of(report, "command"), number_of(report, "seconds"));
    if (number_of(machine, "load_average") > .3 * number_of(machine, "cores"))
        fputs("<p class='warn'>Other programs were running at the start, so times scatter and may be too long.</p>\n",
              out);
    write_facts(out, machine);
    write_sort_cost(out, report);
    write_over_frames(out, report);
    write_broad_phases(out, report);
    write_sorters(out, report);
    write_memory(out, report);
    fputs("</body></html>\n", out);
}
