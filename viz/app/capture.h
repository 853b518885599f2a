// Pictures as PNG files, and video through the ffmpeg command.
#ifndef PAIRSIEVE_VIEW_CAPTURE_H
#define PAIRSIEVE_VIEW_CAPTURE_H

#include "../render/gl_util.h"
#include "child_process.h"

// Whether a picture could be written there, as far as the folder shows. Checked before a run, which may be long.
bool view_can_write(const char *path, view_message *message);

bool view_write_png(const char *path, const uint8_t *pixels, int width, int height, view_message *message);

typedef struct view_video {
    view_child ffmpeg;
    int width, height;
    uint64_t frames;
    char target[1024], part[1024]; // the video, and the file that becomes it when it is whole; empty: written as it is
} view_video;

static inline bool view_is_recording(const view_video *video) { return video->ffmpeg.process != 0; }

// The old file stays until the new one is complete.
//
// Starts ffmpeg; the file's suffix chooses the format. False with a message when ffmpeg is missing.
bool view_open_video(view_video *video, const char *path, int width, int height, int frames_per_second,
                     view_message *message);
bool view_write_video(view_video *video, const uint8_t *pixels, view_message *message);
bool view_close_video(view_video *video, view_message *message); // waits for ffmpeg; a closed video is allowed

#endif
