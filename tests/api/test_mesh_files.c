// psv_load_mesh: every form of PLY, OBJ and STL gives the same mesh, and every kind of damage is refused with the
// file's name, what is wrong and where.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pairsieve/sim.h"

// A file in memory, written by a test.
typedef struct bytes {
    uint8_t data[8192];
    size_t size;
    bool big_endian;
} bytes;

static void put_text(bytes *out, const char *text) {
    memcpy(out->data + out->size, text, strlen(text));
    out->size += strlen(text);
}

static void put_integer(bytes *out, uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
        out->data[out->size++] = (uint8_t)(value >> 8 * (out->big_endian ? count - 1 - i : i));
}

static void put_float(bytes *out, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    put_integer(out, bits, 4);
}

static void put_double(bytes *out, double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    put_integer(out, bits, 8);
}

static psv_status load_bytes(const bytes *file, const char *ending, psv_mesh *mesh) {
    char path[64];
    (void)snprintf(path, sizeof path, "mesh_files_%ld%s", (long)getpid(), ending);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file->data, 1, file->size, out), file->size);
    assert_int_equal(fclose(out), 0);
    psv_status status = psv_load_mesh(NULL, path, mesh);
    (void)remove(path);
    return status;
}

static psv_status load_text(const char *text, const char *ending, psv_mesh *mesh) {
    bytes file = {.size = 0};
    put_text(&file, text);
    return load_bytes(&file, ending, mesh);
}

static void expect_refused_bytes(const bytes *file, const char *ending, const char *sentence) {
    psv_mesh mesh;
    assert_int_equal(load_bytes(file, ending, &mesh), PSV_ERROR_FORMAT);
    assert_null(mesh.positions);
    assert_int_equal(mesh.vertex_count, 0);
    if (strstr(psv_last_error(NULL), sentence) == NULL || strstr(psv_last_error(NULL), ending) == NULL)
        fail_msg("'%s' lacks '%s'", psv_last_error(NULL), sentence);
}

static void expect_refused(const char *text, const char *ending, const char *sentence) {
    bytes file = {.size = 0};
    put_text(&file, text);
    expect_refused_bytes(&file, ending, sentence);
}

// The mesh of these tests: a unit square as one quad, and a triangle on its last side.
static const double corners[5][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0.25}, {-1.5, 0.5, 1e-3}};
static const uint32_t expected_triangles[9] = {0, 1, 2, 0, 2, 3, 0, 3, 4};

static void expect_mesh(psv_mesh *mesh) {
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->triangle_count, 3);
    for (int v = 0; v < 5; ++v)
        for (int axis = 0; axis < 3; ++axis)
            assert_true(mesh->positions[3 * v + axis] == (float)corners[v][axis]);
    assert_memory_equal(mesh->triangles, expected_triangles, sizeof expected_triangles);
    psv_free_mesh(mesh);
    assert_null(mesh->triangles);
}

static void expect_loaded(const bytes *file, const char *ending) {
    psv_mesh mesh;
    if (load_bytes(file, ending, &mesh) != PSV_OK) fail_msg("%s", psv_last_error(NULL));
    expect_mesh(&mesh);
}

// --- PLY ------------------------------------------------------------------------------------------------------------

typedef struct ply_form {
    bool big_endian, doubles, extras;
    const char *count_type, *index_type;
    int count_bytes, index_bytes;
    const char *list_name, *line_end;
} ply_form;

static void put_line(bytes *out, const ply_form *form, const char *text) {
    put_text(out, text);
    put_text(out, form->line_end);
}

static void put_ply_header(bytes *out, const ply_form *form) {
    char line[128];
    put_line(out, form, "ply");
    put_line(out, form, form->big_endian ? "format binary_big_endian 1.0" : "format binary_little_endian 1.0");
    put_line(out, form, "comment end_header is not here");
    put_line(out, form, "element vertex 5");
    const char *real = form->doubles ? "double" : "float32";
    if (form->extras) put_line(out, form, "property uchar red");
    for (int axis = 0; axis < 3; ++axis) {
        (void)snprintf(line, sizeof line, "property %s %c", real, 'x' + axis);
        put_line(out, form, line);
    }
    if (form->extras) put_line(out, form, "property list ushort double weights");
    if (form->extras) put_line(out, form, "element camera 2");
    if (form->extras) put_line(out, form, "property short focus");
    put_line(out, form, "element face 2");
    if (form->extras) put_line(out, form, "property int material");
    (void)snprintf(line, sizeof line, "property list %s %s %s", form->count_type, form->index_type, form->list_name);
    put_line(out, form, line);
    if (form->extras) put_line(out, form, "property list uchar float texcoord");
    put_line(out, form, "end_header");
}

