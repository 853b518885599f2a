# cmake -DOUT=file.c -DFILES=a,b -P embed_page.cmake: the files of the page, one after another, as one C array.
string(REPLACE "," ";" files "${FILES}")
set(bytes "")
foreach(file IN LISTS files)
    file(READ ${file} hex HEX)
    string(APPEND bytes "${hex}")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){20})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "// Made by embed_page.cmake.
#include \"replay_page.h\"

static const unsigned char text[] = {\n${bytes}};
const replay_text replay_page_text = {text, sizeof text};\n")
