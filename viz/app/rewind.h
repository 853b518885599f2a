// Back in time: states of a scene that are kept while it runs, and the steps that lead from one to the next. To any of
// the last steps the scene returns to the state before it and repeats the steps from there, bit by bit.
#ifndef PAIRSIEVE_VIEW_REWIND_H
#define PAIRSIEVE_VIEW_REWIND_H

#include "../render/gl_util.h"
#include "pairsieve/sim.h"

#define VIEW_REWIND_STEPS 600u // ten seconds of most scenes
#define VIEW_REWIND_STATES 21u
#define VIEW_REWIND_BODIES 65536u // above: fewer states, farther apart
#define VIEW_REWIND_FEW_STATES 6u
#define VIEW_REWIND_MOST_BODIES 524288u // above: none
#define VIEW_UNDO_STATES 8u             // kept before changes of the user; with fewer states two

// How a step was made: whole frames of the scene, or a part of one.
typedef struct view_rewind_step {
    uint32_t whole;
    float part;
    bool touched; // the user changed something before it, which a repetition would lack
} view_rewind_step;

typedef struct view_rewind {
    uint32_t states;                               // reserved; 0: there is no way back
    uint32_t every;                                // steps from one to the next
    uint64_t kept[VIEW_REWIND_STATES];             // step after which each was kept; UINT64_MAX: none
    view_rewind_step steps[VIEW_REWIND_STEPS + 1]; // by number, in a ring
    uint64_t now, last;                            // steps; last: that can be gone forward to
    bool touched;                                  // since the last step
    uint32_t undo_states;                          // their numbers follow those of `states`
    uint64_t undo_at[VIEW_UNDO_STATES];            // step of each, in a ring
    uint32_t undo_first, undo_count;
} view_rewind;

// Forgets everything and keeps the scene as it is. Without memory for states there is no way back.
void view_begin_rewind(view_rewind *rewind, psv_scene *scene);

// A step was made: what was kept of steps after it is forgotten.
void view_note_step(view_rewind *rewind, psv_scene *scene, uint32_t whole, float part);

// Before the user changes something: keeps the scene as it is for view_undo, unless the change belongs to the last one.
void view_keep_before_change(view_rewind *rewind, psv_scene *scene, bool same_change);

// To the scene before the last change that lies before now; what came after it is forgotten. False: there is none, or,
// with a message, it failed.
bool view_undo(view_rewind *rewind, psv_scene *scene, view_message *message);

uint64_t view_rewind_first(const view_rewind *rewind); // the earliest step that can be gone to

// To the state after `step`, or, where the user changed something on the way to it, to the one before the change. False
// with a message when a step failed; the scene is then at `now`.
bool view_rewind_to(view_rewind *rewind, psv_scene *scene, uint64_t step, view_message *message);

#endif
