// Lines, words and numbers of mesh files in text form, over bytes that need not end with a zero.
#include <stdlib.h>
#include <string.h>

#include "mesh_source.h"

static bool is_line_end(uint8_t byte) { return byte == '\n' || byte == '\r'; }
static bool is_blank(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f'; }
static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool psvi_word_is(psvi_word word, const char *text) {
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

psvi_word psvi_next_word(psvi_mesh_source *source) {
    const uint8_t *at = source->at;
    while (at < source->end && is_blank(*at))
        ++at;
    const uint8_t *begin = at;
    while (at < source->end && !is_blank(*at) && !is_line_end(*at))
        ++at;
    source->at = at;
    return (psvi_word){(const char *)begin, (uint64_t)(at - begin)};
}

bool psvi_next_line(psvi_mesh_source *source) {
    const uint8_t *at = source->at;
    while (at < source->end && !is_line_end(*at))
        ++at;
    if (at < source->end) {
        bool pair = *at == '\r' && at + 1 < source->end && at[1] == '\n';
        at += pair ? 2 : 1;
        ++source->line;
    }
    source->at = at;
    return at < source->end;
}

bool psvi_skip_blank_lines(psvi_mesh_source *source) {
    while (source->at < source->end) {
        if (is_line_end(*source->at))
            psvi_next_line(source);
        else if (is_blank(*source->at))
            ++source->at;
        else
            return true;
    }
    return false;
}

bool psvi_parse_integer(psvi_word word, int64_t *value) {
    uint64_t i = 0;
    bool negative = word.length > 0 && word.text[0] == '-';
    if (negative || (word.length > 0 && word.text[0] == '+')) ++i;
    if (i == word.length || word.length - i > 18) return false;
    int64_t number = 0;
    for (; i < word.length; ++i) {
        if (!is_digit(word.text[i])) return false;
        number = 10 * number + (word.text[i] - '0');
    }
    *value = negative ? -number : number;
    return true;
}

// Numbers whose digits fit in 53 bits with a power of ten up to 22: both are exact doubles, so one operation rounds
// once (Clinger 1990). False for everything else.
static bool parse_short_number(psvi_word word, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = word.text, *end = word.text + word.length;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;
    uint64_t digits = 0;
    int digit_count = 0, exponent = 0;
    bool seen_point = false;
    for (; at < end && (is_digit(*at) || (*at == '.' && !seen_point)); ++at) {
        if (*at == '.') {
            seen_point = true;
            continue;
        }
        if (digits > (UINT64_C(1) << 53) / 10 - 1) return false;
        digits = 10 * digits + (uint64_t)(*at - '0');
        ++digit_count;
        exponent -= seen_point;
    }
    if (digit_count == 0) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        int64_t written;
        ++at;
        if (!psvi_parse_integer((psvi_word){at, (uint64_t)(end - at)}, &written)) return false;
        if (written < -1000 || written > 1000) return false;
        exponent += (int)written;
        at = end;
    }
    if (at != end || exponent < -22 || exponent > 22) return false;
    double number = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    *value = negative ? -number : number;
    return true;
}

bool psvi_parse_number(const psvi_mesh_source *source, psvi_word word, double *value) {
    if (parse_short_number(word, value)) return true;
    char text[512];
    if (word.length == 0 || word.length >= sizeof text) return false;
    memcpy(text, word.text, word.length);
    text[word.length] = 0;
    if (memchr(text, 'x', word.length) != NULL || memchr(text, 'X', word.length) != NULL) return false;
    char *rest;
    *value = strtod_l(text, &rest, source->number_locale);
    return rest == text + word.length;
}
