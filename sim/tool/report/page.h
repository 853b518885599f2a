// What pages of measurements share: one HTML file with its style, drawings and data, which asks the network for
// nothing.
#ifndef PAIRSIEVE_TOOL_PAGE_H
#define PAIRSIEVE_TOOL_PAGE_H

#include <jansson.h>
#include <stdio.h>

#define PAGE_BUSY_LOAD 0.3 // load average a processor above which a page warns

// Head, title, a first paragraph, a warning where the machine was busy, and the facts of `machine` (see machine.h).
void page_begin(FILE *out, const char *title, const char *lead, const json_t *machine);
void page_end(FILE *out);

// A link with a table of report["tables"] as CSV in it, and the command that measures a row again.
void page_source(FILE *out, const json_t *report, const char *table);

// Rows of a table; a column of a row, 0 and "" where it is missing.
const json_t *page_rows(const json_t *report, const char *table);
double page_number(const json_t *row, const char *column);
const char *page_text(const json_t *row, const char *column);

#endif
