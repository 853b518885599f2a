#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/portable/picture_name.h"

static const char *const colour_names[VIEW_COLOUR_COUNT] = {"body", "state", "pairs", "cell", "rank"};
static const char *const overlay_names[VIEW_OVERLAY_COUNT] = {"boxes", "pairs", "cells", "order", "speeds", "forces"};

const char *view_colour_name(view_colour_mode mode) { return mode < VIEW_COLOUR_COUNT ? colour_names[mode] : "?"; }

const char *view_overlay_name(uint32_t index) { return index < VIEW_OVERLAY_COUNT ? overlay_names[index] : "?"; }

view_options view_default_options(void) {
    return (view_options){.scene = "drop", .width = 1280, .height = 720, .supersample = 1};
}

void view_print_help(void) {
    puts("usage: pairsieve-view [SCENE] [options]\n"
         "\n"
         "Shows a scene of falling bodies, every overlapping pair of boxes found and resolved each frame.\n"
         "SCENE is the name of a shipped scene, a scene file or a snapshot. Without one a page with pictures of all\n"
         "shipped scenes is shown, to choose from; with --headless, --frames or --no-hud it is drop.\n"
         "\n"
         "scene\n"
         "  --bodies N            as many bodies, instead of the scene's own number\n"
         "  --seed N              seed of the scene's random numbers\n"
         "  --backend NAME        auto, cpu or cuda\n"
         "  --sort NAME           sorting method\n"
         "  --broad-phase NAME    broad-phase method\n"
         "  --pairs-on NAME       cpu (default) or gl: where the pairs of the CPU backend's bodies are found\n"
         "  --replay FILE         show a replay that --record or 'pairsieve run --record' wrote, instead of a scene\n"
         "  --at N                frame with which the replay begins; default 0\n"
         "  --list                names the scenes, and exits\n"
         "picture\n"
         "  --size WxH            window or picture size; default 1280x720\n"
         "  --supersample N       1 to 4: pixels a side that make one of the picture; default 1\n"
         "  --overlay LIST        of boxes, pairs, cells, order, speeds, forces, separated by commas\n"
         "  --colour MODE         body, state, pairs, cell or rank\n"
         "  --order-on NAME       cpu (default), gl or auto: where the CPU backend's bodies are put in order\n"
         "  --transparent         draw all bodies as glass, sorted by depth with pairsieve's own sorter\n"
         "  --ray-traced          sun, sky, mirrors and glass by rays; the key Y, too\n"
         "  --shadows             a shadow map for any number of bodies (above 400,000 it starts off; the key H, too)\n"
         "  --no-shadows          no shadow map\n"
         "  --no-hud              no panel\n"
         "  --strip               the panel as one line: phases of the step, and what share of it sorting is\n"
         "  --frame-all           look at all bodies, as the key Home does; without a window in each frame\n"
         "  --help-panel          open the help panel at the start\n"
         "  --no-vsync            draw as fast as possible\n"
         "  --no-interop          CUDA: copy through the host, as where sharing buffers with OpenGL is refused\n"
         "  --paused              start paused\n"
         "  --folder FOLDER       where the keys F12, F10 and the panel write files; default: pairsieve in the user's\n"
         "                        folder of pictures (XDG_PICTURES_DIR)\n"
         "  --tell FILE           for scripts: FILE always says where controls stand in the window\n"
         "                        (control X Y HALF-WIDTH NAME) and what is set (set NAME VALUE)\n"
         "  --check-sampled       compare pairs of some bodies with brute force, in at most 2% of the time\n"
         "without a display\n"
         "  --headless            no window; needs --frames (default 120). Only what is kept is drawn: the last\n"
         "                        frame, or all of a video; Ctrl-C makes the next frame the last\n"
         "  --frames N            stop after N frames\n"
         "  --screenshot FILE     write the last frame as a PNG file\n"
         "  --video FILE          write all frames through the ffmpeg command\n"
         "  --record FILE         write a replay of all frames\n"
         "  --csv FILE            write the phase times of the frames\n"
         "  --trace FILE          write them as Chrome trace JSON\n"
         "  --check               at the end compare the pair count of the last frame with an independent method\n"
         "  --smoke               run every shipped scene for a few frames, check picture and pairs, print a table\n"
         "  --help, --version\n"
         "\n"
         "keys: P pause, O step, left and right back and on in time, comma slower, R restart, [ ] scene, Tab panel,\n"
         "F1 help, Home frame all, Space shoot; F1 names the others. Exit codes: 0 well, 1 failed run or no usable "
         "display, 2 usage or bad input,\n"
         "130 interrupted without a window.");
}

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
    char *end = NULL;
    errno = 0;
    if (text[0] < '0' || text[0] > '9') return false;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < least || value > most) return false;
    *number = value;
    return true;
}

