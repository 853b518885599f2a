// Pages of measurements: head, facts of the machine, tables as CSV.
#include "page.h"

#include <ctype.h>
#include <string.h>

#include "chart.h"

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
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr));gap:16px}"
    ".pair{display:grid;grid-template-columns:1fr "
    "1fr;gap:16px}@media(max-width:800px){.pair{grid-template-columns:1fr}}"
    "figure{margin:8px 0;break-inside:avoid}figcaption{font-weight:600;font-size:15px}svg{width:100%;height:auto}"
    ".grid{stroke:var(--line);stroke-width:1;fill:none}.tick,.name{font-size:12px;fill:var(--soft)}"
    ".line{fill:none;stroke-width:2.2;stroke-linejoin:round}.dash{stroke-dasharray:6 "
    "5}.band{opacity:.18;stroke:none}.area{opacity:.85}"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px;color:var(--soft)}"
    ".legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:5px}"
    ".source{font-size:13px;color:var(--soft)}code{background:var(--card);padding:1px 5px;border-radius:4px;"
    "overflow-wrap:anywhere}.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "font-size:14px;margin:8px 0}td,th{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right}"
    "td:first-child,th:first-child,.words td,.words th{text-align:left}.warn{border-left:4px solid #d29922;padding:4px "
    "12px;background:var(--card)}"
    "@media print{body{max-width:none;font-size:12px}h2{break-after:avoid}}";

static const char *const colours[CHART_MOST_SERIES] = {"#3b82f6", "#f59e0b", "#10b981", "#ef4444",
                                                       "#8b5cf6", "#06b6d4", "#ec4899", "#84cc16",
                                                       "#6366f1", "#f97316", "#14b8a6", "#a3a3a3"};

// --- access ---------------------------------------------------------------------------------------------------------

const json_t *page_rows(const json_t *report, const char *table) {
    return json_object_get(json_object_get(json_object_get(report, "tables"), table), "rows");
}

double page_number(const json_t *row, const char *column) { return json_number_value(json_object_get(row, column)); }

const char *page_text(const json_t *row, const char *column) {
    const char *text = json_string_value(json_object_get(row, column));
    return text != NULL ? text : "";
}

// --- data behind a chart --------------------------------------------------------------------------------------------

// A text without quotes in it, as a field of CSV in a link.
static void write_name(FILE *out, const char *text) {
    const char *const quote = strchr(text, ',') != NULL ? "%22" : "";
    fputs(quote, out);
    for (; *text != 0; ++text)
        if (isalnum((unsigned char)*text) || strchr("-_. /()*+:=", *text) != NULL)
            fputc(*text, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*text);
    fputs(quote, out);
}

static void write_field(FILE *out, const json_t *value) {
    if (json_is_string(value)) write_name(out, json_string_value(value));
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

void page_source(FILE *out, const json_t *report, const char *table) {
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
    chart_write_text(out, page_text(object, "command"));
    fputs("</code></p>\n", out);
    json_decref(names);
}

// --- page -----------------------------------------------------------------------------------------------------------

static void write_facts(FILE *out, const json_t *machine) {
    static const char *const facts[][2] = {{"processor", "processor"},
                                           {"cores", "cores"},
                                           {"workers", "threads"},
                                           {"memory_bytes", "memory, GiB"},
                                           {"gpu", "GPU"},
                                           {"gpu_driver", "CUDA of the driver"},
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
        else if (strcmp(facts[f][0], "gpu_driver") == 0) // 1000 * major + 10 * minor
            fprintf(out, "%d.%d", (int)json_integer_value(value) / 1000, (int)json_integer_value(value) % 1000 / 10);
        else
            fprintf(out, "%.4g", json_number_value(value) / (strcmp(facts[f][0], "memory_bytes") == 0 ? 0x1p30 : 1));
        fputs("</div>\n", out);
    }
    fputs("</div>\n", out);
}

void page_begin(FILE *out, const char *title, const char *lead, const json_t *machine) {
    fputs("<!doctype html><html lang='en'><head><meta charset='utf-8'>"
          "<meta name='viewport' content='width=device-width'><title>pairsieve: ",
          out);
    chart_write_text(out, title);
    fputs("</title><style>", out);
    fputs(style, out);
    for (int c = 0; c < CHART_MOST_SERIES; ++c)
        fprintf(out, ".line.c%d{stroke:%s}.dot.c%d,.band.c%d,.area.c%d{fill:%s}i.c%d{background:%s}", c, colours[c], c,
                c, c, colours[c], c, colours[c]);
    fputs("</style></head><body>\n<h1>", out);
    chart_write_text(out, title);
    fputs("</h1><p>", out);
    chart_write_text(out, lead);
    fputs("</p>\n", out);
    if (page_number(machine, "load_average") > PAGE_BUSY_LOAD * page_number(machine, "cores"))
        fputs("<p class='warn'>Other programs were running at the start, so times scatter and may be too long.</p>\n",
              out);
    write_facts(out, machine);
}

void page_end(FILE *out) { fputs("</body></html>\n", out); }
