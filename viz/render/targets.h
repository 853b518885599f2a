// Programs and frame targets, see renderer.h.
#ifndef PAIRSIEVE_VIEW_TARGETS_H
#define PAIRSIEVE_VIEW_TARGETS_H

#include "view_renderer.h"

bool view_build_programs(view_programs *programs, view_message *message);
void view_free_programs(view_programs *programs);
bool view_make_targets(view_targets *targets, int width, int height, int samples, view_message *message);
void view_free_targets(view_targets *targets);

#endif
