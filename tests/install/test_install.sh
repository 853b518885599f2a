#!/bin/sh
# Installs a build into a folder of its own and uses it from there: its headers, with find_package from C and from C++,
# with pkg-config, and as a program. Then the source as a part of another project.
# usage: test_install.sh BUILD_FOLDER SOURCE_FOLDER CMAKE C_COMPILER CXX_COMPILER
set -eu
build=$1 source=$2 cmake=$3 cc=$4 cxx=$5
work=$build/tests/install/work
rm -rf "$work"
mkdir -p "$work"

# quiet COMMAND...: its output only if it fails.
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

quiet "$cmake" --install "$build" --prefix "$work/prefix"

echo "headers"
for header in core sort collision sim; do
    echo "#include <pairsieve/$header.h>" >"$work/$header.c"
    cp "$work/$header.c" "$work/$header.cpp"
    "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$work/prefix/include" -fsyntax-only "$work/$header.c"
    "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$work/prefix/include" -fsyntax-only "$work/$header.cpp"
done

# consume NAME [CMAKE_ARGUMENT]...: configures, builds and runs the project tests/install/NAME.
consume() {
    name=$1
    shift
    echo "$name"
    quiet "$cmake" -S "$source/tests/install/$name" -B "$work/$name" -G Ninja -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER="$cxx" "$@"
    quiet "$cmake" --build "$work/$name"
    "$work/$name/consumer"
}
consume find_package -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
consume find_package_cpp -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"

echo "pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name pairsieve.pc)")
export PKG_CONFIG_PATH
# Words of the flags are meant to be split.
# shellcheck disable=SC2046
"$cc" -std=c17 "$source/tests/install/consumer.c" $(pkg-config --cflags --libs --static pairsieve) -o "$work/consumer"
"$work/consumer"

echo "program"
"$work/prefix/bin/pairsieve" --version
"$work/prefix/bin/pairsieve" sort --count 1000 --backend cpu
if [ -d "$work/prefix/libexec/pairsieve" ]; then # benchmarks were built
    "$work/prefix/bin/pairsieve" bench sim --backend cpu --frames 2 drop 20
fi

# Without optimization and CUDA: what is tested is how it is embedded.
consume add_subdirectory -DPAIRSIEVE_SOURCE="$source" -DPAIRSIEVE_CUDA=OFF -DCMAKE_BUILD_TYPE=Debug
