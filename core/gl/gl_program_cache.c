// Program binaries in $XDG_CACHE_HOME/pairsieve or ~/.cache/pairsieve, one file each, named by a hash of the driver's
// identity and the source. A file begins with that hash and the binary's format. Writing goes through a file of its own
// and a rename, so that readers see a whole file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gl_backend.h"

#define MAX_BINARY_BYTES (16 << 20)

typedef struct binary_header {
    char magic[8];
    uint64_t hash[2];
    uint32_t format, bytes;
} binary_header;

static const char magic[8] = "psvgl 1";

// FNV-1a with two starts: enough to tell sources apart, not meant against an attacker.
static void hash_text(uint64_t hash[2], const char *text) {
    for (; *text != '\0'; ++text) {
        hash[0] = (hash[0] ^ (unsigned char)*text) * 0x100000001b3u;
        hash[1] = (hash[1] ^ (unsigned char)*text) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
    }
}

static bool folder_of(char *path, size_t bytes, const char *end) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache != NULL && cache[0] == '/')
        length = snprintf(path, bytes, "%s%s", cache, end);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, bytes, "%s/.cache%s", home, end);
    return length > 0 && (size_t)length < bytes;
}

static bool path_of(psvi_gl *gl, const char *const texts[4], uint64_t hash[2], char *path, size_t bytes) {
    hash[0] = 0xcbf29ce484222325u;
    hash[1] = 0x84222325cbf29ce4u;
    hash_text(hash, gl->identity);
    for (int t = 0; t < 4; ++t)
        hash_text(hash, texts[t]);
    char end[64];
    (void)snprintf(end, sizeof end, "/pairsieve/gl-%016llx.bin", (unsigned long long)hash[0]);
    return folder_of(path, bytes, end);
}

bool psvi_gl_load_binary(psvi_gl *gl, const char *const texts[4], GLuint program) {
    uint64_t hash[2];
    char path[1024];
    binary_header header;
    GLint linked = 0;
    if (!path_of(gl, texts, hash, path, sizeof path)) return false;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    void *binary = NULL;
    if (fread(&header, sizeof header, 1, file) == 1 && memcmp(header.magic, magic, sizeof magic) == 0 &&
        memcmp(header.hash, hash, sizeof header.hash) == 0 && header.bytes <= MAX_BINARY_BYTES)
        binary = malloc(header.bytes + 1);
    if (binary != NULL && fread(binary, 1, header.bytes + 1, file) == header.bytes) {
        gl->f.ProgramBinary(program, header.format, binary, (GLsizei)header.bytes);
        gl->f.GetProgramiv(program, GL_LINK_STATUS, &linked);
        if (!linked) (void)gl->f.GetError(); // of another driver, say: the compiler will do it
    }
    free(binary);
    (void)fclose(file);
    return linked != 0;
}

static bool write_file(const char *path, const binary_header *header, const void *binary) {
    char own[1100];
    (void)snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(own, "wb");
    if (file == NULL) return false;
    bool good = fwrite(header, sizeof *header, 1, file) == 1 && fwrite(binary, 1, header->bytes, file) == header->bytes;
    good &= fclose(file) == 0;
    if (!good || rename(own, path) != 0) (void)remove(own);
    return good;
}

void psvi_gl_keep_binary(psvi_gl *gl, const char *const texts[4], GLuint program) {
    binary_header header = {.bytes = 0};
    char path[1024], folder[1024];
    GLint bytes = 0, formats = 0;
    GLenum format = 0;
    gl->f.GetIntegerv(GL_NUM_PROGRAM_BINARY_FORMATS, &formats);
    if (formats == 0 || !path_of(gl, texts, header.hash, path, sizeof path)) return;
    gl->f.GetProgramiv(program, GL_PROGRAM_BINARY_LENGTH, &bytes);
    if (bytes <= 0 || bytes > MAX_BINARY_BYTES) return;
    void *binary = malloc((size_t)bytes);
    if (binary == NULL) return;
    gl->f.GetProgramBinary(program, bytes, &bytes, &format, binary);
    memcpy(header.magic, magic, sizeof magic);
    header.format = format;
    header.bytes = (uint32_t)bytes;
    if (gl->f.GetError() == GL_NO_ERROR && bytes > 0) {
        if (folder_of(folder, sizeof folder, "")) (void)mkdir(folder, 0700);
        if (folder_of(folder, sizeof folder, "/pairsieve")) (void)mkdir(folder, 0700);
        (void)write_file(path, &header, binary);
    }
    free(binary);
}
