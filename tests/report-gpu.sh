#!/bin/sh
# Runs the tests of OpenGL and Vulkan on this machine's GPU, times sorts and pairs, and writes one text file to send:
# sh tests/report-gpu.sh
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build out=report-gpu.txt filter=''
methods=all sorts=1000000,4000000,16000000 sort_ms=1000 boxes=100000,1000000 frames=50

usage() {
    cat <<TEXT
usage: sh tests/report-gpu.sh [OPTION]...

  --build DIR  a build that is there already; without it $build is made, without CUDA
  --out FILE   the report; $out without it
  --quick      two tests of each backend, and small counts
  --help       this text

What is missing for the build is installed on Debian and Ubuntu. Nothing is sent anywhere.
TEXT
}

while [ $# -gt 0 ]; do
    case $1 in
    --build | --out)
        [ $# -gt 1 ] || { usage >&2; exit 2; }
        if [ "$1" = --build ]; then build=$(cd "$2" && pwd); else out=$2; fi
        shift
        ;;
    --quick) filter='^test_(bounds|narrow_boxes)_' methods=radix sorts=65536 sort_ms=50 boxes=10000 frames=3 ;;
    --help | -h) usage; exit 0 ;;
    *) printf '%s\n' "report-gpu.sh: unknown option '$1'; sh tests/report-gpu.sh --help names them all" >&2; exit 2 ;;
    esac
    shift
done
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

find_cmake
if [ ! -f "$build/CMakeCache.txt" ]; then
    # shellcheck disable=SC2086 # words
    install_packages build-essential cmake ninja-build pkg-config libjansson-dev libcmocka-dev libgl-dev libegl-dev $vulkan_packages ||
        say "not everything could be installed"
    need cc c++ ninja pkg-config pc:jansson pc:cmocka
    "$cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPAIRSIEVE_CUDA=OFF -DPAIRSIEVE_VIZ=OFF -DPAIRSIEVE_MPI=OFF
    "$cmake" --build "$build" --parallel "$(processors)"
fi

# run_tests BACKEND: a line for each test, and the output of those that fail.
run_tests() {
    log=$(mktemp)
    "$ctest" --test-dir "$build" -L "^$1\$" ${filter:+-R "$filter"} -E report_gpu --output-on-failure >"$log" 2>&1 || true
    grep -E ' Test +#|tests passed|No tests were found' "$log" | sed 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: //'
    sed -n '/^\[  ERROR   \]\|^ERROR: \|VUID-/p' "$log" | cut -c 1-300
    rm -f "$log"
}

# take_times BACKEND: sorts of u32 pairs, and pairs of cubes.
take_times() {
    [ -x "$build/tests/bench/bench_sort" ] || { echo "no benchmarks in this build (PAIRSIEVE_BENCH)"; return 0; }
    "$build/tests/bench/bench_sort" --backend "$1" --method "$methods" --op pairs --distribution uniform --inputs 1 --no-yardstick \
        --count "$sorts" --budget "$sort_ms" 2>&1 || true
    "$build/tests/bench/bench_collision" --backend "$1" --methods rows,lbvh --scenes cube --counts "$boxes" --frames "$frames" \
        --budget 2 2>&1 || true
}

{
    echo "pairsieve $(git -C "$root" describe --always --dirty 2>/dev/null || echo 'without git'), $(date -u +%Y-%m-%d)"
    uname -srm
    "$build/sim/tool/pairsieve" info 2>&1 | sed -n '/^backends/,/^$/p'
    for backend in gl vulkan; do
        printf '\n== %s: tests\n' "$backend"
        run_tests "$backend"
        printf '\n== %s: times\n' "$backend"
        take_times "$backend"
    done
} >"$out"
say "$out is written; look through it before you send it"
