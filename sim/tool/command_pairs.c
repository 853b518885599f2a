// `pairsieve pairs`: boxes of the elements of one mesh, or of its motion from one file to the next, and their overlaps.
#include <stdlib.h>
#include <string.h>

#include "distributed.h"
#include "mesh_elements.h"
#include "pairsieve/collision.h"
#include "pairsieve/group_pairs.h"
#include "pairsieve/sim.h"
#include "pairsieve/sort.h"
#include "tool.h"

#define PAIRS_PER_BOX 8 // room at the start; the buffer grows
#define MOST_REPEATS 1000
#define REPEAT_SECONDS 1.0 // without --repeat: as many as fit, 5 at most

typedef struct pairs_job {
    tool_device_options device;
    const char *paths[2];
    uint32_t path_count;
    const char *boxes;
    const char *between[2];
    const char *broad_phase;
    const char *sort;
    const char *csv;
    uint64_t max_pairs;
    bool has_max_pairs;
    uint64_t repeat;
    bool has_repeat, json;
    tool_rank_options rank_options;
    tool_ranks ranks;

    psv_context *context;
    psv_pair_finder *finder;
    psv_buffer buffers[2]; // of the box sets
    psv_box_set sets[2];
    uint32_t set_count;
    psv_aabb *host_boxes[2];
    uint64_t all_boxes; // of set 0, of all ranks
    uint64_t pairs;
    psv_pair_statistics statistics;
    double phase_ms[PSV_PHASE_COUNT], frame_ms;
} pairs_job;

static const char *const element_names[] = {"vertices", "edges", "faces", "all", NULL};

// --- boxes ----------------------------------------------------------------------------------------------------------

static int load_meshes(const pairs_job *job, psv_mesh meshes[2]) {
    for (uint32_t m = 0; m < job->path_count; ++m) {
        psv_status status = psv_load_mesh(NULL, job->paths[m], &meshes[m]);
        if (status != PSV_OK) return tool_fail_status(NULL, status);
    }
    if (job->path_count < 2) return TOOL_DONE;
    if (meshes[0].vertex_count == meshes[1].vertex_count && meshes[0].triangle_count == meshes[1].triangle_count &&
        (meshes[0].triangle_count == 0 ||
         memcmp(meshes[0].triangles, meshes[1].triangles, 12 * (size_t)meshes[0].triangle_count) == 0))
        return TOOL_DONE;
    return tool_fail(
        TOOL_REFUSED,
        "%s (%u vertices, %u triangles) and %s (%u vertices, %u triangles) are not two frames of one mesh: "
        "the same vertices and faces are accepted",
        job->paths[0], meshes[0].vertex_count, meshes[0].triangle_count, job->paths[1], meshes[1].vertex_count,
        meshes[1].triangle_count);
}

static int upload_boxes(pairs_job *job, uint32_t set, uint64_t count) {
    if (job->host_boxes[set] == NULL) return tool_fail(TOOL_REFUSED, "no memory for the boxes of %s", job->paths[0]);
    const uint64_t first = count * job->ranks.rank / job->ranks.size; // of this rank
    const uint64_t own = count * (job->ranks.rank + 1) / job->ranks.size - first, bytes = own * sizeof(psv_aabb);
    psv_status status = psv_alloc_buffer(job->context, bytes, &job->buffers[set]);
    if (status == PSV_OK && bytes > 0)
        status = psv_upload(job->context, job->buffers[set], job->host_boxes[set] + first, bytes);
    if (status != PSV_OK) return tool_fail_status(job->context, status);
    job->sets[set] = psv_boxes_of(job->buffers[set], sizeof(psv_aabb), own);
    return TOOL_DONE;
}

static int make_boxes(pairs_job *job, const psv_mesh meshes[2]) {
    mesh_edges edges;
    if (!tool_mesh_edges(&meshes[0], &edges))
        return tool_fail(TOOL_REFUSED, "no memory for the edges of %s", job->paths[0]);
    const char *const words[2] = {job->set_count == 1 ? job->boxes : job->between[0], job->between[1]};
    int code = TOOL_DONE;
    for (uint32_t s = 0; s < job->set_count && code == TOOL_DONE; ++s) {
        int elements = tool_choose(job->set_count == 1 ? "--boxes" : "--between", words[s], element_names);
        if (elements < 0) {
            code = TOOL_REFUSED;
            break;
        }
        uint64_t count = tool_mesh_boxes(&meshes[0], job->path_count > 1 ? &meshes[1] : NULL, &edges,
                                         (mesh_elements)elements, &job->host_boxes[s]);
        if (s == 0) job->all_boxes = count;
        code = upload_boxes(job, s, count);
    }
    free(edges.edges);
    return code;
}

