// The program bench_papers, which `pairsieve bench papers` runs.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../sim/tool/report/page.h"
#include "figures.h"

int figure_no_memory(void) { return tool_fail(TOOL_FAILED, "no memory for the figures"); }

// --- rows -----------------------------------------------------------------------------------------------------------

static json_t *new_row(const char *source, const char *device, const char *series, double x) {
    return json_pack("{s:s, s:s, s:s, s:f}", "source", source, "device", device, "series", series, "x", x);
}

bool figure_add(figure_run *run, const char *device, const char *series, double x, double *values, uint64_t count) {
    json_t *row = new_row("here", device, series, x);
    if (row == NULL) return false;
    json_object_set_new(row, "y", json_real(tool_percentile(values, count, 50)));
    json_object_set_new(row, "y_q1", json_real(tool_percentile(values, count, 25)));
    json_object_set_new(row, "y_q3", json_real(tool_percentile(values, count, 75)));
    json_object_set_new(row, "note", json_string("measured"));
    return report_add_row(&run->job, run->figure->id, row);
}

static bool add_paper_points(figure_run *run) {
    bool fits = true;
    for (const figure_point *point = figure_points; point->figure != NULL && fits; ++point) {
        if (strcmp(point->figure, run->figure->id) != 0) continue;
        json_t *row = new_row("paper", point->device, point->series, point->x);
        if (row == NULL) return false;
        static const char *const columns[] = {"y", "y_q1", "y_q3"};
        for (int c = 0; c < 3; ++c)
            json_object_set_new(row, columns[c], json_real(point->y));
        json_object_set_new(row, "note", json_string(point->note));
        fits = report_add_row(&run->job, run->figure->id, row);
    }
    return fits;
}

// Points of the same figure from another machine's result.
static bool add_points_beside(figure_run *run, const json_t *other) {
    size_t i;
    const json_t *row;
    bool fits = true;
    json_array_foreach(page_rows(other, run->figure->id), i, row) {
        if (strcmp(page_text(row, "source"), "here") != 0 || !fits) continue;
        json_t *copy = json_deep_copy(row);
        if (copy == NULL) return false;
        json_object_set_new(copy, "source", json_string("beside"));
        fits = report_add_row(&run->job, run->figure->id, copy);
    }
    return fits;
}

double figure_value(const figure_run *run, const char *device, const char *series, double x) {
    size_t i;
    const json_t *row;
    json_array_foreach(page_rows(run->job.report, run->figure->id), i, row) {
        const bool same = strcmp(page_text(row, "source"), "here") == 0 && page_number(row, "x") == x &&
                          strcmp(page_text(row, "device"), device) == 0 &&
                          strcmp(page_text(row, "series"), series) == 0;
        if (same) return page_number(row, "y");
    }
    return 0;
}

void figure_say(figure_run *run, const char *format, ...) {
    const size_t used = strlen(run->here);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(run->here + used, sizeof run->here - used, format, arguments);
    va_end(arguments);
}

// --- figures --------------------------------------------------------------------------------------------------------

static int measure_figure(figure_run *run, const json_t *other) {
    const figure *item = run->figure;
    run->here[0] = 0;
    if (item->measure == NULL) return TOOL_DONE;
    char command[96];
    (void)snprintf(command, sizeof command, "pairsieve bench papers --only %s", item->id);
    bool fits = report_add_table(&run->job, item->id, "source device series x", "y y_q1 y_q3 note", command) &&
                add_paper_points(run) && (other == NULL || add_points_beside(run, other));
    const int code = fits ? item->measure(run) : figure_no_memory();
    if (code == TOOL_DONE && run->here[0] == 0) figure_say(run, "Nothing here can run it.");
    return code;
}

static const char *state_of(const figure_run *run) {
    size_t i;
    const json_t *row;
    if (run->figure->measure == NULL) return run->figure->state;
    json_array_foreach(page_rows(run->job.report, run->figure->id), i,
                       row) if (strcmp(page_text(row, "source"), "here") == 0) return "measured";
    return "not on this machine";
}

static int add_figure(figure_run *run, json_t *list) {
    const figure *item = run->figure;
    json_t *entry = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b}", "state", state_of(run), "id", item->id,
        "paper", item->paper, "place", item->place, "title", item->title, "claim", item->claim, "absent",
        item->absent != NULL ? item->absent : "", "here", run->here, "x", item->x_name != NULL ? item->x_name : "", "y",
        item->y_name != NULL ? item->y_name : "", "log_x", item->log_x, "log_y", item->log_y, "stacked", item->stacked);
    return entry != NULL && json_array_append_new(list, entry) == 0 ? TOOL_DONE : figure_no_memory();
}

