# Resolves the AUTO options to PSV_CUDA, PSV_GL, PSV_VULKAN, PSV_SIM and PSV_VIZ, and defines the flags that every target gets.
include(CheckLanguage)

set(PSV_CUDA OFF)
if(NOT PAIRSIEVE_CUDA STREQUAL OFF)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
            # The machine's own GPU where there is one, else one recent architecture; release builds name theirs in a preset.
            execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE psv_gpus ERROR_QUIET RESULT_VARIABLE psv_no_gpu)
            if(psv_no_gpu EQUAL 0 AND psv_gpus MATCHES "GPU 0")
                set(CMAKE_CUDA_ARCHITECTURES native)
            else()
                set(CMAKE_CUDA_ARCHITECTURES 90)
            endif()
        endif()
        enable_language(CUDA)
        find_package(CUDAToolkit 12.4)
        if(CUDAToolkit_FOUND)
            set(PSV_CUDA ON)
            set(CMAKE_CUDA_STANDARD 17)
            set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
            # For method `cub` and the yardstick of bench_sort alone.
            if(CCCL_ROOT)
                if(NOT EXISTS ${CCCL_ROOT}/cub/version.cuh)
                    message(FATAL_ERROR "CCCL_ROOT is ${CCCL_ROOT}, but there is no cub/version.cuh in that folder")
                endif()
                set(PSV_CCCL_OPTIONS "-I${CCCL_ROOT}") # before the toolkit, which is a system folder
            endif()
            # Device code is most of the libraries: without this nvcc compresses only PTX. Drivers from CUDA 12.4 on read both.
            if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
                set(PSV_CUDA_COMPRESS --compress-mode=size)
            else()
                set(PSV_CUDA_COMPRESS -Xfatbin=-compress-all)
            endif()
        endif()
    endif()
    if(PAIRSIEVE_CUDA STREQUAL ON AND NOT PSV_CUDA)
        message(FATAL_ERROR "PAIRSIEVE_CUDA is ON, but no CUDA Toolkit 12.4 or newer was found (nvcc on the PATH, or CUDACXX)")
    endif()
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
# Headers only: the library opens EGL at run time, and only where a program asks for a context of its own.
set(PSV_GL OFF)
if(NOT PAIRSIEVE_GL STREQUAL OFF AND CMAKE_SIZEOF_VOID_P EQUAL 8 AND UNIX)
    find_path(PSV_GL_INCLUDE GL/glcorearb.h)
    find_path(PSV_EGL_INCLUDE EGL/eglext.h)
    if(PSV_GL_INCLUDE AND PSV_EGL_INCLUDE)
        set(PSV_GL ON)
    endif()
endif()
if(PAIRSIEVE_GL STREQUAL ON AND NOT PSV_GL)
    message(FATAL_ERROR "PAIRSIEVE_GL is ON, but GL/glcorearb.h or EGL/eglext.h was not found, or this is no 64-bit "
                        "Linux or BSD (Debian: libgl-dev libegl-dev)")
endif()