static uint64_t box_count(const pairs_job *job) {
    return job->sets[0].count + (job->set_count > 1 ? job->sets[1].count : 0);
}

// --- search ---------------------------------------------------------------------------------------------------------

static int create_finder(pairs_job *job) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.method = job->broad_phase;
    def.sort_method = job->sort;
    def.max_boxes = box_count(job) > 0 ? box_count(job) : 1;
    def.max_pairs = job->has_max_pairs ? job->max_pairs : PAIRS_PER_BOX * def.max_boxes;
    def.grow_pairs = !job->has_max_pairs;
    def.sort_output = job->csv != NULL;
    return tool_fail_status(job->context, psv_create_pair_finder(job->context, &def, &job->finder));
}

static psv_status search_once(pairs_job *job, psv_profile *profile) {
    psv_status status = job->set_count == 1 ? psv_find_pairs(job->finder, &job->sets[0])
                                            : psv_find_pairs_between(job->finder, &job->sets[0], &job->sets[1]);
    if (status == PSV_OK) status = psv_finish_pairs(job->finder, &job->pairs);
    if (status == PSV_OK) status = psv_wait_profile(job->context, profile);
    return status;
}

// The first search makes room and warms up; then as many as were asked for, or as fit into a second.
static int search(pairs_job *job) {
    psv_profile warm_up;
    double begin = tool_seconds_now();
    psv_status status = psv_enable_profile(job->context, true);
    if (status == PSV_OK) status = search_once(job, &warm_up);
    if (status == PSV_ERROR_CAPACITY && job->has_max_pairs && psv_finish_pairs(job->finder, &job->pairs) == status)
        return tool_fail(TOOL_REFUSED, "--max-pairs %llu: %llu pairs overlap; without it the room grows as needed",
                         (unsigned long long)job->max_pairs, (unsigned long long)job->pairs);
    if (status != PSV_OK) return tool_fail_status(job->context, status);
    uint64_t repeats = job->repeat;
    if (!job->has_repeat) {
        double fit = REPEAT_SECONDS / (tool_seconds_now() - begin + 1e-9);
        repeats = fit >= 5 ? 5 : (uint64_t)fit;
    }
    psv_profile *profiles = malloc((repeats + 1) * sizeof *profiles);
    double *values = malloc((repeats + 1) * sizeof *values);
    if (profiles == NULL || values == NULL) status = PSV_ERROR_MEMORY;
    for (uint64_t r = 0; r < repeats && status == PSV_OK; ++r)
        status = search_once(job, &profiles[r]);
    if (status == PSV_OK && repeats == 0) profiles[repeats++] = warm_up;
    for (int phase = 0; phase <= PSV_PHASE_COUNT && status == PSV_OK; ++phase) {
        for (uint64_t r = 0; r < repeats; ++r)
            values[r] = phase < PSV_PHASE_COUNT ? profiles[r].phase_ms[phase] : profiles[r].frame_ms;
        *(phase < PSV_PHASE_COUNT ? &job->phase_ms[phase] : &job->frame_ms) = tool_median(values, repeats);
    }
    free(profiles);
    free(values);
    if (status == PSV_OK) status = psv_read_pair_statistics(job->finder, &job->statistics);
    return tool_fail_status(job->context, status);
}

static int check_boxes(pairs_job *job) {
    if (job->statistics.bad_boxes == 0) return TOOL_DONE;
    uint32_t first = 0;
    uint64_t count = 0;
    psv_status status = psv_read_bad_boxes(job->finder, &first, 1, &count);
    if (status != PSV_OK && status != PSV_ERROR_CAPACITY) return tool_fail_status(job->context, status);
    return tool_fail(TOOL_REFUSED,
                     "%s: %llu of %llu boxes are bad (NaN), the first is box %u; finite positions are accepted",
                     job->paths[0], (unsigned long long)count, (unsigned long long)box_count(job), first);
}