static void put_ply_face(bytes *out, const ply_form *form, const uint32_t *face, int count) {
    if (form->extras) put_integer(out, 7, 4);
    put_integer(out, (uint64_t)count, form->count_bytes);
    for (int i = 0; i < count; ++i)
        put_integer(out, face[i], form->index_bytes);
    if (!form->extras) return;
    put_integer(out, 2, 1);
    put_float(out, 0.5f);
    put_float(out, 0.25f);
}

static void put_ply(bytes *out, const ply_form *form) {
    static const uint32_t faces[2][4] = {{0, 1, 2, 3}, {0, 3, 4}};
    *out = (bytes){.big_endian = form->big_endian};
    put_ply_header(out, form);
    for (int v = 0; v < 5; ++v) {
        if (form->extras) put_integer(out, 200, 1);
        for (int axis = 0; axis < 3; ++axis) {
            if (form->doubles)
                put_double(out, corners[v][axis]);
            else
                put_float(out, (float)corners[v][axis]);
        }
        if (form->extras) put_integer(out, (uint64_t)v, 2);
        for (int i = 0; form->extras && i < v; ++i)
            put_double(out, 0.1);
    }
    if (form->extras) put_integer(out, 1, 2);
    if (form->extras) put_integer(out, 2, 2);
    put_ply_face(out, form, faces[0], 4);
    put_ply_face(out, form, faces[1], 3);
}

static void binary_ply_in_every_form(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int size;
    } types[] = {{"char", 1}, {"uint8", 1}, {"short", 2}, {"uint16", 2}, {"int", 4}, {"uint32", 4}};
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    bytes file;
    for (int variant = 0; variant < 8 * 36 * 3; ++variant) {
        int count_type = variant / 8 % 6, index_type = variant / 48 % 6;
        ply_form form = {.big_endian = (variant & 1) != 0,
                         .doubles = (variant & 2) != 0,
                         .extras = (variant & 4) != 0,
                         .count_type = types[count_type].name,
                         .count_bytes = types[count_type].size,
                         .index_type = types[index_type].name,
                         .index_bytes = types[index_type].size,
                         .list_name = variant % 5 == 0 ? "vertex_index" : "vertex_indices",
                         .line_end = ends[variant / 288]};
        put_ply(&file, &form);
        expect_loaded(&file, ".ply");
    }
}

static const ply_form plain = {.count_type = "uchar",
                               .count_bytes = 1,
                               .index_type = "int",
                               .index_bytes = 4,
                               .list_name = "vertex_indices",
                               .line_end = "\n"};

#define ASCII_HEAD "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
#define ASCII_FACES "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
#define ASCII_VERTICES "0 0 0\n1 0 0\n1 1 0\n0 1 0.25\n-1.5 5e-1 1e-3\n"

