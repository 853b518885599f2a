#include "capture.h"

#include "../../core/portable/replaced_file.h"

#include <errno.h>
#include <stb/stb_image_write.h>
#include <stdio.h>
#include <string.h>

static void put_bytes(void *stream, void *bytes, int count) { (void)fwrite(bytes, 1, (size_t)count, stream); }

bool view_can_write(const char *path, view_message *message) {
    char folder[PATH_MAX] = ".";
    const char *slash = psvi_last_slash(path);
    struct stat old;
    int reason = 0;
    if (stat(path, &old) == 0) {
        reason = S_ISDIR(old.st_mode) ? EISDIR : access(path, W_OK) == 0 ? 0 : errno;
    } else {
        if (slash != NULL) (void)snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
        if (access(folder, W_OK) != 0) reason = errno;
    }
    if (reason != 0) view_say(message, "picture '%s' cannot be written: %s", path, strerror(reason));
    return reason == 0;
}

bool view_write_png(const char *path, const uint8_t *pixels, int width, int height, view_message *message) {
    psvi_replaced_file file;
    if (!psvi_open_replaced(&file, path)) {
        view_say(message, "picture '%s' cannot be written: %s", path, strerror(errno));
        return false;
    }
    const bool made = stbi_write_png_to_func(put_bytes, file.stream, width, height, 3, pixels, width * 3) != 0;
    if (psvi_close_replaced(&file, made) && made) return true;
    view_say(message, "picture '%s' cannot be written: %s", path, made ? strerror(errno) : "no memory");
    return false;
}

// A name beside the video's, with its ending, by which ffmpeg knows the format; empty where it does not fit.
static void name_part(view_video *video, const char *path) {
    const char *slash = psvi_last_slash(path), *dot = strrchr(path, '.');
    const int folder = slash == NULL ? 0 : (int)(slash - path) + 1;
    struct stat old;
    const bool plain = stat(path, &old) != 0 ? errno == ENOENT : S_ISREG(old.st_mode);
    const int target = snprintf(video->target, sizeof video->target, "%s", path);
    const int part = snprintf(video->part, sizeof video->part, "%.*s.pairsieve-%ld.part%s", folder, path,
                              (long)getpid(), dot != NULL && (slash == NULL || dot > slash) ? dot : "");
    if (!plain || target >= (int)sizeof video->target || part >= (int)sizeof video->part) video->part[0] = '\0';
}

bool view_open_video(view_video *video, const char *path, int width, int height, int frames_per_second,
                     view_message *message) {
    char size[32], rate[16], file[sizeof video->part + 8];
    *video = (view_video){.width = width, .height = height};
    name_part(video, path);
    // Without the protocol ffmpeg would send a video named http://... away.
    (void)snprintf(file, sizeof file, "file:%s", video->part[0] != '\0' ? video->part : path);
    snprintf(size, sizeof size, "%dx%d", width, height);
    snprintf(rate, sizeof rate, "%d", frames_per_second);
    const char *const arguments[] = {"ffmpeg",
                                     "-loglevel",
                                     "error",
                                     "-nostdin",
                                     "-y",
                                     "-f",
                                     "rawvideo",
                                     "-pixel_format",
                                     "rgb24",
                                     "-video_size",
                                     size,
                                     "-framerate",
                                     rate,
                                     "-i",
                                     "pipe:0",
                                     "-vf",
                                     "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                                     "-pix_fmt",
                                     "yuv420p",
                                     file,
                                     NULL};
    if (view_start_child(&video->ffmpeg, arguments)) return true;
    view_say(message, "video '%s' needs the ffmpeg command, which could not be started: %s", path, strerror(errno));
    return false;
}

bool view_write_video(view_video *video, const uint8_t *pixels, view_message *message) {
    if (!view_write_child(&video->ffmpeg, pixels, (size_t)video->width * (size_t)video->height * 3)) {
        view_say(message, "ffmpeg stopped taking frames: %s", strerror(errno));
        return false;
    }
    video->frames += 1;
    return true;
}

bool view_close_video(view_video *video, view_message *message) {
    if (!view_is_recording(video)) return true;
    const bool good = view_end_child(&video->ffmpeg);
    const view_video ended = *video;
    *video = (view_video){0};
    if (!good) {
        if (ended.part[0] != '\0') (void)unlink(ended.part);
        view_say(message, "ffmpeg failed; its own message is above");
        return false;
    }
    if (ended.part[0] == '\0' || rename(ended.part, ended.target) == 0) return true;
    view_say(message, "video '%s' cannot be written: %s", ended.target, strerror(errno));
    (void)unlink(ended.part);
    return false;
}
