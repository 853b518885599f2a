# Linux on aarch64 from a Debian or Ubuntu machine: gcc-aarch64-linux-gnu, and qemu-user to run what is built.
# PAIRSIEVE_ARM64_ROOT: a folder with the unpacked packages of jansson and cmocka for arm64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAIRSIEVE_ARM64_ROOT)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu ${PAIRSIEVE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${PAIRSIEVE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PAIRSIEVE_ARM64_ROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=${PAIRSIEVE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu")
