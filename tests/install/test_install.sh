#!/bin/sh
# Installs a build into a folder of its own and uses it from there, static and shared: the programs of docs/embedding and
# the consumer, in C and in C++ with strict warnings, by find_package, by pkg-config and as a part of another project;
# collision alone where jansson is missing; what a shared library exports; the installed program, its pages and completions.
# usage: test_install.sh BUILD_FOLDER SOURCE_FOLDER CMAKE C_COMPILER CXX_COMPILER
set -eu
build=$1 source=$2 cmake=$3 cc=$4 cxx=$5
work=$build/tests/install/work
programs=$source/docs/embedding
rm -rf "$work"
mkdir -p "$work"

# quiet COMMAND...: its output only if it fails.
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

# run_all FOLDER LEAST: runs the programs in it, at least so many.
run_all() {
    count=0
    for program in "$1"/*; do
        quiet timeout 120 "$program"
        count=$((count + 1))
    done
    echo "  $count programs"
    [ "$count" -ge "$2" ] || { echo "expected $2 programs"; exit 1; }
}

# with_cmake NAME LANGUAGE COMPONENTS LEAST [ARGUMENT]...: the project `programs`.
with_cmake() {
    name=$1 language=$2 components=$3 least=$4
    shift 4
    echo "$name, $language"
    quiet "$cmake" -S "$source/tests/install/programs" -B "$work/$name-$language" -G Ninja -DLANGUAGE="$language" \
        -DCOMPONENTS="$components" -DPROGRAMS="$programs" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" "$@"
    quiet "$cmake" --build "$work/$name-$language"
    run_all "$work/$name-$language/run" "$least"
}

# with_pkg_config NAME PREFIX LANGUAGE: each program with the file of the library that it uses.
with_pkg_config() {
    name=$1 prefix=$2 language=$3
    echo "$name by pkg-config, $language"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name pairsieve.pc)")
    export PKG_CONFIG_PATH
    mkdir -p "$work/$name-pc-$language"
    for file in "$programs"/*.c "$source/tests/install/consumer.c"; do
        program=$(basename "$file" .c)
        case $program in
        sort_draws | own_threads) package=pairsieve-sort ;;
        rigid_bodies | shoot_and_listen) package=pairsieve-sim ;;
        consumer) package=pairsieve ;;
        *) package=pairsieve-collision ;;
        esac
        if [ "$language" = C ]; then
            compile="$cc -std=c17"
        elif [ "$program" = consumer ]; then
            file=$source/tests/install/consumer.cpp compile="$cxx -std=c++17 -Wold-style-cast"
        else
            compile="$cxx -x c++ -std=c++17 -Wold-style-cast"
        fi
        # Words of commands and flags are meant to be split.
        # shellcheck disable=SC2046,SC2086
        quiet $compile -Wall -Wextra -Wconversion -Werror $(pkg-config --cflags "$package") "$file" -x none \
            $(pkg-config --libs "$package") -pthread -lm -Wl,-rpath,"$(dirname "$PKG_CONFIG_PATH")" \
            -o "$work/$name-pc-$language/$program"
    done
    run_all "$work/$name-pc-$language" 20
}

echo "programs: short, and in the page"
for file in "$programs"/*.c "$programs"/*.cpp; do
    [ "$(wc -l <"$file")" -lt 80 ] || { echo "$file has 80 lines or more"; exit 1; }
    grep -q "$(basename "$file")" "$source/docs/learn/embedding.md" || { echo "embedding.md does not name $file"; exit 1; }
done

static=$work/static shared=$work/shared
quiet "$cmake" --install "$build" --prefix "$static"

echo "licence, examples, man pages"
for file in LICENSE CHANGELOG.md examples/find_pairs.c examples/headless.c examples/frame_by_frame.c; do
    [ -s "$static/share/doc/pairsieve/$file" ] || { echo "share/doc/pairsieve/$file is not installed"; exit 1; }
done
for option in --explain --distributed --csv; do
    grep -q -e "$(printf %s "$option" | sed 's/-/\\\\-/g')" "$static/share/man/man1/pairsieve.1" ||
        { echo "the man page lacks $option"; exit 1; }
done

for page in docs/README.md docs/stability.md docs/learn/embedding.md docs/embedding/errors.c; do
    [ -s "$static/share/doc/pairsieve/$page" ] || { echo "share/doc/pairsieve/$page is not installed"; exit 1; }
done

if [ -f "$static/share/bash-completion/completions/pairsieve" ]; then
    bash "$source/tests/install/check_completions.sh" "$static"
else
    echo "completions are left out: no Python"
fi

echo "headers"
for header in core sort group collision group_pairs tree tree_view tree_tests sim render; do
    echo "#include <pairsieve/$header.h>" >"$work/$header.c"
    cp "$work/$header.c" "$work/$header.cpp"
    strict="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror -fsyntax-only"
    # shellcheck disable=SC2086
    "$cc" -std=c17 $strict -I"$static/include" "$work/$header.c"
    # shellcheck disable=SC2086
    "$cxx" -std=c++17 -Wold-style-cast $strict -I"$static/include" "$work/$header.cpp"
done

echo "pairsieve.hpp"
PKG_CONFIG_PATH=$(dirname "$(find "$static" -name pairsieve.pc)")
export PKG_CONFIG_PATH
for compiler in $(printf '%s\n' "$cxx" clang++ | sort -u); do
    command -v "$compiler" >/dev/null || continue
    for standard in 17 20; do
        # shellcheck disable=SC2046,SC2086
        quiet "$compiler" -std=c++$standard -Wold-style-cast -Wshadow ${strict% -fsyntax-only} \
            $(pkg-config --cflags pairsieve-collision) "$programs/engine_loop.cpp" $(pkg-config --libs pairsieve-collision) -o "$work/loop"
        quiet "$work/loop"
    done
done
unset PKG_CONFIG_PATH

# Without optimization, debugging information and forced inlining (sort/cpu/clones.h): what is tested is how it is embedded.
fast=-DCMAKE_C_FLAGS_DEBUG=-DPSV_NO_FORCED_INLINING
quiet "$cmake" -S "$source" -B "$work/build-shared" -G Ninja -DCMAKE_BUILD_TYPE=Debug "$fast" -DBUILD_SHARED_LIBS=ON \
    -DPAIRSIEVE_CUDA=OFF -DPAIRSIEVE_GL=OFF -DPAIRSIEVE_VULKAN=OFF -DPAIRSIEVE_VIZ=OFF -DPAIRSIEVE_TESTS=OFF -DPAIRSIEVE_BENCH=OFF -DPAIRSIEVE_TOOL=OFF \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
quiet "$cmake" --build "$work/build-shared"
quiet "$cmake" --install "$work/build-shared" --prefix "$shared"
library=$(find "$shared" -name libpairsieve.so)
echo "exports of $(basename "$library")"
nm -D --defined-only "$library" | awk '{ print $NF }' >"$work/exports"
[ "$(grep -c '^psv_' "$work/exports")" -gt 100 ]
if grep -v '^psv_' "$work/exports"; then
    echo "exported beside psv_"
    exit 1
fi

for language in C CXX; do
    for kind in static shared; do
        with_cmake "$kind" $language "core;sort;collision;sim" 20 -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$work/$kind"
    done
done
with_pkg_config static "$static" C
with_pkg_config shared "$shared" CXX

# As a part of a project, on a machine without jansson: the libraries for the CPU but sim.
PKG_CONFIG_LIBDIR=$work/nothing
export PKG_CONFIG_LIBDIR
unset PKG_CONFIG_PATH
with_cmake part C "core;sort;collision" 17 -DPAIRSIEVE_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug "$fast" -DCMAKE_DISABLE_FIND_PACKAGE_jansson=ON
grep -q 'PAIRSIEVE_CUDA:STRING=OFF' "$work/part-C/CMakeCache.txt"
[ ! -d "$work/part-C/pairsieve/sim" ]
echo "optimized, in a project that says nothing about it"
quiet "$cmake" -S "$source/tests/install/programs" -B "$work/plain" -G Ninja -DLANGUAGE=C -DCOMPONENTS=collision \
    -DPROGRAMS="$programs" -DPAIRSIEVE_SOURCE="$source" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
grep 'pairsieve_collision.dir' "$work/plain/compile_commands.json" >"$work/log"
if grep -v -e ' -O3 .*-DNDEBUG' -e '-DNDEBUG .*-O3' "$work/log" | grep command; then
    echo "not optimized"
    exit 1
fi
echo "in a project that links the sorters alone, the rest is not built"
quiet "$cmake" -S "$source/tests/install/programs" -B "$work/sorters" -G Ninja -DLANGUAGE=CXX -DCOMPONENTS=sort -DPROGRAMS="$programs" \
    -DPAIRSIEVE_SOURCE="$source" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
ninja -C "$work/sorters" -t commands all >"$work/log"
grep -q 'pairsieve_sort.dir' "$work/log"
if grep -q 'pairsieve_collision.dir' "$work/log"; then
    echo "collision is built, too"
    exit 1
fi
with_cmake alone C "core;sort;collision" 17 -DCMAKE_PREFIX_PATH="$static"
echo "benchmarks and tests without jansson"
quiet "$cmake" -S "$source" -B "$work/bench" -G Ninja -DPAIRSIEVE_CUDA=OFF -DPAIRSIEVE_BENCH=ON -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx"
echo "find_package of sim without jansson is refused"
if "$cmake" -S "$source/tests/install/programs" -B "$work/refused" -G Ninja -DLANGUAGE=C -DCOMPONENTS=sim \
    -DPROGRAMS="$programs" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$static" -DCMAKE_DISABLE_FIND_PACKAGE_jansson=ON \
    >"$work/log" 2>&1; then
    echo "it was not"
    exit 1
fi
grep -q 'needs jansson' "$work/log"
echo "find_package of sim takes jansson's own CMake package where pkg-config has none"
mkdir "$work/jansson"
cat >"$work/jansson/janssonConfig.cmake" <<'END'
add_library(jansson::jansson INTERFACE IMPORTED)
target_link_libraries(jansson::jansson INTERFACE -ljansson)
END
with_cmake package C sim 3 -DCMAKE_PREFIX_PATH="$static" -Djansson_DIR="$work/jansson"

echo "program"
"$static/bin/pairsieve" --version
if grep -q 'PAIRSIEVE_MPI:STRING=AUTO' "$build/CMakeCache.txt" && ldd "$static/bin/pairsieve" | grep libmpi; then
    echo "the program needs MPI, which nobody asked for"
    exit 1
fi
"$static/bin/pairsieve" sort --count 1000 --backend cpu
if [ -d "$static/libexec/pairsieve" ]; then # benchmarks were built
    "$static/bin/pairsieve" bench sim --backend cpu --frames 2 drop 20
fi