static void ascii_ply(void **state) {
    (void)state;
    psv_mesh mesh;
    assert_int_equal(load_text(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n3 0 3 4\n", ".ply", &mesh), PSV_OK);
    expect_mesh(&mesh);
    // Blank lines, tabs, other line ends, no line end at the very end, capital letters in the file's name.
    assert_int_equal(load_text("ply\r\nformat ascii 1.0\r\nobj_info x\r\nelement vertex 5\r\nproperty double x\r\n"
                               "property double y\r\nproperty double z\r\nproperty int id\r\n"
                               "element face 2\r\nproperty list int uint vertex_index\r\nend_header\r\n"
                               "0 0 0 1\r\n\r\n1 0 0 2\r\n+1\t1 0 3\r\n0 1 .25 4 \r\n-15.0e-1 0.5 0.001 5\r\n"
                               "4 0 1 2 3\r\n3 0 3 4",
                               ".PLY", &mesh),
                     PSV_OK);
    expect_mesh(&mesh);
}

static void ply_without_faces_is_a_point_set(void **state) {
    (void)state;
    psv_mesh mesh;
    assert_int_equal(load_text(ASCII_HEAD "end_header\n" ASCII_VERTICES, ".ply", &mesh), PSV_OK);
    assert_int_equal(mesh.vertex_count, 5);
    assert_int_equal(mesh.triangle_count, 0);
    psv_free_mesh(&mesh);
}

// Numbers that need exact rounding come out as the C library reads them, and are then rounded to float.
static void numbers_are_read_exactly(void **state) {
    (void)state;
    static const char *const texts[] = {"0.1",
                                        "16777217",
                                        "1e-45",
                                        "3.4028235e38",
                                        "0.30000001192092896",
                                        "123456789.123456789",
                                        "-7.0064923216240854e-46",
                                        "9007199254740993",
                                        "1e400",
                                        "4.9406564584124654e-324"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        char text[256];
        (void)snprintf(text, sizeof text, "v %s 0 0\n", texts[i]);
        psv_mesh mesh;
        assert_int_equal(load_text(text, ".obj", &mesh), PSV_OK);
        float expected = (float)strtod(texts[i], NULL);
        assert_memory_equal(mesh.positions, &expected, 4);
        psv_free_mesh(&mesh);
    }
}

static void damaged_ply_headers(void **state) {
    (void)state;
    expect_refused("plyx\n", ".ply", "line 1: a PLY file begins with the line 'ply'");
    expect_refused("", ".ply", "begins with the line 'ply'");
    expect_refused("ply\nformat ascii 1.0\n", ".ply", "'end_header' is missing");
    expect_refused("ply\nformat ascii 2.0\nend_header\n", ".ply", "line 2: PLY version '2.0'");
    expect_refused("ply\nformat binary 1.0\nend_header\n", ".ply", "unknown PLY format 'binary'; accepted: ascii");
    expect_refused("ply\nelement vertex 1\nend_header\n", ".ply", "without a 'format' line");
    expect_refused("ply\nformat ascii 1.0\nproperty float x\n", ".ply", "line 3: a property before the first element");
    expect_refused("ply\nformat ascii 1.0\nelement vertex -5\n", ".ply", "'vertex' has the count '-5'");
    expect_refused("ply\nformat ascii 1.0\nelement vertex 99999999999999999999\n", ".ply", "has the count");
    expect_refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty half x\n", ".ply", "line 4: unknown type 'half'");
    expect_refused("ply\nformat ascii 1.0\nelement face 1\nproperty list float int vertex_indices\n", ".ply",
                   "'float' is no type for the length of a list");
    expect_refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float\n", ".ply", "a property without a name");
    expect_refused("ply\nformat ascii 1.0\nvertices 3\n", ".ply", "line 3: 'vertices' is no line of a PLY header");
    expect_refused("ply\nformat ascii 1.0\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n",
                   ".ply", "names the element 'vertex' 0 times");
    expect_refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n1 2\n",
                   ".ply", "element 'vertex' has no property 'z'");
    expect_refused(ASCII_HEAD "element face 1\nproperty list uchar float vertex_indices\nend_header\n" ASCII_VERTICES,
                   ".ply", "must be of an integer type");
    expect_refused(ASCII_HEAD "element face 1\nproperty list uchar int corners\nend_header\n" ASCII_VERTICES, ".ply",
                   "has no list 'vertex_indices'");
    expect_refused(ASCII_HEAD "element nothing 18446744073709551\nend_header\n" ASCII_VERTICES, ".ply",
                   "element 'nothing' has no property");
}

static void damaged_ascii_ply(void **state) {
    (void)state;
    expect_refused(ASCII_HEAD ASCII_FACES "0 0 0\n1 0 0\n1 1 0\n0 1 x\n-1.5 5e-1 1e-3\n4 0 1 2 3\n3 0 3 4\n", ".ply",
                   "line 13: 'x' is no number");
    expect_refused(ASCII_HEAD ASCII_FACES "0 0 0\n1 0 0\n1 1 0\n0 1\n-1.5 5e-1 1e-3\n4 0 1 2 3\n3 0 3 4\n", ".ply",
                   "line 13: vertex 3 of 5: the line ends before its last value");
    expect_refused(ASCII_HEAD ASCII_FACES "0 0 0\n1 0 0\n1 1 0\n0 1 0 7\n-1.5 5e-1 1e-3\n4 0 1 2 3\n3 0 3 4\n", ".ply",
                   "line 13: '7' after the last value");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n3 0 3 5\n", ".ply",
                   "line 16: face 1 of 2: names vertex 5, the file has 5");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n3 0 -3 4\n", ".ply", "names vertex -3");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n3 0 1.5 4\n", ".ply", "'1.5' is no whole number");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n2 0 1\n", ".ply", "2 corners, at least 3");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n-1 0 1\n", ".ply", "-1 corners, at least 3");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n", ".ply", "face");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n999999999 0 3 4\n", ".ply",
                   "the line ends before");
    expect_refused(ASCII_HEAD ASCII_FACES ASCII_VERTICES "4 0 1 2 3\n3 0 3 4\n3 0 3 4\n", ".ply",
                   "line 17: more data after the last element");
}

