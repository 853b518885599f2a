# Takes the C program out of README.md, so that what is shown there is what is compiled: cmake -DREADME= -DOUT= -P
file(READ ${README} text)
string(REGEX MATCH "```c[^\n]*\n(.*)\n```" found "${text}")
string(REGEX REPLACE "\n```.*" "" code "${CMAKE_MATCH_1}")
if(code STREQUAL "")
    message(FATAL_ERROR "README.md has no C program")
endif()
file(WRITE ${OUT} "${code}\n")
