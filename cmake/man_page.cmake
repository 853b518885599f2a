# Writes the man page of a program from what its --help prints, so that the page tells of every option.
# cmake -DPROGRAM=path -DNAME=name -DVERSION=number "-DBRIEF=what it does" "-DCOMMANDS=word;word" -DOUT=file -P man_page.cmake

# The text as troff takes it, line by line.
function(help_of result)
    execute_process(COMMAND ${PROGRAM} ${ARGN} --help OUTPUT_VARIABLE text RESULT_VARIABLE code)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "${NAME} ${ARGN} --help: exit code ${code}")
    endif()
    string(REPLACE "\\" "\\e" text "${text}")
    string(REPLACE "-" "\\-" text "${text}")
    string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
    set(${result} ".nf\n${text}.fi\n" PARENT_SCOPE)
endfunction()

string(TOUPPER ${NAME} title)
help_of(general)
set(page ".TH ${title} 1 \"\" \"pairsieve ${VERSION}\"\n.SH NAME\n${NAME} \\- ${BRIEF}\n.SH DESCRIPTION\n${general}")
foreach(command ${COMMANDS})
    help_of(text ${command})
    string(TOUPPER ${command} title)
    string(APPEND page ".SH ${title}\n${text}")
endforeach()
file(WRITE ${OUT} "${page}")
