#!/bin/sh
# Measures this machine from one commit and fills tests/bench/results/MACHINE; then history.csv gets this commit's lines.
#
# usage: tests/bench/measure.sh [--quick] [--build FOLDER] MACHINE
#   --quick    small cases, in two minutes: to try the script
#   --build    a Release build with benchmarks; built anew without it
#
# All files are measured first and take their names together, so a run that fails or is interrupted leaves the old ones.
# The tree has to be clean: rows that name a commit are to be repeatable from it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
quick='' build='' machine=''
fail() { echo "measure.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --build) [ $# -gt 1 ] || fail "--build needs a folder"; build=$2; shift ;;
    --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) fail "unknown option $1; accepted: --quick, --build FOLDER" ;;
    *) [ -z "$machine" ] || fail "one MACHINE is accepted"; machine=$1 ;;
    esac
    shift
done
case $machine in
'') fail "needs the name of this machine, as in tests/bench/results: nvidia-h200, amd-epyc-2-cores" ;;
*[!a-z0-9-]*) fail "$machine: a name has small letters, digits and hyphens" ;;
esac
[ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ] || fail "the tree has changes; commit them first"
commit=$(git -C "$root" rev-parse --short HEAD)

if [ -z "$build" ]; then
    build=$root/build-measure
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPAIRSIEVE_TESTS=OFF -DPAIRSIEVE_VIZ=OFF >/dev/null
    cmake --build "$build" >&2
fi
bench=$build/tests/bench
[ -x "$bench/bench_sort" ] || fail "$bench has no bench_sort; configure with -DPAIRSIEVE_BENCH=ON"

results=${PAIRSIEVE_RESULTS:-$root/tests/bench/results} # another folder: for the test of this script
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# measure NAME PROGRAM ARGUMENT...: the program's CSV file becomes NAME.csv.
measure() {
    name=$1 program=$2
    shift 2
    echo "$name: $program $*"
    "$bench/$program" --commit "$commit" --csv "$work/$name.csv" "$@" >"$work/$name.log" 2>&1 ||
        { cat "$work/$name.log" >&2; fail "$program failed"; }
    grep -h busy "$work/$name.log" >&2 || true
}

if [ -n "$quick" ]; then
    counts=10K,1M boxes=10000 sorts='--budget 20' pairs='--budget 0.2 --scenes cube,pile' frames=20
else
    counts=10K,100K,1M,10M boxes=10000,100000,1000000 sorts='--budget 200' pairs='--budget 2' frames=140
fi
# shellcheck disable=SC2086 # $sorts and $pairs are several words
measure_backend() { # BACKEND SUFFIX
    measure "sort$2" bench_sort --backend "$1" --count $counts --op pairs,keys,index $sorts
    measure "collision$2" bench_collision --backend "$1" --counts $boxes --methods rows,lbvh $pairs
    if [ -n "$quick" ]; then
        measure "sim$2" bench_sim --backend "$1" --frames $frames spheres 1000 boxes 500
    else
        measure "sim$2" bench_sim --backend "$1" --frames $frames
    fi
}
measure_backend cpu _cpu
if command -v nvidia-smi >/dev/null 2>&1 && "$bench/bench_sort" --backend cuda --count 1K --op keys >/dev/null 2>&1; then
    measure_backend cuda ''
fi
if [ -x "$bench/bench_papers" ]; then
    echo "papers: bench_papers"
    "$bench/bench_papers" ${quick:+--quick --only ha-1} --out "$work/papers.html" --json-out "$work/papers.json" >/dev/null
fi

mkdir -p "$results/$machine"
for file in "$work"/*.csv; do
    mv "$file" "$results/$machine/"
done
[ ! -f "$work/papers.html" ] || mv "$work/papers.html" "$work/papers.json" "$results/$machine/"
python3 "$root/tests/bench/history.py" --results "$results" "$machine"
echo "$results/$machine is filled from commit $commit; tests/bench/make_tables.py writes the pages"
