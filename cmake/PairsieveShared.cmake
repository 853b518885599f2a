# BUILD_SHARED_LIBS: all modules in one library, which exports the public functions alone. pairsieve::core, ::sort,
# ::collision and ::sim are names of it.
get_property(psv_modules GLOBAL PROPERTY PSV_MODULES)
add_library(pairsieve SHARED)
foreach(psv_module ${psv_modules})
    target_sources(pairsieve PRIVATE $<TARGET_OBJECTS:pairsieve_${psv_module}>)
    target_include_directories(pairsieve INTERFACE
        $<BUILD_INTERFACE:$<TARGET_PROPERTY:pairsieve_${psv_module},INTERFACE_INCLUDE_DIRECTORIES>>)
    add_library(pairsieve::${psv_module} ALIAS pairsieve)
endforeach()
set(psv_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0) # before 1.0 a minor version may change structures
    set(psv_soversion 0.${PROJECT_VERSION_MINOR})
endif()
set_target_properties(pairsieve PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${psv_soversion}
                      LINKER_LANGUAGE C LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
target_link_options(pairsieve PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map -Wl,--no-undefined)
target_include_directories(pairsieve INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(pairsieve PRIVATE $<BUILD_INTERFACE:pairsieve_flags> Threads::Threads m ${CMAKE_DL_LIBS})
if(PSV_SIM)
    target_link_libraries(pairsieve PRIVATE PkgConfig::JANSSON)
endif()
if(PSV_CUDA)
    target_link_libraries(pairsieve PRIVATE CUDA::cudart_static stdc++)
endif()
