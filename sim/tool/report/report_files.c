// The beginning of a report and the files that it ends in.
#include <unistd.h>

#include "../machine.h"
#include "page.h"
#include "report.h"

int report_begin(report_job *job, const char *schema, const char *name, int argc, char **argv) {
    char command[256];
    (void)snprintf(command, sizeof command, "pairsieve %s", name);
    for (int i = 0; i < argc; ++i) {
        const size_t used = strlen(command);
        (void)snprintf(command + used, sizeof command - used, " %s", argv[i]);
    }
    job->tables = json_object();
    job->report = json_pack("{s:s, s:o?, s:o, s:b, s:o}", "schema", schema, "machine", tool_machine_json(job->context),
                            "command", tool_json_text(command), "quick", job->quick, "tables", job->tables);
    if (tool_machine_load() > PAGE_BUSY_LOAD)
        (void)fprintf(stderr,
                      "pairsieve: other programs keep this machine busy (load %.2f a processor): times scatter\n",
                      tool_machine_load());
    job->progress = isatty(STDERR_FILENO);
    return job->report != NULL ? TOOL_DONE : tool_fail(TOOL_FAILED, "no memory for the report");
}

int report_write_files(const report_job *job, void (*write_page)(FILE *out, const json_t *report)) {
    tool_output output;
    int code = tool_open_output(&output, job->out);
    if (code != TOOL_DONE) return code;
    write_page(output.stream, job->report);
    code = tool_close_output(&output, true);
    if (code != TOOL_DONE || job->json_path == NULL) return code;
    code = tool_open_output(&output, job->json_path);
    if (code != TOOL_DONE) return code;
    const bool written = json_dumpf(job->report, output.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(7)) == 0;
    const int closed = tool_close_output(&output, written);
    return written ? closed : tool_fail(TOOL_FAILED, "could not write %s", job->json_path);
}
