#!/bin/sh
# Installs a build into a folder of its own and uses it from there: with find_package, with pkg-config, and as a program.
# usage: test_install.sh BUILD_FOLDER SOURCE_FOLDER CMAKE C_COMPILER
set -eu
build=$1 source=$2 cmake=$3 cc=$4
work=$build/tests/install/work
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }

echo "find_package"
"$cmake" -S "$source/tests/install/find_package" -B "$work/find_package" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/find_package"
"$work/find_package/consumer"

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
