# cmake -DFILE=text -DNAME=identifier -DOUT=file.h -P embed_text.cmake: the file as a constant array of characters.
file(READ ${FILE} text HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
file(WRITE ${OUT} "static const char ${NAME}[] = {${text}0};\n")
