// The smoke mode: every shipped scene for a few frames.
#ifndef PAIRSIEVE_VIEW_SMOKE_H
#define PAIRSIEVE_VIEW_SMOKE_H

#include "app.h"

// Prints a table; returns the exit code.
int view_run_smoke(const view_options *options);

#endif