// Every shorter form of a binary file is refused, and so is a longer one.
static void damaged_binary_ply(void **state) {
    (void)state;
    bytes whole, damaged;
    put_ply(&whole, &plain);
    for (size_t size = 0; size < whole.size; ++size) {
        damaged = whole;
        damaged.size = size;
        expect_refused_bytes(&damaged, ".ply", "");
    }
    expect_refused_bytes(&damaged, ".ply", "offset");
    damaged = whole;
    damaged.data[damaged.size++] = 7;
    expect_refused_bytes(&damaged, ".ply", "more data after the last element");
    damaged = whole;
    damaged.data[damaged.size - 1] = 0x7f; // the last index
    expect_refused_bytes(&damaged, ".ply", "face 1 of 2: names vertex 2130706436");
    damaged = whole;
    damaged.data[damaged.size - 13] = 255; // the last face's count
    expect_refused_bytes(&damaged, ".ply", "face 1 of 2: the file is cut off here");
    ply_form negative = plain;
    negative.count_type = "char";
    put_ply(&damaged, &negative);
    damaged.data[damaged.size - 13] = 255;
    expect_refused_bytes(&damaged, ".ply", "face 1 of 2: -1 corners");
}

// A count of the header that the file cannot hold is refused before anything is allocated for it.
static void huge_counts_cost_nothing(void **state) {
    (void)state;
    expect_refused("ply\nformat binary_little_endian 1.0\nelement vertex 999999999999999999\nproperty float x\n"
                   "property float y\nproperty float z\nend_header\n",
                   ".ply", "999999999999999999 of element 'vertex' need at least 12 bytes each, the file has 0 left");
    expect_refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
                   "element face 888888888888\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 0 0\n",
                   ".ply", "888888888888 of element 'face'");
}

// --- OBJ ------------------------------------------------------------------------------------------------------------

static void obj_files(void **state) {
    (void)state;
    psv_mesh mesh;
    assert_int_equal(
        load_text("# a square\nmtllib a.mtl\no thing\nv 0 0 0\nv 1 0 0 1.0\nv 1 1 0 1 0.5 0.5 0.5\nvt 0 0\n"
                  "vn 0 0 1\nv 0 1 0.25\nusemtl b\nf 1/1/1 2//1 3/1 4\nv -1.5 0.5 0.001\ns off\n"
                  "f -5 -2 \\\n -1 # last\n",
                  ".obj", &mesh),
        PSV_OK);
    expect_mesh(&mesh);
    // A face may come before its vertices.
    assert_int_equal(load_text("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0", ".OBJ", &mesh), PSV_OK);
    assert_int_equal(mesh.triangle_count, 1);
    psv_free_mesh(&mesh);
}

// Text of some programs begins with a byte-order mark.
static void byte_order_marks(void **state) {
    (void)state;
    psv_mesh mesh;
    assert_int_equal(load_text("\xef\xbb\xbfv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", ".obj", &mesh), PSV_OK);
    assert_true(mesh.vertex_count == 3 && mesh.triangle_count == 1);
    psv_free_mesh(&mesh);
    expect_refused("\xef\xbb\xbf", ".obj", "without a vertex");
    expect_refused("\xef\xbb\xbf\xef\xbb\xbfv 0 0 0\n", ".obj", "is no statement");
}

static void damaged_obj(void **state) {
    (void)state;
    expect_refused("v 0 0\n", ".obj", "line 1: '' is no coordinate");
    expect_refused("v 0 0 0\nv 0 one 0\n", ".obj", "line 2: 'one' is no coordinate");
    expect_refused("v 0 0 0\nf 1 1\n", ".obj", "line 2: a face has 2 corners");
    expect_refused("v 0 0 0\nf 1 1 0\n", ".obj", "line 2: '0' is no corner");
    expect_refused("v 0 0 0\nf 1 1 x\n", ".obj", "line 2: 'x' is no corner");
    expect_refused("v 0 0 0\nf 1 1 -2\n", ".obj", "line 2: corner '-2' names no vertex");
    expect_refused("v 0 0 0\n\nf 1 1 2\nf 1 1 1\n", ".obj", "line 3: a face names vertex 2, the file has 1");
    expect_refused("v 0 0 0\nvertex 1 2 3\n", ".obj", "line 2: 'vertex' is no statement");
    expect_refused("# nothing\n", ".obj", "without a vertex");
    expect_refused("", ".obj", "without a vertex");
}

// --- STL ------------------------------------------------------------------------------------------------------------

static const uint32_t stl_faces[3][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}};

