# PkgConfig::JANSSON, by pkg-config, else by jansson's own CMake package (Debian's has none, vcpkg's has one).
# The build includes this file, and so does the installed pairsieve-config.cmake.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT TARGET PkgConfig::JANSSON)
    pkg_check_modules(JANSSON QUIET IMPORTED_TARGET jansson)
endif()
if(NOT TARGET PkgConfig::JANSSON)
    find_package(jansson CONFIG QUIET)
    if(TARGET jansson::jansson)
        add_library(PkgConfig::JANSSON INTERFACE IMPORTED)
        target_link_libraries(PkgConfig::JANSSON INTERFACE jansson::jansson)
    endif()
endif()