# The header, and glslang, which makes SPIR-V of the shaders: the loader is opened at run time.
set(PSV_VULKAN OFF)
set(PSV_SPIRV_COMPILER "")
if(NOT PAIRSIEVE_VULKAN STREQUAL OFF AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    find_path(PSV_VULKAN_INCLUDE vulkan/vulkan_core.h)
    find_program(PSV_GLSLANG NAMES glslangValidator glslang)
    if(PSV_VULKAN_INCLUDE AND PSV_GLSLANG)
        set(PSV_VULKAN ON)
        set(PSV_SPIRV_COMPILER ${PSV_GLSLANG})
    else()
        message(STATUS "pairsieve: vulkan/vulkan_core.h or glslangValidator was not found (Debian: libvulkan-dev "
                       "glslang-tools), so the Vulkan backend is left out")
    endif()
endif()
if(PAIRSIEVE_VULKAN STREQUAL ON AND NOT PSV_VULKAN)
    message(FATAL_ERROR "PAIRSIEVE_VULKAN is ON, but vulkan/vulkan_core.h or glslangValidator was not found, or the "
                        "target has no 64 bits (Debian: libvulkan-dev glslang-tools)")
endif()
set(PSV_GPU OFF) # a backend of compute shaders
if(PSV_GL OR PSV_VULKAN)
    set(PSV_GPU ON)
endif()

# The header only: the library is opened at run time.
set(PSV_NCCL OFF)
if(PSV_CUDA AND NOT PAIRSIEVE_NCCL STREQUAL OFF)
    find_path(PSV_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    if(PSV_NCCL_INCLUDE)
        set(PSV_NCCL ON)
    endif()
endif()
if(PAIRSIEVE_NCCL STREQUAL ON AND NOT PSV_NCCL)
    message(FATAL_ERROR "PAIRSIEVE_NCCL is ON, but nccl.h was not found, or the CUDA backend is off")
endif()

set(PSV_MPI OFF)
if(NOT PAIRSIEVE_MPI STREQUAL OFF)
    find_package(MPI QUIET COMPONENTS C)
    if(MPI_C_FOUND)
        set(PSV_MPI ON)
    elseif(PAIRSIEVE_MPI STREQUAL ON)
        message(FATAL_ERROR "PAIRSIEVE_MPI is ON, but no MPI was found (Debian: libopenmpi-dev openmpi-bin)")
    endif()
endif()

find_package(PkgConfig QUIET)
set(PSV_SIM OFF)
if(NOT PAIRSIEVE_SIM STREQUAL OFF)
    include(${CMAKE_CURRENT_LIST_DIR}/PairsieveJansson.cmake)
    if(TARGET PkgConfig::JANSSON)
        set(PSV_SIM ON)
    elseif(PAIRSIEVE_SIM STREQUAL ON)
        message(FATAL_ERROR "PAIRSIEVE_SIM is ON, but jansson was not found (Debian: pkg-config libjansson-dev)")
    else()
        message(STATUS "pairsieve: jansson was not found (Debian: pkg-config libjansson-dev), so sim and what needs it are left out")
    endif()
endif()

set(PSV_VIZ OFF)
if(PAIRSIEVE_VIZ STREQUAL ON AND NOT PSV_SIM)
    message(FATAL_ERROR "PAIRSIEVE_VIZ is ON, but the viewer needs PAIRSIEVE_SIM")
endif()
if(PSV_SIM AND NOT PAIRSIEVE_VIZ STREQUAL OFF)
    if(PkgConfig_FOUND)
        pkg_check_modules(SDL2 IMPORTED_TARGET sdl2)
        pkg_check_modules(GLEW IMPORTED_TARGET glew)
        pkg_check_modules(CGLM IMPORTED_TARGET cglm)
        pkg_check_modules(IMGUI IMPORTED_TARGET imgui)
    endif()
    if(SDL2_FOUND AND GLEW_FOUND AND CGLM_FOUND AND IMGUI_FOUND)
        set(PSV_VIZ ON)
    elseif(PAIRSIEVE_VIZ STREQUAL ON)
        message(FATAL_ERROR "PAIRSIEVE_VIZ is ON, but SDL2, GLEW, cglm or Dear ImGui was not found "
                            "(Debian: libsdl2-dev libglew-dev libcglm-dev libimgui-dev libstb-dev)")
    endif()
endif()

# Flags of our own code; an interface target, so that each language gets its own. Floating point as the standard says,
# whatever flags a parent project gives: NaN, infinity and subnormal numbers are values.
add_library(pairsieve_flags INTERFACE)
target_compile_options(pairsieve_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wundef
                            -Wno-unknown-pragmas -fno-fast-math -ffp-contract=off>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr ${PSV_CUDA_COMPRESS} -Xcompiler=-Wall --ftz=false
                               --prec-div=true --prec-sqrt=true>)
if(WIN32) # with mingw-w64: formats are those of C, and what POSIX has is there
    target_compile_definitions(pairsieve_flags INTERFACE _FILE_OFFSET_BITS=64) # places in files beyond 2 GB
    target_compile_options(pairsieve_flags INTERFACE -Wno-format
                           "SHELL:-include ${PROJECT_SOURCE_DIR}/core/windows/posix_names.h")
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT "${CMAKE_C_FLAGS} " MATCHES "-O[0-9sgf ]")
    # Part of a project that does not say how it wants to be built.
    target_compile_options(pairsieve_flags INTERFACE -O3)
    target_compile_definitions(pairsieve_flags INTERFACE NDEBUG)
endif()
if(PAIRSIEVE_WERROR)
    target_compile_options(pairsieve_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-Werror> $<$<COMPILE_LANGUAGE:CXX>:-Werror>
        $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(PAIRSIEVE_FUZZ AND CMAKE_C_COMPILER_ID MATCHES Clang)
    # Coverage marks in the library, by which libFuzzer finds its way.
    target_compile_options(pairsieve_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
if(PAIRSIEVE_SANITIZE)
    string(REPLACE ";" "," psv_sanitizers "${PAIRSIEVE_SANITIZE}")
    target_compile_options(pairsieve_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${psv_sanitizers} -fno-omit-frame-pointer -g1>)
    target_compile_definitions(pairsieve_flags INTERFACE PSV_NO_FORCED_INLINING) # sort/cpu/clones.h
    if(psv_sanitizers MATCHES undefined)
        target_compile_options(pairsieve_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=undefined>)
    endif()
    target_link_options(pairsieve_flags INTERFACE -fsanitize=${psv_sanitizers})
endif()
target_compile_definitions(pairsieve_flags INTERFACE PSV_HAVE_CUDA=$<BOOL:${PSV_CUDA}> PSV_HAVE_GL=$<BOOL:${PSV_GL}>
                           PSV_HAVE_VULKAN=$<BOOL:${PSV_VULKAN}>
                           PSV_HAVE_NCCL=$<BOOL:${PSV_NCCL}> _GNU_SOURCE)

# psv_add_glsl(NAME file...): compute shaders, as text and for Vulkan as SPIR-V, in source files of the library
# pairsieve_NAME.
function(psv_add_glsl name)
    set(folders ${CMAKE_CURRENT_SOURCE_DIR}/gpu ${PROJECT_SOURCE_DIR}/collision/gpu ${PROJECT_SOURCE_DIR}/collision/gpu/trees)
    file(GLOB_RECURSE included CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.glsl ${PROJECT_SOURCE_DIR}/collision/gpu/*.glsl)
    set(common ${PROJECT_SOURCE_DIR}/core/gpu/gpu_common.glsl)
    foreach(shader ${ARGN})
        get_filename_component(shader_name ${shader} NAME_WE)
        set(file ${CMAKE_CURRENT_SOURCE_DIR}/${shader})
        set(code ${CMAKE_CURRENT_BINARY_DIR}/generated/glsl_${shader_name}.c)
        add_custom_command(OUTPUT ${code}
            COMMAND ${CMAKE_COMMAND} -DOUTPUT=${code} -DFILE=${file} "-DFOLDERS=${folders}"
                    -DCOMMON=${common} -DCOMPILER=${PSV_SPIRV_COMPILER} -P ${PROJECT_SOURCE_DIR}/cmake/embed_glsl.cmake
            DEPENDS ${file} ${common} ${included} ${PROJECT_SOURCE_DIR}/cmake/embed_glsl.cmake VERBATIM)
        target_sources(pairsieve_${name} PRIVATE ${code})
        set_source_files_properties(${code} PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/core/gpu)
    endforeach()
endfunction()

# psv_add_module(NAME DEPENDS ... SOURCES ...): static library pairsieve_NAME with alias pairsieve::NAME. With
# BUILD_SHARED_LIBS the alias is made in PairsieveShared.cmake; pairsieve_NAME is then for tests of internals alone.
function(psv_add_module name)
    cmake_parse_arguments(PARSE_ARGV 1 module "" "INCLUDE" "SOURCES;CUDA_SOURCES;GL_SOURCES;VULKAN_SOURCES;GPU_SOURCES;GLSL;DEPENDS;PRIVATE_DEPENDS")
    add_library(pairsieve_${name} STATIC ${module_SOURCES})
    if(PSV_CUDA AND module_CUDA_SOURCES)
        target_sources(pairsieve_${name} PRIVATE ${module_CUDA_SOURCES})
    endif()
    if(PSV_GL AND module_GL_SOURCES)
        target_sources(pairsieve_${name} PRIVATE ${module_GL_SOURCES})
        target_include_directories(pairsieve_${name} PRIVATE ${PSV_GL_INCLUDE} ${PSV_EGL_INCLUDE})
    endif()
    if(PSV_VULKAN AND module_VULKAN_SOURCES)
        target_sources(pairsieve_${name} PRIVATE ${module_VULKAN_SOURCES})
        target_include_directories(pairsieve_${name} PRIVATE ${PSV_VULKAN_INCLUDE})
    endif()
    if(PSV_GPU AND module_GPU_SOURCES)
        target_sources(pairsieve_${name} PRIVATE ${module_GPU_SOURCES})
        psv_add_glsl(${name} ${module_GLSL})
    endif()
    if(NOT BUILD_SHARED_LIBS)
        add_library(pairsieve::${name} ALIAS pairsieve_${name})
    endif()
    set_target_properties(pairsieve_${name} PROPERTIES EXPORT_NAME ${name})
    target_include_directories(pairsieve_${name} PUBLIC
        $<BUILD_INTERFACE:${module_INCLUDE}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(pairsieve_${name} PUBLIC ${module_DEPENDS}
                          PRIVATE $<BUILD_INTERFACE:pairsieve_flags> ${module_PRIVATE_DEPENDS} m)
    if(name STREQUAL core) # all loops run there
        target_link_libraries(pairsieve_core PRIVATE Threads::Threads)
    endif()
    if(PSV_CUDA)
        target_link_libraries(pairsieve_${name} PRIVATE CUDA::cudart_static stdc++) # nvcc's host code is C++
    endif()
    set_property(GLOBAL APPEND PROPERTY PSV_MODULES ${name})
endfunction()
