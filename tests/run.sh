#!/bin/sh
# The one command that sets up, builds and passes the tests: sh tests/run.sh
# Installs what is missing (Debian, Ubuntu), builds a release build and runs every test that this machine can run; says
# what was skipped, and why.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${PAIRSIEVE_BUILD_DIR:-$root/build}
want_cuda=auto viewer=AUTO long=OFF werror=OFF filter="" area=""

areas="core sort radix collision pairs rows trees sim solver files viz tool groups gl vulkan docs install"

usage() {
    cat <<TEXT
usage: sh tests/run.sh [OPTION]...

  --cuda         build the CUDA code, also where there is no GPU (its tests are then skipped)
  --no-cuda      CPU only, also where there is a GPU
  --no-viewer    leave out pairsieve-view, its packages and its tests
  --werror       warnings of the compilers are errors
  --long         the tests that run for minutes too
  --area NAME    only the tests of a part of the code, one of
                 $areas
  -R PATTERN     only the tests whose names match (a ctest pattern)
  --help         this text

The build goes to the folder build, or to \$PAIRSIEVE_BUILD_DIR.
TEXT
}

while [ $# -gt 0 ]; do
    case $1 in
    --cuda) want_cuda=on ;;
    --no-cuda) want_cuda=off ;;
    --no-viewer) viewer=OFF ;;
    --long) long=ON ;;
    --werror) werror=ON ;;
    --area)
        case " $areas " in
        *" ${2:-} "*) area=$2 ;;
        *) printf '%s\n' "run.sh: area '${2:-}' is not known; there are $areas" >&2; exit 2 ;;
        esac
        shift
        ;;
    -R) [ $# -gt 1 ] || { usage >&2; exit 2; }; filter=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    *) printf '%s\n' "run.sh: unknown option '$1'; sh tests/run.sh --help names them all" >&2; exit 2 ;;
    esac
    shift
done
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

base_packages="build-essential cmake ninja-build pkg-config libjansson-dev libcmocka-dev"
[ "$viewer" = AUTO ] || viewer_packages=
# Words of the package lists are meant to be split.
# shellcheck disable=SC2086
install_packages $base_packages $viewer_packages ${viewer_packages:+xvfb xauth xdotool imagemagick} || install_packages $base_packages ||
    say "not everything could be installed"
# shellcheck disable=SC2086
install_packages $vulkan_packages || say "no Vulkan: its backend is left out, or not tested"
install_packages python3-jsonschema || say "no Python module jsonschema: JSON is not compared with its schemas"
install_packages libopenmpi-dev openmpi-bin || say "no MPI: groups of MPI ranks are left out"
need cc c++ ninja pkg-config pc:jansson pc:cmocka
mpi=AUTO
if command -v mpicc >/dev/null; then mpi=ON; fi
mkdir -p "$build"
find_cmake
choose_cuda "$want_cuda"

say "configuring and building in $build (CUDA $cuda)"
"$cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPAIRSIEVE_CUDA="$cuda" -DPAIRSIEVE_VIZ="$viewer" \
    -DPAIRSIEVE_LONG_TESTS="$long" -DPAIRSIEVE_WERROR="$werror" -DPAIRSIEVE_MPI="$mpi"
"$cmake" --build "$build" --parallel "$(processors)"

say "running the tests"
log=$build/tests.log
code=0
# No pipe: its exit code would hide ctest's.
"$ctest" --test-dir "$build" --output-on-failure --no-tests=error -j "$(processors)" ${filter:+-R "$filter"} \
    ${area:+-L "^$area\$"} >"$log" 2>&1 || code=$?
cat "$log"

# A skipped test says why in its last line of output.
awk '
    /^[0-9]+\/[0-9]+ Test: / { name = $3; reason = ""; inside = 0 }
    /^Output:$/ { inside = 1; next }
    /^<end of output>$/ { inside = 0 }
    inside && NF > 0 && $0 !~ /^-+$/ { reason = $0 }
    /^Test Skipped/ || /^Test not run|Skipped\.$/ { skipped[++count] = sprintf("  %-28s %s", name, reason) }
    END {
        if (count) print "== skipped:"
        for (i = 1; i <= count; ++i) print skipped[i]
    }
' "$build/Testing/Temporary/LastTest.log"

passed=$(grep -c ' Passed ' "$log" || true)
if [ "$code" = 0 ] && [ "$passed" = 0 ]; then
    say "no test was run"
    code=1
fi
[ -z "$no_nvcc" ] || say "$no_nvcc; how to get it stands above"
grep -E '^[0-9]+% tests passed|^Total Test time' "$log" || say "ctest gave no summary"
exit "$code"
