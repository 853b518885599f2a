#include "replay_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay_tables.h"

#define PIECE ((size_t)3 << 20) // bytes of a script element, of which three become four letters

static void encode(const uint8_t bytes[3], char letters[4]) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
    for (int i = 0; i < 4; ++i)
        letters[i] = alphabet[bits >> (18 - 6 * i) & 63];
}

// The bytes are followed by two zeros.
static bool write_piece(FILE *page, const uint8_t *bytes, size_t count, char *letters) {
    size_t length = 0;
    for (size_t i = 0; i < count; i += 3, length += 4)
        encode(bytes + i, letters + length);
    for (size_t missing = (3 - count % 3) % 3; missing > 0; --missing)
        letters[length - missing] = '=';
    return fputs("<script type=\"text/x-replay\">", page) >= 0 && fwrite(letters, 1, length, page) == length &&
           fputs("</script>\n", page) >= 0;
}

static bool write_pieces(FILE *page, FILE *replay) {
    uint8_t *bytes = malloc(PIECE + 2);
    char *letters = malloc(PIECE / 3 * 4 + 4);
    bool good = bytes != NULL && letters != NULL;
    size_t count = 0;
    while (good && (count = fread(bytes, 1, PIECE, replay)) > 0) {
        memset(bytes + count, 0, 2);
        good = write_piece(page, bytes, count, letters);
    }
    free(bytes);
    free(letters);
    return good && ferror(replay) == 0;
}

bool replay_write_page(FILE *page, const char *replay_path, replay_error *error) {
    FILE *replay = fopen(replay_path, "rb");
    if (replay == NULL) return replay_fail(error, "file '%s' cannot be read: %s", replay_path, strerror(errno));
    const bool good = fwrite(replay_page_text.bytes, 1, replay_page_text.count, page) == replay_page_text.count &&
                      fputs("</script>\n", page) >= 0 && write_pieces(page, replay) &&
                      fputs("</body>\n</html>\n", page) >= 0;
    (void)fclose(replay);
    return good || replay_fail(error, "the page could not be written: %s", strerror(errno));
}