// --- output ---------------------------------------------------------------------------------------------------------

static int write_csv(const pairs_job *job) {
    tool_output output;
    int code = tool_open_output(&output, job->csv);
    if (code != TOOL_DONE) return code;
    psv_pair *pairs = malloc((job->pairs + 1) * sizeof *pairs);
    psv_status status = PSV_OK;
    if (pairs != NULL) status = psv_read_pairs(job->finder, pairs, job->pairs, NULL);
    if (pairs == NULL)
        code = tool_fail(TOOL_REFUSED, "no memory for %llu pairs", (unsigned long long)job->pairs);
    else
        code = tool_fail_status(job->context, status);
    if (code == TOOL_DONE) fputs("a,b\n", output.stream);
    for (uint64_t i = 0; code == TOOL_DONE && i < job->pairs; ++i)
        fprintf(output.stream, "%u,%u\n", pairs[i].a, pairs[i].b);
    free(pairs);
    int closed = tool_close_output(&output, code == TOOL_DONE);
    return code != TOOL_DONE ? code : closed;
}

static int print_json(const pairs_job *job) {
    json_t *phases = json_object();
    for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase)
        if (job->phase_ms[phase] > 0)
            json_object_set_new(phases, psv_phase_name((psv_phase)phase), json_real(job->phase_ms[phase]));
    return tool_print_result("pairs", job->context,
                             json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:o}", "boxes", (json_int_t)box_count(job),
                                       "pairs", (json_int_t)job->pairs, "backend",
                                       psv_backend_name(psv_context_backend(job->context)), "method",
                                       job->statistics.method, "sort", job->statistics.sort_method, "route",
                                       job->statistics.route, "veto", job->statistics.veto, "phases", phases));
}

static int print_table(FILE *out, const pairs_job *job) {
    char boxes[32], pairs[32];
    fprintf(out, "%s boxes, %s overlapping pairs\n", tool_format_count(boxes, box_count(job)),
            tool_format_count(pairs, job->pairs));
    fprintf(out, "%s (%s), broad phase %s, sort %s\n\n", psv_backend_name(psv_context_backend(job->context)),
            psv_context_device_name(job->context), job->statistics.method, job->statistics.sort_method);
    fprintf(out, "%-10s %10s %7s\n", "phase", "ms", "share");
    for (int phase = 0; phase < PSV_PHASE_COUNT; ++phase)
        if (job->phase_ms[phase] > 0)
            fprintf(out, "%-10s %10.3f %6.1f%%\n", psv_phase_name((psv_phase)phase), job->phase_ms[phase],
                    job->frame_ms > 0 ? 100 * job->phase_ms[phase] / job->frame_ms : 0.0);
    fprintf(out, "%-10s %10.3f\n", "all", job->frame_ms);
    return TOOL_DONE;
}

// --- over the ranks of an MPI job ------------------------------------------------------------------------------------

static int print_distributed(const pairs_job *job, psv_group_finder *finder, const psv_group_pair_statistics *s,
                             double median_ms) {
    const uint64_t pairs = psv_group_total_pairs(finder);
    if (job->json)
        return tool_print_result("pairs_of_ranks", job->context,
                                 json_pack("{s:I, s:I, s:I, s:s, s:f, s:f, s:{s:f, s:f, s:f, s:f}}", "boxes",
                                           (json_int_t)s->boxes, "pairs", (json_int_t)pairs, "ranks",
                                           (json_int_t)job->ranks.size, "method", s->local.method, "imbalance",
                                           s->imbalance, "ms", median_ms, "phases", "split", s->split_ms, "move",
                                           s->move_ms, "find", s->find_ms, "keep", s->keep_ms));
    char boxes[32], found[32];
    printf("%s boxes, %s overlapping pairs on %u ranks, %s\n", tool_format_count(boxes, s->boxes),
           tool_format_count(found, pairs), job->ranks.size, psv_context_device_name(job->context));
    printf(
        "median %.3f ms; the last one on rank 0: split %.3f, move %.3f, find %.3f, keep %.3f ms; fullest rank %.2f%% "
        "over the mean\n",
        median_ms, s->split_ms, s->move_ms, s->find_ms, s->keep_ms, 100 * (s->imbalance - 1));
    return TOOL_DONE;
}

