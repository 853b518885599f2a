// A frame or a whole replay as binary glTF 2.0.
#ifndef PAIRSIEVE_REPLAY_GLTF_H
#define PAIRSIEVE_REPLAY_GLTF_H

#include "replay.h"

#define REPLAY_WHOLE_RUN UINT64_MAX

// `frame`: only that one, with bodies as instances of their shapes (EXT_mesh_gpu_instancing); REPLAY_WHOLE_RUN: a node
// a body, animated. The stream is written from its beginning to its end. Leaves the reader at another frame.
bool replay_write_gltf(FILE *stream, replay_reader *reader, uint64_t frame, replay_error *error);

#endif