static void put_stl(bytes *out, const char *title) {
    *out = (bytes){.size = 0};
    put_text(out, title);
    out->size = 80;
    put_integer(out, 3, 4);
    for (int f = 0; f < 3; ++f) {
        for (int axis = 0; axis < 3; ++axis)
            put_float(out, 0);
        for (int corner = 0; corner < 3; ++corner)
            for (int axis = 0; axis < 3; ++axis)
                put_float(out, (float)corners[stl_faces[f][corner]][axis]);
        put_integer(out, 0, 2);
    }
}

static void stl_files(void **state) {
    (void)state;
    bytes file;
    put_stl(&file, "\xef\xbb\xbf: a title may begin as a byte-order mark does");
    expect_loaded(&file, ".stl");
    put_stl(&file, "exported by nobody");
    expect_loaded(&file, ".stl");
    put_stl(&file, "solid, but binary"); // the size tells
    expect_loaded(&file, ".stl");
    file = (bytes){.size = 0};
    put_text(&file, "solid a name of words\n");
    for (int f = 0; f < 3; ++f) {
        put_text(&file, " facet normal 0 0 -1\n  outer loop\n");
        for (int corner = 0; corner < 3; ++corner) {
            char line[128];
            const double *p = corners[stl_faces[f][corner]];
            (void)snprintf(line, sizeof line, "   vertex %g %g %.6e\n", p[0], p[1], p[2]);
            put_text(&file, line);
        }
        put_text(&file, "  endloop\n endfacet\n");
    }
    put_text(&file, "endsolid a name of words\n");
    expect_loaded(&file, ".stl");
    expect_loaded(&file, ".mesh"); // by its content
}

static void damaged_stl(void **state) {
    (void)state;
    bytes whole, damaged;
    put_stl(&whole, "binary");
    damaged = whole;
    damaged.size -= 1;
    expect_refused_bytes(&damaged, ".stl", "offset 80: 3 triangles need a file of 234 bytes, this one has 233");
    damaged = whole;
    damaged.size += 50;
    expect_refused_bytes(&damaged, ".stl", "this one has 284");
    damaged.size = 60;
    expect_refused_bytes(&damaged, ".stl", "at least 84 bytes, this one has 60");
    damaged = whole;
    memset(damaged.data + 80, 255, 4);
    expect_refused_bytes(&damaged, ".stl", "4294967295 triangles need a file of 214748364834 bytes");
    expect_refused("solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0\n", ".stl",
                   "line 5: '' where a number is due");
    expect_refused("solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\n", ".stl",
                   "line 5: 'endloop' where 'vertex' is due");
    expect_refused("solid x\nfacet normal 0 0 1\n", ".stl", "the file ends where 'outer' is due");
    expect_refused("solid x\n", ".stl", "the file ends where 'facet' or 'endsolid' is due");
    expect_refused("solid x\nendsolid\nand more\n", ".stl", "line 3: 'and' where 'solid' is due");
}

// --- files ----------------------------------------------------------------------------------------------------------

static void files_that_are_none(void **state) {
    (void)state;
    psv_mesh mesh = {.vertex_count = 3};
    assert_int_equal(psv_load_mesh(NULL, "no_such_file.ply", &mesh), PSV_ERROR_FILE);
    assert_non_null(strstr(psv_last_error(NULL), "no_such_file.ply: No such file"));
    assert_int_equal(mesh.vertex_count, 0);
    assert_int_equal(psv_load_mesh(NULL, ".", &mesh), PSV_ERROR_FILE);
    assert_int_equal(psv_load_mesh(NULL, NULL, &mesh), PSV_ERROR_ARGUMENT);
    assert_int_equal(psv_load_mesh(NULL, "a.ply", NULL), PSV_ERROR_ARGUMENT);
    expect_refused("v 0 0 0\n", ".xyz", "not a mesh file: PLY, OBJ and STL are accepted");
    psv_free_mesh(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_ply_in_every_form),
        cmocka_unit_test(ascii_ply),
        cmocka_unit_test(ply_without_faces_is_a_point_set),
        cmocka_unit_test(numbers_are_read_exactly),
        cmocka_unit_test(damaged_ply_headers),
        cmocka_unit_test(damaged_ascii_ply),
        cmocka_unit_test(damaged_binary_ply),
        cmocka_unit_test(huge_counts_cost_nothing),
        cmocka_unit_test(obj_files),
        cmocka_unit_test(byte_order_marks),
        cmocka_unit_test(damaged_obj),
        cmocka_unit_test(stl_files),
        cmocka_unit_test(damaged_stl),
        cmocka_unit_test(files_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
