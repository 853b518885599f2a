// The header of a PLY file: its format, and the elements and properties of the body.
#include "mesh_ply.h"

static ply_type parse_type(psvi_word word) {
    static const char *const names[][2] = {{"char", "int8"},     {"uchar", "uint8"},   {"short", "int16"},
                                           {"ushort", "uint16"}, {"int", "int32"},     {"uint", "uint32"},
                                           {"float", "float32"}, {"double", "float64"}};
    for (int i = 0; i < 8; ++i)
        if (psvi_word_is(word, names[i][0]) || psvi_word_is(word, names[i][1])) return (ply_type)(PLY_INT8 + i);
    return PLY_NONE;
}

static psv_status parse_format(psvi_mesh_source *source, ply_header *header, bool *seen) {
    psvi_word format = psvi_next_word(source), version = psvi_next_word(source);
    *seen = true;
    if (psvi_word_is(format, "ascii"))
        header->format = PLY_ASCII;
    else if (psvi_word_is(format, "binary_little_endian"))
        header->format = PLY_LITTLE_ENDIAN;
    else if (psvi_word_is(format, "binary_big_endian"))
        header->format = PLY_BIG_ENDIAN;
    else
        return psvi_fail_line(source,
                              "unknown PLY format '%.*s'; accepted: ascii, binary_little_endian, binary_big_endian",
                              PSVI_WORD_ARGS(format));
    if (!psvi_word_is(version, "1.0"))
        return psvi_fail_line(source, "PLY version '%.*s'; accepted: 1.0", PSVI_WORD_ARGS(version));
    return PSV_OK;
}

static psv_status parse_element(psvi_mesh_source *source, ply_header *header) {
    psvi_word name = psvi_next_word(source), count = psvi_next_word(source);
    int64_t number;
    if (!psvi_parse_integer(count, &number) || number < 0)
        return psvi_fail_line(source, "element '%.*s' has the count '%.*s'; a whole number from 0 is accepted",
                              PSVI_WORD_ARGS(name), PSVI_WORD_ARGS(count));
    if (header->element_count == PLY_ELEMENTS)
        return psvi_fail_line(source, "more than %d elements in the header", PLY_ELEMENTS);
    header->elements[header->element_count++] =
        (ply_element){.name = name, .count = (uint64_t)number, .first_property = header->property_count};
    return PSV_OK;
}

static psv_status parse_property(psvi_mesh_source *source, ply_header *header) {
    if (header->element_count == 0) return psvi_fail_line(source, "a property before the first element");
    if (header->property_count == PLY_PROPERTIES)
        return psvi_fail_line(source, "more than %d properties in the header", PLY_PROPERTIES);
    ply_property property = {.count_type = PLY_NONE};
    psvi_word type = psvi_next_word(source);
    if (psvi_word_is(type, "list")) {
        psvi_word count_type = psvi_next_word(source);
        property.count_type = parse_type(count_type);
        if (!ply_is_integer(property.count_type))
            return psvi_fail_line(source, "'%.*s' is no type for the length of a list: an integer type is accepted",
                                  PSVI_WORD_ARGS(count_type));
        type = psvi_next_word(source);
    }
    property.type = parse_type(type);
    if (property.type == PLY_NONE)
        return psvi_fail_line(
            source,
            "unknown type '%.*s'; accepted: char, uchar, short, ushort, int, uint, float, double, int8 to float64",
            PSVI_WORD_ARGS(type));
    property.name = psvi_next_word(source);
    if (property.name.length == 0) return psvi_fail_line(source, "a property without a name");
    header->properties[header->property_count++] = property;
    ++header->elements[header->element_count - 1].property_count;
    return PSV_OK;
}

// The body begins right after the line end of «end_header». It must be the line end of the other lines: a binary body
// may begin with the byte of a line end.
static void skip_line_end(psvi_mesh_source *source, bool carriage_return_only) {
    while (source->at < source->end && *source->at != '\n' && *source->at != '\r')
        ++source->at;
    if (carriage_return_only && source->at < source->end && *source->at == '\r')
        ++source->at, ++source->line;
    else
        psvi_next_line(source);
}

psv_status psvi_read_ply_header(psvi_mesh_source *source, ply_header *header) {
    *header = (ply_header){.format = PLY_ASCII};
    if (!psvi_word_is(psvi_next_word(source), "ply"))
        return psvi_fail_line(source, "a PLY file begins with the line 'ply', this one does not");
    bool carriage_return_only = source->end - source->at >= 2 && source->at[0] == '\r' && source->at[1] != '\n',
         seen_format = false;
    while (psvi_next_line(source)) {
        psvi_word keyword = psvi_next_word(source);
        psv_status status = PSV_OK;
        if (psvi_word_is(keyword, "end_header")) {
            if (!seen_format) return psvi_fail_line(source, "the header ends without a 'format' line");
            skip_line_end(source, carriage_return_only);
            return PSV_OK;
        }
        if (psvi_word_is(keyword, "format"))
            status = parse_format(source, header, &seen_format);
        else if (psvi_word_is(keyword, "element"))
            status = parse_element(source, header);
        else if (psvi_word_is(keyword, "property"))
            status = parse_property(source, header);
        else if (!psvi_word_is(keyword, "comment") && !psvi_word_is(keyword, "obj_info") && keyword.length > 0)
            return psvi_fail_line(source, "'%.*s' is no line of a PLY header", PSVI_WORD_ARGS(keyword));
        if (status != PSV_OK) return status;
    }
    return psvi_fail_line(source, "the file ends within the header: 'end_header' is missing");
}
