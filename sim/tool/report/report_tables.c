// Tables of a report: columns by name, rows as objects.
#include <stdlib.h>
#include <string.h>

#include "report.h"

static json_t *names_of(const char *words) {
    json_t *names = json_array();
    for (const char *from = words; *from != 0;) {
        const size_t length = strcspn(from, " ");
        json_array_append_new(names, json_stringn(from, length));
        from += length + strspn(from + length, " ");
    }
    return names;
}

bool report_add_table(report_job *job, const char *name, const char *keys, const char *values, const char *command) {
    json_t *table = json_pack("{s:o, s:o, s:s, s:[]}", "keys", names_of(keys), "values", names_of(values), "command",
                              command, "rows");
    return table != NULL && json_object_set_new(job->tables, name, table) == 0;
}

bool report_add_row(report_job *job, const char *table, json_t *row) {
    return row != NULL && json_array_append_new(json_object_get(json_object_get(job->tables, table), "rows"), row) == 0;
}

void report_set_times(json_t *row, const char *name, double *values, uint64_t count) {
    static const struct {
        const char *ending;
        double percent;
    } parts[] = {{"ms", 50}, {"q1", 25}, {"q3", 75}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        char column[64];
        (void)snprintf(column, sizeof column, "%s_%s", name, parts[i].ending);
        json_object_set_new(row, column, json_real(tool_percentile(values, count, parts[i].percent)));
    }
}
