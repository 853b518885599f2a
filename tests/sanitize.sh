#!/bin/sh
# The tests of the CUDA code under compute-sanitizer, on a machine with a GPU: sh tests/sanitize.sh
# Runs what ctest calls `cuda`, cut down to every Nth case (tests/test_scale.h) so that each takes seconds; all kernels
# still run. Exit code 0: no errors, no hazards, and every test passed or says why it was skipped.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${PAIRSIEVE_BUILD_DIR:-$root/build}
tools='' pattern=. jobs=2 scale='' limit=600 list=

usage() {
    cat <<'TEXT'
usage: sh tests/sanitize.sh [OPTION]...

  --tool NAME    memcheck (with a check for leaks), racecheck, initcheck or synccheck; may be given again.
                 Without it: memcheck, then racecheck
  -R PATTERN     only the tests whose names match (a ctest pattern)
  -j N           tests side by side (2)
  --scale N      every Nth case of each test (memcheck 23, the others 97)
  --timeout S    seconds for one test (600)
  --list         only show the tests, and what each took without a sanitizer: seconds beside 19 others on one H200
  --help         this text

The build is the folder `build`, or $PAIRSIEVE_BUILD_DIR; sh tests/run.sh makes it. The logs go to `sanitize` in it.
TEXT
}

die() { printf '%s\n' "sanitize.sh: $*" >&2; exit 2; }

while [ $# -gt 0 ]; do
    case $1 in
    --tool | -R | -j | --scale | --timeout)
        [ $# -gt 1 ] || { usage >&2; exit 2; }
        case $1 in
        --tool) tools="$tools $2" ;;
        -R) pattern=$2 ;;
        -j) jobs=$2 ;;
        --scale) scale=$2 ;;
        --timeout) limit=$2 ;;
        esac
        shift ;;
    --list) list=1 ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option '$1'; sh tests/sanitize.sh --help names them all" ;;
    esac
    shift
done
for tool in ${tools:=memcheck racecheck}; do
    case $tool in memcheck | racecheck | initcheck | synccheck) ;; *) die "compute-sanitizer has no tool '$tool'" ;; esac
done
[ -f "$build/CTestTestfile.cmake" ] || die "$build holds no build; sh tests/run.sh makes one"
if [ -n "$list" ]; then
    # The seconds are what psv_register_test calls SECONDS, and ctest the cost of a test.
    { find "$build/tests" -name CTestTestfile.cmake -exec grep -h '^set_tests_properties(' {} +
      ctest --test-dir "$build" -N -L cuda -R "$pattern"; } | awk '
        /^set_tests_properties/ {
            name = $1
            sub(/^set_tests_properties\((\[=\[)?/, "", name)
            sub(/\]=\]$/, "", name)
            if (match($0, / COST "[0-9.]+"/)) seconds[name] = substr($0, RSTART + 7, RLENGTH - 8)
        }
        /^ +Test +#[0-9]+: / { printf "%-34s %s\n", $NF, $NF in seconds ? seconds[$NF] " s" : "not timed"; ++shown }
        END { exit shown == 0 }' || die "no test with the label cuda matches '$pattern'"
    exit 0
fi
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[ -x "$sanitizer" ] || die "compute-sanitizer was not found; it comes with the CUDA toolkit"
logs=$build/sanitize
mkdir -p "$logs"

# One file of shell commands for each test: where it runs, its environment, its command.
rm -f "$logs"/*.test
ctest --test-dir "$build" -N -V -L cuda -R "$pattern" | awk -v folder="$logs" '
    function quote(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
    /^[0-9]+: Test command: / { command = $0; sub(/^[0-9]+: Test command: /, "", command); lines = ""; inside = 0 }
    /^[0-9]+: Working Directory: / { line = $0; sub(/^[0-9]+: Working Directory: /, "", line); lines = "cd " quote(line) "\n" }
    inside && /^[0-9]+:  / { line = $0; sub(/^[0-9]+:  /, "", line); lines = lines "export " quote(line) "\n" }
    /^[0-9]+: Environment variables:/ { inside = 1; next }
    !/^[0-9]+:  / { inside = 0 }
    /^ +Test +#[0-9]+: / {
        file = folder "/" $NF ".test"
        printf "%sset -- %s\n", lines, command >file
        close(file)
    }'
set -- "$logs"/*.test
[ -f "$1" ] || die "no test with the label cuda matches '$pattern': is it a build with CUDA?"

# run_one FILE: runs the test of a file under $tool, and prints one line about it.
cat >"$logs/run_one" <<'TEXT'
name=$(basename "$1" .test)
log=$PSV_LOGS/$name.$PSV_TOOL.log
. "$1"
begin=$(date +%s)
code=0
[ "$name $PSV_TOOL" != "test_sort_in_turn racecheck" ] || PSV_OPTIONS=
# Of trees their own kernels: with those of the sorters, which other tests look at, it came to no end.
[ "$name $PSV_TOOL" != "test_tree_cuda racecheck" ] ||
    PSV_OPTIONS="--kernel-name kernel_substring=psvk_tree --kernel-name kernel_substring=psvk_fine"
# Some tests provoke errors of the CUDA API, out of memory for one: that they are reported is theirs to check.
timeout "$PSV_LIMIT" "$PSV_SANITIZER" --tool "$PSV_TOOL" $PSV_OPTIONS --report-api-errors no --error-exitcode 86 \
    --target-processes all "$@" >"$log" 2>&1 || code=$?
case $code in 0) result=passed ;; 77) result=skipped ;; 86) result=ERRORS ;; 124) result=TIMEOUT ;; *) result=FAILED ;; esac
printf '%-10s %-26s %-8s %4d s  %s\n' "$PSV_TOOL" "$name" "$result" $(($(date +%s) - begin)) \
    "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|^skipped' "$log" | tail -n 1 | sed 's/^=* *//')"
case $result in passed | skipped) ;; *) exit 1 ;; esac
TEXT

failed=0
export PSV_LOGS="$logs" PSV_SANITIZER="$sanitizer" PSV_LIMIT="$limit" PSV_TOOL PSV_OPTIONS PAIRSIEVE_TEST_SCALE
for PSV_TOOL in $tools; do
    PSV_OPTIONS=
    PAIRSIEVE_TEST_SCALE=${scale:-97}
    # racecheck does not follow barriers at which some threads only arrive: it finds hazards in kernels that are right.
    # This one with barriers of whole blocks is in test_sort_in_turn.
    [ "$PSV_TOOL" != racecheck ] || PSV_OPTIONS="--kernel-name-exclude kernel_substring=psvk_radix_async_pass"
    if [ "$PSV_TOOL" = memcheck ]; then
        PSV_OPTIONS="--leak-check full"
        PAIRSIEVE_TEST_SCALE=${scale:-23}
    fi
    printf '%s\0' "$@" | xargs -0 -n 1 -P "$jobs" sh "$logs/run_one" || failed=1
done
[ "$failed" = 0 ] || echo "sanitize.sh: errors were found; the logs are in $logs"
exit "$failed"