static int search_distributed(pairs_job *job) {
    psv_group_finder_def def = psv_default_group_finder_def();
    def.local.method = job->broad_phase;
    def.local.sort_method = job->sort;
    def.local.max_boxes = job->sets[0].count;
    psv_group_finder *finder = NULL;
    psv_group_pair_statistics statistics = {0};
    const uint64_t repeats = job->has_repeat && job->repeat > 0 ? job->repeat : 5;
    double times[MOST_REPEATS];
    psv_status status = psv_create_group_finder(job->ranks.group, &def, &finder);
    for (uint64_t r = 0; r <= repeats && status == PSV_OK; ++r) { // the first one makes room
        const double begin = tool_seconds_now();
        status = psv_group_find_pairs(finder, &job->sets[0]);
        tool_note_progress(&job->ranks);
        if (r > 0) times[r - 1] = 1e3 * (tool_seconds_now() - begin);
    }
    if (status == PSV_OK) status = psv_read_group_pair_statistics(finder, &statistics);
    int code = tool_fail_status(job->context, status);
    if (code == TOOL_DONE && statistics.bad_boxes > 0)
        code = tool_fail(TOOL_REFUSED, "%s: %llu of %llu boxes are bad (NaN); finite positions are accepted",
                         job->paths[0], (unsigned long long)statistics.bad_boxes, (unsigned long long)statistics.boxes);
    if (code == TOOL_DONE && job->ranks.rank == 0)
        code = print_distributed(job, finder, &statistics, tool_median(times, repeats));
    psv_destroy_group_finder(finder);
    return code;
}

static int check_same_boxes(const pairs_job *job) {
    const uint64_t calls = job->has_repeat ? job->repeat + 1 : 0;
    return tool_check_agreement(&job->ranks, "boxes, or another --repeat,", job->host_boxes[0],
                                job->all_boxes * sizeof(psv_aabb), calls);
}

static int run_distributed(pairs_job *job) {
    psv_mesh meshes[2] = {{0}};
    job->ranks.size = 0;
    int code = tool_open_ranks(&job->device, job->rank_options.limit, &job->ranks);
    if (job->ranks.size == 0) return code; // a build without MPI
    job->context = job->ranks.context;
    if (code == TOOL_DONE) code = load_meshes(job, meshes);
    if (code == TOOL_DONE) code = make_boxes(job, meshes);
    psv_free_mesh(&meshes[0]);
    psv_free_mesh(&meshes[1]);
    if (code == TOOL_DONE) code = check_same_boxes(job);
    if (code == TOOL_DONE) code = search_distributed(job);
    if (job->context != NULL) psv_free_buffer(job->context, &job->buffers[0]);
    free(job->host_boxes[0]);
    return tool_close_ranks(&job->ranks, code);
}

// --- command --------------------------------------------------------------------------------------------------------

static int run_job(pairs_job *job) {
    psv_mesh meshes[2] = {{0}};
    const tool_file files[] = {
        {.option = "the mesh", .path = job->paths[0], .is_input = true},
        {.option = "the mesh", .path = job->paths[1], .is_input = true},
        {.option = "--csv", .path = job->csv},
    };
    const bool table_aside = tool_uses_stdout(files, 3);
    int code = tool_check_files(files, 3);
    if (code == TOOL_DONE && table_aside && job->json)
        code = tool_fail(TOOL_REFUSED, "--json prints to standard output, where nothing else can go");
    if (code == TOOL_DONE) code = load_meshes(job, meshes);
    if (code == TOOL_DONE) code = tool_create_context(&job->device, &job->context);
    if (code == TOOL_DONE) code = tool_check_method(job->context, "--sort", job->sort, psv_pair_sort_name);
    if (code == TOOL_DONE)
        code = tool_check_method(job->context, "--broad-phase", job->broad_phase, psv_broad_phase_name);
    if (code == TOOL_DONE) code = make_boxes(job, meshes);
    psv_free_mesh(&meshes[0]);
    psv_free_mesh(&meshes[1]);
    if (code == TOOL_DONE) code = create_finder(job);
    if (code == TOOL_DONE) code = search(job);
    if (code == TOOL_DONE) code = check_boxes(job);
    if (code == TOOL_DONE && job->csv != NULL) code = write_csv(job);
    if (code == TOOL_DONE) code = job->json ? print_json(job) : print_table(table_aside ? stderr : stdout, job);
    return code;
}