static bool chosen(const figure_run *run) {
    return run->only == NULL || strncmp(run->only, run->figure->id, strlen(run->only)) == 0;
}

static int measure_all(figure_run *run, const json_t *other) {
    json_t *list = json_object_get(run->job.report, "figures");
    int code = TOOL_DONE;
    for (run->figure = figure_list; run->figure->id != NULL && code == TOOL_DONE; ++run->figure) {
        if (!chosen(run)) continue;
        if (run->job.progress) fprintf(stderr, "\r%-20s %-60s", run->figure->place, run->figure->title);
        code = measure_figure(run, other);
        if (code == TOOL_DONE) code = add_figure(run, list);
    }
    if (run->job.progress) fprintf(stderr, "\r%*s\r", 82, "");
    return code;
}

// --- the command ----------------------------------------------------------------------------------------------------

static int check_only(const figure_run *run) {
    char names[512] = "";
    for (const figure *item = figure_list; item->id != NULL; ++item) {
        if (run->only == NULL || strncmp(run->only, item->id, strlen(run->only)) == 0) return TOOL_DONE;
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, " %s", item->id);
    }
    return tool_fail(TOOL_REFUSED, "--only %s is no figure; accepted:%s", run->only, names);
}

// A list of names with commas between them has this one.
static bool names_device(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; at != NULL && *at != 0; at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1)
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ',')) return true;
    return false;
}

static const psv_backend figure_backends[FIGURE_DEVICES] = {PSV_BACKEND_CPU, PSV_BACKEND_GL, PSV_BACKEND_VULKAN,
                                                            PSV_BACKEND_CUDA};

// Every name of --devices is a backend that this machine has.
static int check_devices(const figure_run *run) {
    size_t known = 0;
    if (run->only_devices == NULL) return TOOL_DONE;
    for (int b = 0; b < FIGURE_DEVICES; ++b) {
        const char *name = psv_backend_name(figure_backends[b]);
        if (!names_device(run->only_devices, name)) continue;
        if (!psv_backend_available(figure_backends[b]))
            return tool_fail(TOOL_REFUSED, "--devices %s: this machine has no %s", run->only_devices, name);
        known += strlen(name) + (known > 0);
    }
    if (known == strlen(run->only_devices) && known > 0) return TOOL_DONE;
    return tool_fail(TOOL_REFUSED, "--devices %s: accepted are cpu, gl, vulkan and cuda, with commas between them",
                     run->only_devices);
}

// The backends that this machine has, or those of --devices.
static int open_devices(figure_run *run) {
    for (int b = 0; b < FIGURE_DEVICES; ++b) {
        const char *name = psv_backend_name(figure_backends[b]);
        if (!psv_backend_available(figure_backends[b])) continue;
        if (run->only_devices != NULL && !names_device(run->only_devices, name)) continue;
        figure_device *device = &run->devices[run->device_count];
        psv_context_def def = psv_default_context_def();
        def.backend = figure_backends[b];
        def.worker_count = (int)run->job.device.workers;
        psv_status status = psv_create_context(&def, &device->context);
        if (status == PSV_OK) status = psv_enable_profile(device->context, true);
        if (status != PSV_OK) return tool_fail_status(device->context, status);
        device->name = name;
        ++run->device_count;
    }
    return TOOL_DONE;
}

const figure_device *figure_device_of(const figure_run *run, psv_backend backend) {
    for (uint32_t d = 0; d < run->device_count; ++d)
        if (figure_is(&run->devices[d], backend)) return &run->devices[d];
    return NULL;
}

