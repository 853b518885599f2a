// Where files go that the user asks for without a name: pictures, videos, tables.
#ifndef PAIRSIEVE_VIEW_USER_FILES_H
#define PAIRSIEVE_VIEW_USER_FILES_H

#include "../render/gl_util.h"

#define VIEW_PATH_BYTES 1024

// A new name FOLDER/pairsieve-SCENE-NNNNNN.ENDING in `path`, of VIEW_PATH_BYTES; with "-2", "-3", ... where a file has
// that name. FOLDER is `chosen`, or without it "pairsieve" in the user's folder of pictures: XDG_PICTURES_DIR of the
// environment or of user-dirs.dirs, else Pictures in the home folder. Folders that are missing are made. False with a
// message when the folder cannot be made or written, or every name is taken.
bool view_name_user_file(char *path, const char *chosen, const char *scene, uint64_t frame, const char *ending,
                         view_message *message);

#endif
