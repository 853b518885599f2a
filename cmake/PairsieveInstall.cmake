# cmake --install: headers, libraries, programs, a config package and pkg-config files.
include(CMakePackageConfigHelpers)

get_property(psv_modules GLOBAL PROPERTY PSV_MODULES)
if(BUILD_SHARED_LIBS)
    install(TARGETS pairsieve EXPORT pairsieve-targets)
else()
    list(TRANSFORM psv_modules PREPEND pairsieve_ OUTPUT_VARIABLE psv_libraries)
    install(TARGETS ${psv_libraries} EXPORT pairsieve-targets)
endif()
install(EXPORT pairsieve-targets NAMESPACE pairsieve:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)
if(PSV_MPI) # apart from the others, so that nobody else has to find MPI
    install(TARGETS pairsieve_mpi EXPORT pairsieve-mpi-targets)
    install(EXPORT pairsieve-mpi-targets NAMESPACE pairsieve:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/sort/distributed/mpi/include/pairsieve DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
foreach(module ${psv_modules})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/pairsieve DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
set(PSV_SHARED OFF)
if(BUILD_SHARED_LIBS)
    set(PSV_SHARED ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pairsieve-config.cmake.in
    ${PROJECT_BINARY_DIR}/pairsieve-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pairsieve-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pairsieve-config.cmake ${PROJECT_BINARY_DIR}/pairsieve-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/PairsieveJansson.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)

# pkg-config: a file for each library, and pairsieve.pc for all. Found from where the .pc file lies, so that
# `cmake --install --prefix` and moved packages work. What a static library needs stands among its flags, so that
# --static is not needed.
file(RELATIVE_PATH psv_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(psv_pc_prefix "\${pcfiledir}/${psv_pc_prefix}")
set(psv_pc_system "-lm -pthread")
if(PSV_CUDA)
    string(APPEND psv_pc_system " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -lrt -lpthread -ldl")
endif()

# psv_install_pc(FILE LIBRARY NEEDS DESCRIPTION): NEEDS are the packages that a static library asks for.
function(psv_install_pc file library needs description)
    set(psv_pc_name ${file})
    set(psv_pc_description "${description}")
    if(BUILD_SHARED_LIBS)
        set(psv_pc_libs "-lpairsieve")
        set(psv_pc_needs "")
    else()
        set(psv_pc_libs "${library}")
        set(psv_pc_needs "${needs}")
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/pairsieve.pc.in ${PROJECT_BINARY_DIR}/${file}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
psv_install_pc(pairsieve-core "-lpairsieve_core ${psv_pc_system}" "" "Contexts, buffers and profiles of pairsieve")
psv_install_pc(pairsieve-sort -lpairsieve_sort pairsieve-core "Sorts keys, pairs and records on the CPU and on CUDA")
psv_install_pc(pairsieve-collision -lpairsieve_collision pairsieve-sort "Every pair of overlapping boxes, each frame")
set(psv_pc_all pairsieve-collision)
if(PSV_SIM)
    set(psv_pc_all pairsieve-sim)
    psv_install_pc(pairsieve-sim -lpairsieve_sim "pairsieve-collision jansson" "Rigid bodies, scenes and meshes")
endif()
psv_install_pc(pairsieve "" ${psv_pc_all} "${PROJECT_DESCRIPTION}")

# Licence, changes, pages, examples; man pages and completions where the programs can be run.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN site EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/embedding/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
foreach(module ${psv_modules})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples OPTIONAL)
endforeach()

# psv_install_man(TARGET NAME BRIEF [COMMAND...])
function(psv_install_man target name brief)
    if(NOT TARGET ${target} OR CMAKE_CROSSCOMPILING)
        return()
    endif()
    set(psv_page ${PROJECT_BINARY_DIR}/man/${name}.1)
    add_custom_command(OUTPUT ${psv_page} DEPENDS ${target} ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake
        COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DNAME=${name} -DVERSION=${PROJECT_VERSION}
                "-DBRIEF=${brief}" "-DCOMMANDS=${ARGN}" -DOUT=${psv_page} -P ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake VERBATIM)
    add_custom_target(${name}_man ALL DEPENDS ${psv_page})
    install(FILES ${psv_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL) # a build of some targets has none
endfunction()

# psv_install_completions(TARGET NAME [COMMAND...]): Python makes them.
find_package(Python3 QUIET COMPONENTS Interpreter)
function(psv_install_completions target name)
    if(NOT TARGET ${target} OR NOT TARGET pairsieve_tool OR CMAKE_CROSSCOMPILING OR NOT Python3_FOUND OR PAIRSIEVE_SANITIZE)
        return()
    endif()
    set(psv_folder ${PROJECT_BINARY_DIR}/completions)
    set(psv_script ${PROJECT_SOURCE_DIR}/cmake/completions.py)
    add_custom_command(OUTPUT ${psv_folder}/bash/${name} ${psv_folder}/zsh/_${name} ${psv_folder}/fish/${name}.fish
        COMMAND ${Python3_EXECUTABLE} ${psv_script} $<TARGET_FILE:${target}> ${name} $<TARGET_FILE:pairsieve_tool> ${psv_folder} ${ARGN}
        DEPENDS ${target} pairsieve_tool ${psv_script} VERBATIM)
    add_custom_target(${name}_completions ALL DEPENDS ${psv_folder}/bash/${name})
    install(FILES ${psv_folder}/bash/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
    install(FILES ${psv_folder}/zsh/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
    install(FILES ${psv_folder}/fish/${name}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endfunction()
set(psv_commands run replay pairs sort trace bench report info list)
psv_install_man(pairsieve_tool pairsieve "finds every pair of overlapping boxes, each frame" ${psv_commands})
psv_install_man(pairsieve-view pairsieve-view "shows scenes of bodies whose pairs are found each frame")
psv_install_completions(pairsieve_tool pairsieve ${psv_commands})
psv_install_completions(pairsieve-view pairsieve-view)