static void release_job(pairs_job *job) {
    psv_destroy_pair_finder(job->finder);
    for (int s = 0; s < 2; ++s) {
        if (job->context != NULL) psv_free_buffer(job->context, &job->buffers[s]);
        free(job->host_boxes[s]);
    }
    psv_destroy_context(job->context);
}

int command_pairs(int argc, char **argv) {
    pairs_job job = {.device = {.backend = "auto"},
                     .boxes = "all",
                     .broad_phase = "auto",
                     .sort = "cells",
                     .ranks.size = 1,
                     .rank_options.limit = TOOL_TIME_LIMIT};
    bool has_boxes = false, has_between = false;
    const tool_option options[] = {
        {.name = "--boxes",
         .argument = "KIND",
         .help = "vertices, edges, faces or all (the default, in that order)",
         .kind = OPTION_TEXT,
         .target = &job.boxes,
         .given = &has_boxes},
        {.name = "--between",
         .argument = "KIND KIND",
         .help = "pairs of the first kind with the second kind only",
         .kind = OPTION_TWO_TEXTS,
         .target = job.between,
         .given = &has_between},
        TOOL_DEVICE_OPTIONS(job.device),
        {.name = "--broad-phase",
         .argument = "NAME",
         .help = "method, see 'pairsieve list'; auto without it",
         .kind = OPTION_TEXT,
         .target = &job.broad_phase},
        {.name = "--sort",
         .argument = "NAME",
         .help = "sorting method, see 'pairsieve list'; cells, as is fastest for the method, without it",
         .kind = OPTION_TEXT,
         .target = &job.sort},
        {.name = "--max-pairs",
         .argument = "N",
         .help = "room for pairs; without it the room grows as needed",
         .kind = OPTION_COUNT,
         .target = &job.max_pairs,
         .least = 1,
         .most = UINT64_C(1) << 40,
         .given = &job.has_max_pairs},
        {.name = "--repeat",
         .argument = "N",
         .help = "searches that are timed, after a first one; the median is shown. 0: time the first one",
         .kind = OPTION_COUNT,
         .target = &job.repeat,
         .most = MOST_REPEATS,
         .given = &job.has_repeat},
        {.name = "--csv",
         .argument = "FILE",
         .help = "write the pairs as lines a,b in ascending order; - is standard output",
         .kind = OPTION_TEXT,
         .target = &job.csv},
        TOOL_RANK_OPTIONS(job.rank_options, "pairs", "boxes"),
        {.name = "--json", .help = "print one JSON object and nothing else", .kind = OPTION_FLAG, .target = &job.json},
    };
    tool_command command = {
        .name = "pairs",
        .usage = "MESH0 [MESH1] [OPTION]...",
        .summary =
            "Finds the overlapping boxes of the elements of a mesh (PLY, OBJ or STL). With MESH1, the next frame of\n"
            "the same mesh, each box covers its element's way from MESH0 to MESH1.",
        .details =
            "Faces of more than three corners are split. Edges are the distinct vertex pairs of the faces, in order\n"
            "of (larger, smaller) vertex number. Box numbers run over vertices, then edges, then faces.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .operands = job.paths,
        .operand_room = 2,
        .operand_needed = "a mesh file",
    };
    int code = tool_parse_options(&command, argc, argv);
    if (code != TOOL_CONTINUE) return code;
    job.path_count = command.operand_count;
    if (has_boxes && has_between) return tool_fail(TOOL_REFUSED, "--boxes and --between exclude each other");
    job.set_count = has_between ? 2 : 1;
    if (job.rank_options.distributed && (has_between || job.csv != NULL || job.has_max_pairs))
        return tool_fail(TOOL_REFUSED, "--distributed goes without --between, --csv and --max-pairs");
    if (job.rank_options.distributed) return run_distributed(&job);
    code = run_job(&job);
    release_job(&job);
    return code;
}