static int begin(figure_run *run, int argc, char **argv, json_t **other) {
    report_job *job = &run->job;
    tool_file files[FIGURE_MESHES + 3] = {{.option = "--out", .path = job->out},
                                          {.option = "--json-out", .path = job->json_path},
                                          {.option = "--beside", .path = run->beside, .is_input = true}};
    for (uint32_t m = 0; m < run->mesh_count; ++m)
        files[3 + m] = (tool_file){.option = "--mesh", .path = run->meshes[m], .is_input = true};
    int code = tool_check_files(files, 3 + run->mesh_count);
    if (code == TOOL_DONE) code = check_only(run);
    if (code == TOOL_DONE) code = check_devices(run);
    if (code == TOOL_DONE && run->beside != NULL) {
        json_error_t error;
        *other = json_load_file(run->beside, 0, &error);
        if (*other == NULL) code = tool_fail(TOOL_REFUSED, "%s: %s (line %d)", run->beside, error.text, error.line);
        if (*other != NULL && strcmp(page_text(*other, "schema"), FIGURES_SCHEMA) != 0)
            code = tool_fail(TOOL_REFUSED, "%s is no file of 'bench papers --json-out'", run->beside);
    }
    if (code == TOOL_DONE) code = open_devices(run);
    if (code != TOOL_DONE) return code;
    job->context = run->devices[run->device_count - 1].context;
    code = report_begin(job, FIGURES_SCHEMA, "bench papers", argc - 1, argv + 1);
    if (code != TOOL_DONE) return code;
    json_object_set_new(job->report, "figures", json_array());
    const int workers = psv_context_worker_count(run->devices[0].context); // a GPU's context has none of its own
    json_t *machine = json_object_get(job->report, "machine");
    json_object_set_new(machine, "workers", json_integer(workers));
    if (run->commit != NULL) json_object_set_new(machine, "commit", tool_json_text(run->commit));
    return TOOL_DONE;
}

static int parse(figure_run *run, int argc, char **argv) {
    report_job *job = &run->job;
    const tool_option options[] = {
        {.name = "--quick",
         .help = "two or three minutes: fewer and smaller counts",
         .kind = OPTION_FLAG,
         .target = &job->quick},
        {.name = "--only",
         .argument = "FIGURE",
         .help = "figures whose name begins so: sa, sa-8, ha-4, garcia-9 ...",
         .kind = OPTION_TEXT,
         .target = &run->only},
        {.name = "--devices",
         .argument = "LIST",
         .help = "of cpu, gl, vulkan, cuda, with commas between them; all that are here without it",
         .kind = OPTION_TEXT,
         .target = &run->only_devices},
        {.name = "--beside",
         .argument = "FILE",
         .help = "another machine's --json-out, whose points are drawn too",
         .kind = OPTION_TEXT,
         .target = &run->beside},
        {.name = "--commit",
         .argument = "HASH",
         .help = "names the commit of a build without git",
         .kind = OPTION_TEXT,
         .target = &run->commit},
        {.name = "--workers",
         .argument = "N",
         .help = "threads of the CPU backend; all cores without it",
         .kind = OPTION_COUNT,
         .target = &job->device.workers,
         .least = 1,
         .most = 1024},
        {.name = "--out",
         .argument = "FILE",
         .help = "the page; papers.html without it",
         .kind = OPTION_TEXT,
         .target = &job->out},
        {.name = "--json-out",
         .argument = "FILE",
         .help = "the numbers too",
         .kind = OPTION_TEXT,
         .target = &job->json_path},
        {.name = "--mesh",
         .help = "the operands are mesh files (PLY, OBJ, STL)",
         .kind = OPTION_FLAG,
         .target = &run->has_meshes},
    };
    tool_command command = {
        .name = "bench papers",
        .usage = "[OPTION]... [--mesh FILE...]",
        .summary =
            "Measures every figure and table of three papers on GPU sorting that this machine can run, and writes one\n"
            "page: the points that the papers print beside ours, the claim, and what was found.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = run->meshes,
        .operand_room = FIGURE_MESHES,
    };
    const int code = tool_parse_options(&command, argc, argv);
    run->mesh_count = command.operand_count;
    if (code == TOOL_CONTINUE && run->mesh_count > 0 && !run->has_meshes)
        return tool_fail(TOOL_REFUSED, "'%s' is one argument too many; meshes come behind --mesh", run->meshes[0]);
    if (code == TOOL_CONTINUE && run->mesh_count == 0 && run->has_meshes)
        return tool_fail(TOOL_REFUSED, "--mesh needs a file");
    return code;
}

int main(int argc, char **argv) {
    figure_run run = {.job = {.out = "papers.html"}};
    json_t *other = NULL;
    int code = parse(&run, argc - 1, argv + 1);
    if (code != TOOL_CONTINUE) return code;
    code = begin(&run, argc, argv, &other);
    const double begun = tool_seconds_now();
    if (code == TOOL_DONE) code = measure_all(&run, other);
    if (code == TOOL_DONE) json_object_set_new(run.job.report, "seconds", json_real(tool_seconds_now() - begun));
    if (code == TOOL_DONE) code = report_write_files(&run.job, figures_write_page);
    if (code == TOOL_DONE) printf("%s is written; open it in a browser\n", run.job.out);
    json_decref(run.job.report);
    json_decref(other);
    for (uint32_t d = 0; d < run.device_count; ++d)
        psv_destroy_context(run.devices[d].context);
    return code;
}
