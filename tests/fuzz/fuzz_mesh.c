// Fuzz target: any bytes, read as each of the mesh formats, give a consistent mesh or a refusal.
#include <stdlib.h>

#include "fuzz_target.h"
#include "sim/meshes/mesh_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"input.ply", "input.obj", "input.stl"};
    for (int format = 0; format < 3; ++format) {
        psv_mesh mesh;
        psv_status status = psvi_parse_mesh(NULL, names[format], data, size, &mesh);
        if (status != PSV_OK && psv_last_error(NULL)[0] == 0) abort(); // a refusal says why
        if (status != PSV_OK && (mesh.positions != NULL || mesh.triangles != NULL)) abort();
        for (uint64_t i = 0; i < 3 * (uint64_t)mesh.triangle_count; ++i)
            if (mesh.triangles[i] >= mesh.vertex_count) abort();
        psv_free_mesh(&mesh);
    }
    return 0;
}
