#!/bin/sh
# The one command that shows it: sh scenes/demo.sh
# Installs what is missing (Debian, Ubuntu), builds, and lets 20,000 bodies fall for 300 frames: in a window where there
# is a display, else without one. Ends with what each frame cost. Options are passed on to `pairsieve run`.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${PAIRSIEVE_BUILD_DIR:-$root/build-demo}
. "$root/tests/setup.sh"

case ${1:-} in
--help | -h)
    printf '%s\n' "usage: sh scenes/demo.sh [SCENE] [OPTION of 'pairsieve run']..." \
        "Without arguments: drop --bodies 20000 --frames 300"
    exit 0
    ;;
esac

install_packages build-essential cmake ninja-build pkg-config libjansson-dev || true
need cc c++ ninja pkg-config pc:jansson
mkdir -p "$build"
find_cmake
choose_cuda auto

say "building in $build (CUDA $cuda)"
"$cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPAIRSIEVE_CUDA="$cuda" -DPAIRSIEVE_VIZ=OFF \
    -DPAIRSIEVE_TESTS=OFF -DPAIRSIEVE_BENCH=OFF >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
"$cmake" --build "$build" --parallel "$(processors)" --target pairsieve_tool

[ $# -gt 0 ] || set -- drop --bodies 20000 --frames 300
say "pairsieve run $*"
"$build/sim/tool/pairsieve" run "$@"
