# cmake -DSOURCE=folder -DOUT=commit.h -P commit.cmake: a header with the commit that is built; «unknown» outside git.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty=+ --abbrev=8 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Made by commit.cmake.\n#define PAIRSIEVE_COMMIT \"${commit}\"\n")
