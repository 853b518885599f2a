# Windows x64 from a Debian or Ubuntu machine: g++-mingw-w64-x86-64-posix, and wine64 to run what is built.
# PAIRSIEVE_WINDOWS_ROOT: a folder that jansson and cmocka for Windows were installed into.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAIRSIEVE_WINDOWS_ROOT)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 ${PAIRSIEVE_WINDOWS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${PAIRSIEVE_WINDOWS_ROOT}/lib/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "")
# Programs hold the compiler's runtime libraries, so that they run anywhere.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
find_program(PAIRSIEVE_WINE NAMES wine64 wine64-stable wine PATHS /usr/lib/wine /usr/bin)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PAIRSIEVE_WINE})