static bool parse_size(const char *text, view_options *options) {
    char tail = '\0';
    int width = 0, height = 0;
    if (sscanf(text, "%5dx%5d%c", &width, &height, &tail) != 2) return false;
    if (width < 16 || height < 16 || width > 16384 || height > 16384) return false;
    options->width = width;
    options->height = height;
    return true;
}

static bool parse_overlays(const char *text, view_options *options) {
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        uint32_t bit = 0;
        for (uint32_t i = 0; i < VIEW_OVERLAY_COUNT; ++i) {
            if (strlen(overlay_names[i]) == length && memcmp(overlay_names[i], at, length) == 0) bit = 1u << i;
        }
        if (bit == 0) return false;
        options->overlays |= bit;
        at += length;
        if (*at == ',') ++at;
    }
    return true;
}

static bool parse_colour(const char *text, view_options *options) {
    for (uint32_t i = 0; i < VIEW_COLOUR_COUNT; ++i) {
        if (strcmp(text, colour_names[i]) == 0) {
            options->colour = (view_colour_mode)i;
            return true;
        }
    }
    return false;
}

typedef struct text_option {
    const char *name;
    const char **target;
} text_option;

typedef struct flag_option {
    const char *name;
    bool *target;
} flag_option;

// Sets a flag or a text option. *used: arguments taken, 0 when the name is neither.
static bool parse_simple(const char *name, const char *value, view_options *o, int *used) {
    const flag_option flags[] = {
        {"--headless", &o->headless},
        {"--smoke", &o->smoke},
        {"--check", &o->check},
        {"--check-sampled", &o->check_sampled},
        {"--paused", &o->paused},
        {"--no-hud", &o->hide_hud},
        {"--strip", &o->strip},
        {"--frame-all", &o->frame_all},
        {"--help-panel", &o->help_panel},
        {"--transparent", &o->transparent},
        {"--shadows", &o->shadows},
        {"--no-shadows", &o->no_shadows},
        {"--ray-traced", &o->ray_traced},
        {"--no-interop", &o->no_interop},
        {"--no-vsync", &o->no_vsync},
        {"--list", &o->list},
        {"--help", &o->help},
        {"-h", &o->help},
        {"--version", &o->version},
    };
    const text_option texts[] = {
        {"--screenshot", &o->screenshot},   {"--video", &o->video}, {"--replay", &o->replay},
        {"--record", &o->record},           {"--csv", &o->csv},     {"--trace", &o->trace},
        {"--folder", &o->folder},           {"--tell", &o->tell},   {"--sort", &o->sort_method},
        {"--broad-phase", &o->broad_phase},
    };
    *used = 0;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; ++i) {
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].target = true;
            *used = 1;
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].target = value;
            *used = 2;
        }
    }
    return *used != 2 || value != NULL;
}

