// The time line: frames of a replay, or the last ten seconds of a scene that is paused.
#include "app.h"

float view_frame_seconds(const view_app *app) {
    if (app->scene != NULL) return psv_scene_frame_seconds(app->scene);
    return app->replayed.reader != NULL ? replay_get_head(app->replayed.reader)->frame_seconds : 1.0f / 60;
}

void view_report_recording(view_app *app, bool good, const view_message *message) {
    if (good) return;
    fprintf(stderr, "pairsieve-view: %s\n", message->text);
    app->exit_code = VIEW_EXIT_FAILED;
}

void view_fill_time_line(const view_app *app, view_time_line *line) {
    *line = (view_time_line){.frame_seconds = view_frame_seconds(app)};
    if (app->scene != NULL) {
        line->shown = app->paused && app->rewind.last > 0;
        line->first = view_rewind_first(&app->rewind);
        line->last = app->rewind.last;
        line->now = app->rewind.now;
        return;
    }
    if (app->replayed.reader == NULL) return;
    line->shown = true;
    line->last = replay_frame_count(app->replayed.reader) - 1;
    line->now = app->replayed.wanted;
}

static void rewind_scene(view_app *app, uint64_t step) {
    view_message message = {""};
    view_release(&app->touch);
    if (!view_rewind_to(&app->rewind, app->scene, step, &message)) view_report(app, &message);
    if (app->rewind.now != step) view_toast(app, "from here on it was you who changed the scene");
    view_follow_play(app);
    app->check.done = false;
    app->stale = true;
}

#define SAME_CHANGE_TURNS 30 // a slider or a grip that rests for longer begins another change

void view_before_change(view_app *app, view_change change) {
    const bool goes_on = change == VIEW_CHANGE_GRAB || change == VIEW_CHANGE_GRAVITY || change == VIEW_CHANGE_WIND ||
                         change == VIEW_CHANGE_SUBSTEPS;
    const bool same = goes_on && change == app->last_change && app->frame - app->changed_turn <= SAME_CHANGE_TURNS;
    app->last_change = change;
    app->changed_turn = app->frame;
    if (app->scene != NULL) view_keep_before_change(&app->rewind, app->scene, same);
    app->stale = true;
}

void view_undo_change(view_app *app) {
    view_message message = {""};
    if (app->scene == NULL) return;
    view_release(&app->touch);
    app->last_change = VIEW_CHANGE_NONE;
    if (!view_undo(&app->rewind, app->scene, &message)) {
        view_toast(app, "%s", message.text[0] != '\0' ? message.text : "nothing to undo");
        return;
    }
    psv_body_id *picked = &app->touch.picked; // it may be that in whose place a change had put another
    while (picked->index1 != 0 && picked->generation > 0 && !psv_body_is_valid(app->world, *picked))
        picked->generation -= 1;
    view_toast(app, "undone: the scene as it was before");
    view_follow_play(app);
    app->check.done = false;
    app->stale = true;
}

void view_set_time(view_app *app, uint64_t frame) {
    view_time_line line;
    view_fill_time_line(app, &line);
    if (!line.shown) return;
    if (frame < line.first) frame = line.first;
    if (frame > line.last) frame = line.last;
    if (app->scene != NULL)
        rewind_scene(app, frame);
    else
        app->replayed.wanted = (uint32_t)frame;
}

void view_move_time(view_app *app, int64_t frames) {
    view_time_line line;
    app->paused = true;
    view_fill_time_line(app, &line);
    if (!line.shown) return;
    const uint64_t back = frames < 0 ? (uint64_t)-frames : 0;
    view_set_time(app, back > line.now ? 0 : line.now + (frames > 0 ? (uint64_t)frames : 0) - back);
}

// What a step would leave is not in the file.
static void drop_boxes(view_app *app) {
    const uint32_t boxes = VIEW_OVERLAY_BOXES | VIEW_OVERLAY_PAIRS | VIEW_OVERLAY_CELLS | VIEW_OVERLAY_FORCES;
    const bool coloured = app->colour == VIEW_COLOUR_PAIRS || app->colour == VIEW_COLOUR_CELL;
    if (!coloured && (app->overlays & boxes) == 0) return;
    app->overlays &= ~boxes;
    if (coloured) app->colour = VIEW_COLOUR_BODY;
    view_toast(app, "a replay has no boxes, pairs and contacts, only their number");
}

// A run measures its size in the first frame and in every 120th; from there on its picture is by that size.
static uint32_t measured_frame(const view_replayed *replayed) {
    const uint32_t last = replay_frame_count(replayed->reader) - 1,
                   due = replayed->wanted - replayed->wanted % VIEW_MEASURE_EVERY;
    return due > 0 ? due : last > 0 ? 1 : 0;
}

static bool measure(view_app *app, view_message *message) {
    const uint32_t frame = measured_frame(&app->replayed);
    app->replayed.measured = frame;
    app->stale = true;
    return view_show_frame(&app->replayed, frame, message) && view_measure_model(&app->model, app->world, message) &&
           view_show_frame(&app->replayed, app->replayed.wanted, message);
}

void view_step_replay(view_app *app) {
    view_message message = {""};
    drop_boxes(app);
    if (app->step_once) app->replayed.holds = false;
    if (!app->paused || app->step_once) {
        const bool ended = view_go_on(&app->replayed, app->step_once ? 1.0 : (double)app->play.time_scale);
        if (ended && !app->options.headless) app->paused = true;
    }
    app->step_once = false;
    if (app->replayed.measured != measured_frame(&app->replayed) && !measure(app, &message))
        view_report(app, &message); // the size that was measured before is of use too
    if (app->replayed.wanted == replay_frame_now(app->replayed.reader)) return;
    app->stale = true;
    app->steps += 1;
    if (view_show_frame(&app->replayed, app->replayed.wanted, &message)) return;
    app->replayed.wanted = 0; // to where it can be read
    app->paused = true;
    view_report(app, &message);
    if (app->options.headless) view_fail(app, &message);
}
