// pairsieve-view: shows a scene, and the cost of finding its pairs.
#include "app.h"
#include "smoke.h"

#include <stdlib.h>

static void list_scenes(void) {
    const char *name = NULL;
    for (uint32_t i = 0; (name = psv_shipped_scene_name(i)) != NULL; ++i) {
        printf("%-14s %s\n", name, psv_shipped_scene_description(i));
    }
}

// At the end of a run with --check: 0 when both methods count the same pairs.
static int report_check(view_app *app) {
    view_run_check(app);
    const view_check *check = &app->check;
    if (!check->done) return VIEW_EXIT_FAILED;
    printf("pairs of frame %llu: %llu by %s, %llu by %s\n", (unsigned long long)check->frame,
           (unsigned long long)check->pairs, check->method, (unsigned long long)check->other_pairs, check->other);
    return view_check_agrees(check) ? VIEW_EXIT_GOOD : VIEW_EXIT_FAILED;
}

// At the end of a run with --check-sampled: 0 when all pairs that were looked at are right.
static int report_sampled(const view_app *app) {
    psv_world_check found;
    if (psv_read_world_check(app->world, &found) != PSV_OK) return VIEW_EXIT_FAILED;
    printf("checked by samples: %llu steps, %llu boxes with %llu pairs, %llu missing, %llu too many\n",
           (unsigned long long)found.steps, (unsigned long long)found.boxes, (unsigned long long)found.pairs,
           (unsigned long long)found.missing, (unsigned long long)found.extra);
    if (found.missing + found.extra == 0) return VIEW_EXIT_GOOD;
    fprintf(stderr, "pairsieve-view: step %llu: pair (%u, %u) is %s\n", (unsigned long long)found.first_step,
            found.first.a, found.first.b, found.first_is_missing ? "missing" : "too many");
    return VIEW_EXIT_FAILED;
}

static int run(const view_options *options) {
    view_message message = {""};
    view_app *app = calloc(1, sizeof *app);
    if (app == NULL) {
        fputs("pairsieve-view: no memory to start\n", stderr);
        return VIEW_EXIT_FAILED;
    }
    if (view_open_app(app, options, &message)) {
        while (view_turn_app(app)) {
        }
        if (options->check && app->exit_code == VIEW_EXIT_GOOD && app->world != NULL)
            app->exit_code = report_check(app);
        if (options->check_sampled && app->exit_code == VIEW_EXIT_GOOD && app->world != NULL)
            app->exit_code = report_sampled(app);
    } else {
        fprintf(stderr, "pairsieve-view: %s\n", message.text);
    }
    view_close_app(app);
    int code = app->exit_code;
    free(app);
    return code;
}

int main(int count, char **arguments) {
    view_options options = view_default_options();
    view_message message = {""};
    if (!view_parse_options(count, arguments, &options, &message)) {
        fprintf(stderr, "pairsieve-view: %s\n", message.text);
        return VIEW_EXIT_USAGE;
    }
    if (options.help) {
        view_print_help();
        return VIEW_EXIT_GOOD;
    }
    if (options.version) {
        printf("pairsieve-view %d.%d.%d\n", PSV_VERSION_MAJOR, PSV_VERSION_MINOR, PSV_VERSION_PATCH);
        return VIEW_EXIT_GOOD;
    }
    if (options.list) {
        list_scenes();
        return VIEW_EXIT_GOOD;
    }
    return options.smoke ? view_run_smoke(&options) : run(&options);
}
