// A page that shows a replay in a browser: everything is in one file, so that it opens from a folder.
#ifndef PAIRSIEVE_REPLAY_PAGE_H
#define PAIRSIEVE_REPLAY_PAGE_H

#include "replay.h"

typedef struct replay_text {
    const unsigned char *bytes;
    uint64_t count;
} replay_text;

extern const replay_text replay_page_text; // up to the replay

// Writes the page with the bytes of the replay in it, in base 64. False when one could not be read, or written.
bool replay_write_page(FILE *page, const char *replay_path, replay_error *error);

#endif
