// Wavefront OBJ: vertices and faces. Every other statement of the format is passed over; a word that is none is an
// error.
#include "mesh_source.h"

static const char *const passed_over[] = {
    "vt",    "vn",    "vp",   "g",     "o",        "s",        "mg",   "usemtl", "mtllib", "l",          "p",
    "curv",  "curv2", "surf", "parm",  "trim",     "hole",     "scrv", "sp",     "end",    "con",        "cstype",
    "deg",   "bmat",  "step", "bevel", "c_interp", "d_interp", "lod",  "maplib", "usemap", "shadow_obj", "trace_obj",
    "ctech", "stech", "call", "csh",   "cdc",      "cdp",      "bzp",  "bsp",    "res",    "scmp",
};

typedef struct obj_state {
    uint64_t highest_vertex; // of all faces, and the first line that names it: it may be defined further below
    uint64_t highest_line;
} obj_state;

static psv_status read_vertex(psvi_mesh_source *source, psvi_mesh_builder *mesh) {
    double position[3];
    for (int axis = 0; axis < 3; ++axis) {
        psvi_word word = psvi_next_word(source);
        if (!psvi_parse_number(source, word, &position[axis]))
            return psvi_fail_line(source, "'%.*s' is no coordinate: v takes three numbers", PSVI_WORD_ARGS(word));
    }
    return psvi_add_vertex(source, mesh, position);
}

// The vertex number of a corner «7», «7/2», «7//3» or «7/2/3»; negative numbers count back from the last vertex.
static psv_status read_corner(psvi_mesh_source *source, psvi_mesh_builder *mesh, obj_state *state, psvi_word word) {
    psvi_word vertex = {word.text, 0};
    while (vertex.length < word.length && word.text[vertex.length] != '/')
        ++vertex.length;
    int64_t number;
    if (!psvi_parse_integer(vertex, &number) || number == 0)
        return psvi_fail_line(source, "'%.*s' is no corner of a face: a vertex number from 1, or from -1 down",
                              PSVI_WORD_ARGS(word));
    if (number < 0) number += (int64_t)mesh->vertex_count + 1;
    if (number < 1 || number > (int64_t)UINT32_MAX)
        return psvi_fail_line(source, "corner '%.*s' names no vertex: %llu were given above", PSVI_WORD_ARGS(word),
                              (unsigned long long)mesh->vertex_count);
    if ((uint64_t)number > state->highest_vertex) {
        state->highest_vertex = (uint64_t)number;
        state->highest_line = source->line;
    }
    return psvi_add_corner(source, mesh, (uint32_t)(number - 1));
}

// A backslash at the end of a line continues it.
static psvi_word next_word_of_statement(psvi_mesh_source *source) {
    psvi_word word = psvi_next_word(source);
    while (psvi_word_is(word, "\\") && psvi_next_line(source))
        word = psvi_next_word(source);
    return word;
}

static psv_status read_face(psvi_mesh_source *source, psvi_mesh_builder *mesh, obj_state *state) {
    psv_status status = PSV_OK;
    for (;;) {
        psvi_word word = next_word_of_statement(source);
        if (word.length == 0 || word.text[0] == '#') break;
        status = read_corner(source, mesh, state, word);
        if (status != PSV_OK) return status;
    }
    if (mesh->corner_count < 3)
        return psvi_fail_line(source, "a face has %llu corners, at least 3 are needed",
                              (unsigned long long)mesh->corner_count);
    return psvi_add_face(source, mesh);
}

static psv_status pass_over(psvi_mesh_source *source, psvi_word keyword) {
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; ++i) {
        if (!psvi_word_is(keyword, passed_over[i])) continue;
        while (next_word_of_statement(source).length > 0) {
        }
        return PSV_OK;
    }
    return psvi_fail_line(source, "'%.*s' is no statement of an OBJ file", PSVI_WORD_ARGS(keyword));
}

psv_status psvi_read_obj(psvi_mesh_source *source, psvi_mesh_builder *mesh) {
    obj_state state = {0};
    while (psvi_skip_blank_lines(source)) {
        psvi_word keyword = psvi_next_word(source);
        psv_status status = PSV_OK;
        if (psvi_word_is(keyword, "v"))
            status = read_vertex(source, mesh);
        else if (psvi_word_is(keyword, "f"))
            status = read_face(source, mesh, &state);
        else if (keyword.text[0] != '#')
            status = pass_over(source, keyword);
        if (status != PSV_OK) return status;
        psvi_next_line(source);
    }
    if (mesh->vertex_count == 0) return psvi_fail_line(source, "the file ends without a vertex ('v x y z')");
    if (state.highest_vertex > mesh->vertex_count) {
        source->line = state.highest_line;
        return psvi_fail_line(source, "a face names vertex %llu, the file has %llu",
                              (unsigned long long)state.highest_vertex, (unsigned long long)mesh->vertex_count);
    }
    return PSV_OK;
}
