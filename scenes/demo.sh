#!/bin/sh
# The one command that shows it: sh scenes/demo.sh
# Installs what is missing (Debian, Ubuntu), builds, and lets 20,000 bodies fall for 300 frames: in a window where there
# is a display, else without one. Ends with what each frame cost. Options are passed on to `pairsieve run`; the scene and
# what else the viewer knows of them also to `pairsieve-view`.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${PAIRSIEVE_BUILD_DIR:-$root/build-demo}
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

case ${1:-} in
--help | -h)
    printf '%s\n' "usage: sh scenes/demo.sh [SCENE] [OPTION of 'pairsieve run']..." \
        "Without arguments: drop --bodies 20000 --frames 300"
    exit 0
    ;;
esac

# view OPTION_OF_RUN... -- OPTION_OF_VIEW...: the viewer, with what it shares with `pairsieve run`.
view() {
    left=$#
    while [ "$left" -gt 0 ] && [ "$1" != -- ]; do
        values=0 keep=no
        case $1 in
        --bodies | --seed | --backend | --sort | --broad-phase) values=1 keep=yes ;;
        --frames | --seconds | --workers | --check-every | --csv | --trace | --save | --restore) values=1 ;;
        -*) ;;
        *) keep=yes ;;
        esac
        while [ "$values" -ge 0 ] && [ "$1" != -- ]; do
            if [ "$keep" = yes ]; then set -- "$@" "$1"; fi
            shift
            left=$((left - 1)) values=$((values - 1))
        done
    done
    shift # the --
    "$build/viz/pairsieve-view" "$@"
}

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then window=yes; else window=no; fi
base_packages="build-essential cmake ninja-build pkg-config libjansson-dev"
viewer=AUTO target=pairsieve_tool
# Words of the package lists are meant to be split. All in one call: most of its time is the call's own.
# shellcheck disable=SC2086
if ! install_packages $base_packages $viewer_packages; then
    install_packages $base_packages || true
    say "the viewer's packages could not be installed: going on without a picture unless they are here"
fi
need cc c++ ninja pkg-config pc:jansson
mkdir -p "$build"
find_cmake
choose_cuda auto

say "building in $build (CUDA $cuda)"
"$cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPAIRSIEVE_CUDA="$cuda" -DPAIRSIEVE_VIZ="$viewer" \
    -DPAIRSIEVE_TESTS=OFF -DPAIRSIEVE_BENCH=OFF >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
if grep -q 'viewer ON' "$build/configure.log"; then target="$target pairsieve-view"; fi
# Words of the target list are meant to be split.
# shellcheck disable=SC2086
"$cmake" --build "$build" --parallel "$(processors)" --target $target

[ $# -gt 0 ] || set -- drop --bodies 20000 --frames 300
if [ "$target" != pairsieve_tool ]; then
    if [ "$window" = yes ]; then
        say "pairsieve-view: close the window to see the table"
        view "$@" -- || say "the viewer could not be shown"
    else
        say "no display: drawing frame 300 without one, when the bodies lie still"
        if view "$@" -- --headless --frames 300 --strip --size 1280x720 --screenshot "$build/demo.png" \
            >"$build/view.log" 2>&1; then
            say "the picture is $build/demo.png"
        else
            say "no picture: $(tail -n 1 "$build/view.log")"
        fi
    fi
fi
say "pairsieve run $*"
"$build/sim/tool/pairsieve" run "$@"
[ -z "$no_nvcc" ] || say "$no_nvcc; how to get it stands above"
