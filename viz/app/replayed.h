// A replay in the viewer: a world that is never stepped, whose bodies are put where the replay has them; and the writer
// of --record.
#ifndef PAIRSIEVE_VIEW_REPLAYED_H
#define PAIRSIEVE_VIEW_REPLAYED_H

#include "../../core/portable/replaced_file.h"
#include "measure.h"
#include "replay.h"

typedef struct view_replayed {
    replay_reader *reader; // NULL: a scene is shown
    psv_world *world;
    float (*positions)[4], (*rotations)[4], (*velocities)[4]; // by slot
    uint32_t *shapes;
    uint32_t wanted;   // frame
    double owed;       // frames, where time does not go at the replay's own pace
    bool holds;        // the next turn shows the frame as it is
    uint32_t measured; // frame by which the scene's size was measured; 0: none
} view_replayed;

// Opens the file and makes the world, at `frame`. May run in another thread than the viewer's. False with a message.
bool view_open_replay(view_replayed *replayed, psv_context *context, const char *path, uint64_t frame,
                      view_message *message);
void view_close_replay(view_replayed *replayed); // and its world

// Puts the bodies where a frame has them. False with a message for a damaged frame.
bool view_show_frame(view_replayed *replayed, uint32_t frame, view_message *message);

// Time goes on by so many frames, but not past the last one. True: the last frame was there before.
bool view_go_on(view_replayed *replayed, double frames);

// Times and counts of the step that led to the frame.
void view_replayed_counts(const view_replayed *replayed, psv_profile *profile, psv_world_counters *counters);

// --- --record -------------------------------------------------------------------------------------------------------

typedef struct view_recording {
    psvi_replaced_file file; // its stream is NULL where nothing is recorded
    replay_writer *writer;
} view_recording;

bool view_begin_recording(view_recording *recording, const char *path, psv_scene *scene, view_message *message);
bool view_record_frame(view_recording *recording, psv_world *world, float seconds, const psv_profile *profile,
                       const psv_world_counters *counters, view_message *message);
// With `keep` the file takes its name; a file that was there before stays otherwise.
bool view_end_recording(view_recording *recording, bool keep, view_message *message);

#endif
