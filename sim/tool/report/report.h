// `pairsieve report`: measurements as tables of one JSON object, and the page that is drawn from it.
//
// The report object:
//   schema    "pairsieve.report/1"
//   machine   see machine.h
//   options   quick, seconds, scenes
//   tables    name -> {keys: [column], values: [column], command, rows: [{column: value}]}
// A value X_ms has its quartiles in X_q1 and X_q3. `keys` say which rows of two reports are the same measurement.
#ifndef PAIRSIEVE_TOOL_REPORT_H
#define PAIRSIEVE_TOOL_REPORT_H

#include <jansson.h>

#include "../tool.h"
#include "pairsieve/sim.h"

#define REPORT_SCHEMA "pairsieve.report/1"

typedef struct report_job {
    tool_device_options device;
    const char *scenes, *counts; // names and numbers, divided by commas; no counts: by `quick`
    uint64_t count_list[9];      // the counts as numbers, 0 behind the last one
    const char *out, *json_path;
    bool quick, compare, peers;
    const char *python; // that runs the peers
    psv_context *context;
    json_t *report, *tables;
    double seconds; // of measuring; 0: by `quick`
    double begun, planned_seconds, spent_weight, total_weight;
    bool progress;
} report_job;

// --- report_tables.c ------------------------------------------------------------------------------------------------

// Adds an empty table. `keys` and `values` are column names, divided by blanks. False: no memory.
bool report_add_table(report_job *job, const char *name, const char *keys, const char *values, const char *command);

// Appends a row and takes it over. NULL is no memory.
bool report_add_row(report_job *job, const char *table, json_t *row);

// row[name_ms], row[name_q1], row[name_q3] = median and quartiles of `count` values, which are reordered.
void report_set_times(json_t *row, const char *name, double *values, uint64_t count);

// --- report_files.c -------------------------------------------------------------------------------------------------

// Makes job->report with what every report has: schema, machine of job->context, the command line (`name` and the
// words behind it), quick, and job->tables. Warns on stderr when the machine is busy. Exit codes.
int report_begin(report_job *job, const char *schema, const char *name, int argc, char **argv);

// Writes the page to job->out and, where that is given, the numbers to job->json_path. Exit codes.
int report_write_files(const report_job *job, void (*write_page)(FILE *out, const json_t *report));

// --- report_measure.c -----------------------------------------------------------------------------------------------

// Runs everything; exit codes. The tables are filled as far as the run came.
int report_measure(report_job *job);

// --- report_peers.c -------------------------------------------------------------------------------------------------

// Adds the table "peers": sorts and pairs by this library and by those that Python has, on the same input. Its column
// `result` says "same" where a peer found what this library found, else what went wrong. Exit codes.
int report_measure_peers(report_job *job);

// --- report_page.c --------------------------------------------------------------------------------------------------

void report_write_page(FILE *out, const json_t *report);

// --- report_compare.c -----------------------------------------------------------------------------------------------

// Prints the ratios b / a of every time, and whether the two differ. Exit codes.
int report_compare(const char *path_a, const char *path_b);

#endif
