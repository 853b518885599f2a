// The CSV file of a benchmark as JSON: an array with an object a line, keyed by the names of the first line.
#include "bench_json.h"

#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MOST_COLUMNS 64
#define LINE_BYTES 4096

// Cuts a line into its fields, in place; a field in quotes may hold commas, and quotes doubled.
static int split_line(char *line, char *fields[MOST_COLUMNS]) {
    int count = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *from = line; count < MOST_COLUMNS;) {
        char *to = from;
        fields[count++] = to;
        bool quoted = *from == '"';
        if (quoted) ++from;
        for (; *from != 0 && (quoted || *from != ','); ++from) {
            if (quoted && *from == '"' && *++from != '"') {
                quoted = false;
                --from; // the loop continues behind the closing quote
                continue;
            }
            *to++ = *from;
        }
        const bool last = *from == 0;
        *to = 0;
        if (last) break;
        ++from;
    }
    return count;
}

// A number where all of the field is one, null where it is empty.
static json_t *field_value(const char *field) {
    if (field[0] == 0) return json_null();
    char *rest;
    if (strspn(field, "0123456789") == strlen(field) && strlen(field) < 19) return json_integer(atoll(field));
    const double number = strtod(field, &rest);
    json_t *value = *rest == 0 && strpbrk(field, "0123456789") != NULL ? json_real(number) : NULL;
    return value != NULL ? value : tool_json_text(field); // text, or no finite number
}

json_t *tool_read_csv(FILE *file) {
    char head[LINE_BYTES], line[LINE_BYTES], *names[MOST_COLUMNS], *fields[MOST_COLUMNS];
    json_t *rows = json_array();
    if (fgets(head, sizeof head, file) == NULL) return rows;
    const int columns = split_line(head, names);
    while (fgets(line, sizeof line, file) != NULL) {
        const int count = split_line(line, fields);
        json_t *row = json_object();
        for (int i = 0; i < columns && i < count; ++i)
            json_object_set_new(row, names[i], field_value(fields[i]));
        json_array_append_new(rows, row);
    }
    return rows;
}
