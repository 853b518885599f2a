# cmake --install: headers, libraries, programs, a config package and pkg-config files.
include(CMakePackageConfigHelpers)

get_property(psv_modules GLOBAL PROPERTY PSV_MODULES)
install(TARGETS ${psv_modules} EXPORT pairsieve-targets)
install(EXPORT pairsieve-targets NAMESPACE pairsieve:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)
foreach(module sort collision sim)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/pairsieve DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pairsieve-config.cmake.in
    ${PROJECT_BINARY_DIR}/pairsieve-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pairsieve-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pairsieve-config.cmake ${PROJECT_BINARY_DIR}/pairsieve-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pairsieve)

# Found from where the .pc file lies, so that `cmake --install --prefix` and moved packages work.
file(RELATIVE_PATH psv_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(psv_pc_prefix "\${pcfiledir}/${psv_pc_prefix}")
set(psv_pc_private "-lm -pthread")
if(PSV_OPENMP)
    string(APPEND psv_pc_private " ${OpenMP_C_FLAGS}")
endif()
if(PSV_CUDA)
    string(APPEND psv_pc_private " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -lrt -lpthread -ldl")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/pairsieve.pc.in ${PROJECT_BINARY_DIR}/pairsieve.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pairsieve.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
