// `pairsieve info --memory`: memory of sorters, pair finders and trees, by part.
#include "info_memory.h"

#include <inttypes.h>

#include "pairsieve/collision.h"
#include "pairsieve/sort.h"
#include "pairsieve/tree.h"

#define BACKENDS 3 // CPU, CUDA, OpenGL

typedef struct memory_facts {
    bool built;
    psv_pair_finder_parts finder;
    uint64_t sorter, tree;
} memory_facts;

static memory_facts facts_of(psv_backend backend, uint64_t boxes, const char *method) {
    memory_facts facts = {.built = psv_broad_phase_name(backend, 0) != NULL};
    psv_pair_finder_def finder = psv_default_pair_finder_def();
    psv_sorter_def sorter = psv_default_sorter_def();
    psv_tree_def tree = psv_default_tree_def();
    finder.max_boxes = sorter.max_count = tree.max_items = boxes;
    if (method != NULL) finder.method = method;
    if (!facts.built) return facts;
    (void)psv_pair_finder_memory(backend, &finder, &facts.finder); // zero where the backend has not the method
    facts.sorter = psv_sorter_scratch_bytes(backend, &sorter);
    facts.tree = psv_tree_bytes(backend, &tree);
    return facts;
}

typedef struct memory_row {
    const char *name, *help;
    size_t at; // in memory_facts
} memory_row;

#define PART(part) offsetof(memory_facts, finder.part)

static const memory_row rows[] = {
    {"finder_methods", "finder: work memory of its methods", PART(methods)},
    {"finder_pairs", "finder: pairs, 8 a box", PART(pairs)},
    {"finder_results", "finder: results, bad boxes", PART(results)},
    {"finder", "finder", PART(total)},
    {"sorter", "sorter: radix, u32 keys and values", offsetof(memory_facts, sorter)},
    {"tree", "tree: linear", offsetof(memory_facts, tree)},
};
#define ROWS (sizeof rows / sizeof *rows)

static uint64_t bytes_at(const memory_facts *facts, const memory_row *row) {
    return *(const uint64_t *)(const void *)((const char *)facts + row->at);
}

static void print_row(const memory_facts facts[BACKENDS], const memory_row *row) {
    printf("%-38s", row->help);
    for (int b = 0; b < BACKENDS; ++b) {
        const uint64_t bytes = bytes_at(&facts[b], row);
        if (!facts[b].built) continue;
        if (bytes == 0)
            printf(" %10s", "-");
        else
            printf(" %10.3f", 1e-6 * (double)bytes);
    }
    printf("\n");
}

int info_memory(uint64_t boxes, const char *method, bool json) {
    memory_facts facts[BACKENDS];
    bool known = method == NULL;
    for (int b = 0; b < BACKENDS; ++b) {
        facts[b] = facts_of((psv_backend)(b + 1), boxes, method);
        known = known || facts[b].finder.total > 0;
    }
    if (!known) return tool_fail(TOOL_REFUSED, "no backend of this build has the broad phase '%.40s'", method);
    if (!json) {
        printf("memory for %" PRIu64 " boxes, keys or items, MB\n%-38s", boxes, "");
        for (int b = 0; b < BACKENDS; ++b)
            if (facts[b].built) printf(" %10s", psv_backend_name((psv_backend)(b + 1)));
        printf("\n");
        for (size_t r = 0; r < ROWS; ++r)
            print_row(facts, &rows[r]);
        return TOOL_DONE;
    }
    json_t *object = json_pack("{s:I}", "boxes", (json_int_t)boxes);
    for (int b = 0; b < BACKENDS; ++b) {
        if (!facts[b].built) continue;
        json_t *bytes = json_object();
        for (size_t r = 0; r < ROWS; ++r) // a method or tree that the backend has not takes nothing
            if (bytes_at(&facts[b], &rows[r]) > 0)
                json_object_set_new(bytes, rows[r].name, json_integer((json_int_t)bytes_at(&facts[b], &rows[r])));
        json_object_set_new(object, psv_backend_name((psv_backend)(b + 1)), bytes);
    }
    return tool_print_json(object);
}