// Sets an option with a checked value. NULL: unknown option; otherwise the accepted values, and *good.
static const char *parse_checked(const char *name, const char *value, view_options *o, bool *good) {
    uint64_t number = 0;
    if (strcmp(name, "--bodies") == 0) {
        *good = value != NULL && parse_number(value, 1, 1u << 31, &o->bodies);
        return "a number from 1 to 2147483648";
    }
    if (strcmp(name, "--seed") == 0) {
        *good = o->has_seed = value != NULL && parse_number(value, 0, UINT64_MAX, &o->seed);
        return "a number from 0 to 18446744073709551615";
    }
    if (strcmp(name, "--frames") == 0) {
        *good = value != NULL && parse_number(value, 1, UINT64_MAX, &o->frames);
        return "a number from 1";
    }
    if (strcmp(name, "--at") == 0) {
        *good = value != NULL && parse_number(value, 0, UINT32_MAX, &o->at);
        return "a number from 0";
    }
    if (strcmp(name, "--supersample") == 0) {
        *good = value != NULL && parse_number(value, 1, 4, &number);
        if (*good) o->supersample = (int)number;
        return "a number from 1 to 4";
    }
    if (strcmp(name, "--size") == 0) {
        *good = value != NULL && parse_size(value, o);
        return "WxH, each from 16 to 16384, e.g. 1280x720";
    }
    if (strcmp(name, "--backend") == 0) {
        *good = value != NULL && psv_parse_backend(value, &o->backend) == PSV_OK && o->backend < PSV_BACKEND_GL;
        return "auto, cpu or cuda";
    }
    if (strcmp(name, "--pairs-on") == 0) {
        o->pairs_on_gl = value != NULL && strcmp(value, "gl") == 0;
        *good = o->pairs_on_gl || (value != NULL && strcmp(value, "cpu") == 0);
        return "cpu or gl";
    }
    if (strcmp(name, "--order-on") == 0) {
        *good = value != NULL && (strcmp(value, "cpu") == 0 || strcmp(value, "gl") == 0 || strcmp(value, "auto") == 0);
        o->order_on = value;
        return "cpu, gl or auto";
    }
    if (strcmp(name, "--overlay") == 0) {
        *good = value != NULL && parse_overlays(value, o);
        return "a list of boxes, pairs, cells, order, speeds, forces";
    }
    if (strcmp(name, "--colour") == 0 || strcmp(name, "--color") == 0) {
        *good = value != NULL && parse_colour(value, o);
        return "body, state, pairs, cell or rank";
    }
    return NULL;
}

bool view_parse_options(int count, char **arguments, view_options *options, view_message *message) {
    bool has_scene = false;
    for (int i = 1; i < count;) {
        const char *name = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        int used = 0;
        if (name[0] != '-') {
            if (has_scene) {
                view_say(message, "scene '%s' is one too many: one scene is accepted", name);
                return false;
            }
            has_scene = true;
            options->scene = name;
            ++i;
            continue;
        }
        if (!parse_simple(name, value, options, &used)) {
            view_say(message, "option '%s' needs a value", name);
            return false;
        }
        bool good = true;
        const char *accepted = used == 0 ? parse_checked(name, value, options, &good) : "";
        if (accepted == NULL) {
            view_say(message, "unknown option '%s': --help names all options", name);
            return false;
        }
        if (!good) {
            view_say(message, "option '%s' has '%s': accepted is %s", name, value == NULL ? "nothing" : value,
                     accepted);
            return false;
        }
        i += used == 0 ? 2 : used;
    }
    options->start_page = !has_scene && options->replay == NULL && !options->headless && options->frames == 0;
    if (options->frames == 0 && options->headless) options->frames = 120;
    if (options->replay != NULL && (has_scene || options->record != NULL || options->check)) {
        view_say(message, "option '--replay' goes without a scene, '--record' and '--check'");
        return false;
    }
    if (options->screenshot != NULL && psvi_names_other_picture(options->screenshot)) {
        view_say(message, "option '--screenshot' has '%s': accepted is the name of a PNG file", options->screenshot);
        return false;
    }
    return true;
}
