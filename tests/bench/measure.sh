#!/bin/sh
# Measures this machine from one commit and fills tests/bench/results/MACHINE; then history.csv gets this commit's lines.
#
# usage: tests/bench/measure.sh [OPTION]... MACHINE
#        tests/bench/measure.sh --take FOLDER MACHINE
#   --parts LIST   of cpu, cuda, papers, with commas between them; without it cpu, papers and, where there is a GPU, cuda
#   --quick        small cases, in two minutes: to try the script
#   --build FOLDER a Release build with benchmarks; built anew without it
#   --commit HASH  names the commit of a tree that is a copy, without its history
#   --out FOLDER   fills FOLDER in place of tests/bench/results/MACHINE
#   --take FOLDER  measures nothing: takes what --out left, writes history.csv, README.md and docs/measured
#
# The files of a part are measured first and take their names together, so a run that fails or is interrupted leaves
# the old ones. The tree has to be clean without --commit: rows that name a commit are to be repeatable from it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
quick='' build='' machine='' parts='' commit='' out='' take=''
fail() { echo "measure.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --build | --parts | --commit | --out | --take)
        [ $# -gt 1 ] || fail "$1 needs a value"
        option=${1#--}
        eval "$option=\$2"
        shift ;;
    --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) fail "unknown option $1; accepted: --parts, --quick, --build, --commit, --out, --take" ;;
    *) [ -z "$machine" ] || fail "one MACHINE is accepted"; machine=$1 ;;
    esac
    shift
done
case $machine in
'') fail "needs the name of this machine, as in tests/bench/results: nvidia-h200, amd-epyc-2-cores" ;;
*[!a-z0-9-]*) fail "$machine: a name has small letters, digits and hyphens" ;;
esac
case $commit in *[!0-9a-f]*) fail "--commit $commit: a hash has the digits 0 to 9 and a to f" ;; esac
script=$root/tests/bench

if [ -n "$take" ]; then
    python3 "$script/history.py" --take "$take" "$machine"
    exec python3 "$script/make_tables.py" --machine "$machine"
fi

if [ -z "$commit" ]; then
    [ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ] || fail "the tree has changes; commit them first"
    commit=$(git -C "$root" rev-parse --short HEAD)
fi
if [ -z "$build" ]; then
    build=$root/build-measure
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPAIRSIEVE_TESTS=OFF -DPAIRSIEVE_VIZ=OFF >/dev/null
    cmake --build "$build" >&2
fi
bench=$build/tests/bench
[ -x "$bench/bench_sort" ] || fail "$bench has no bench_sort; configure with -DPAIRSIEVE_BENCH=ON"
has_cuda() { "$bench/bench_sort" --backend cuda --count 1K --op keys --budget 1 >/dev/null 2>&1; }
if [ -z "$parts" ]; then
    parts=cpu
    ! has_cuda || parts=$parts,cuda
    [ ! -x "$bench/bench_papers" ] || parts=$parts,papers
fi
for part in $(echo "$parts" | tr ',' ' '); do
    case $part in cpu | cuda | papers) ;; *) fail "--parts $part: accepted are cpu, cuda and papers" ;; esac
done
case ,$parts, in *,cuda,*) has_cuda || fail "no part cuda here: bench_sort --backend cuda does not run" ;; esac

results=$script/results/$machine
[ -n "$out" ] || out=$results
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# measure NAME PROGRAM ARGUMENT...: the program's rows go behind those of NAME.csv.
measure() {
    name=$1 program=$2
    shift 2
    begun=$(date +%s)
    "$bench/$program" --commit "$commit" --csv "$work/rows" "$@" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "$program failed"; }
    echo "$name: $program $*: $(($(date +%s) - begun)) s"
    grep -h busy "$work/log" >&2 || true
    if [ -f "$work/$name.csv" ]; then
        sed 1d "$work/rows" >>"$work/$name.csv"
    else
        mv "$work/rows" "$work/$name.csv"
    fi
}

# What was measured takes its names.
finish() {
    mkdir -p "$out"
    for file in "$work"/*.csv "$work"/papers.*; do
        [ ! -f "$file" ] || mv "$file" "$out/"
    done
}

measure_cpu() {
    if [ -n "$quick" ]; then
        measure sort_cpu bench_sort --backend cpu --count 10K,1M --op pairs,keys,index --budget 20
        measure collision_cpu bench_collision --backend cpu --counts 10000 --methods rows,lbvh --budget 0.2 --scenes cube,pile
        measure sim_cpu bench_sim --backend cpu --frames 20 spheres 1000 boxes 500
        return
    fi
    measure sort_cpu bench_sort --backend cpu --method radix,merge --count 10K,100K,1M,10M --op pairs,keys,index \
        --distribution uniform,sorted,nearly --budget 200
    measure collision_cpu bench_collision --backend cpu --counts 10000,100000,1000000 --methods rows,lbvh --budget 2
    measure sim_cpu bench_sim --backend cpu --frames 140
}

# Three to four minutes on one H100, most of it on the host, which makes the keys and the boxes.
measure_cuda() {
    if [ -n "$quick" ]; then
        measure sort bench_sort --backend cuda --count 10K,1M --op pairs,keys,index --budget 20
        measure collision bench_collision --backend cuda --counts 10000 --methods rows --scenes cube,pile
        measure sim bench_sim --backend cuda --frames 20 spheres 1000 boxes 500
        return
    fi
    measure sort bench_sort --backend cuda --op pairs,keys,index
    collision() { measure collision bench_collision --backend cuda --methods rows "$@"; }
    collision --scenes cube,pile --counts 10K,100K,1M,10M
    collision --scenes plane,line,clusters,planks,sticks,mixed_100,mixed_1000,one_huge,floor,far,lattice --counts 1M
    collision --scenes sim:free_fall,sim:brownian,sim:gravity --counts 1M
    collision --scenes cube --counts 262144 --worlds 8192
    collision --scenes cube,pile --counts 100M
    measure sim bench_sim --backend cuda --frames 140
}

measure_papers() {
    devices=''
    case ,$parts, in *,cuda,*) case ,$parts, in *,cpu,*) ;; *) devices='--devices cuda' ;; esac ;; esac
    begun=$(date +%s)
    # shellcheck disable=SC2086 # $devices is no word or two
    "$bench/bench_papers" --commit "$commit" ${quick:+--quick --only ha-1} $devices --out "$work/papers.html" --json-out "$work/papers.json" \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "bench_papers failed"; }
    echo "papers: bench_papers $devices: $(($(date +%s) - begun)) s"
}

for part in $(echo "$parts" | tr ',' ' '); do
    "measure_$part"
    finish
done
if [ "$out" = "$results" ]; then
    python3 "$script/history.py" "$machine"
    echo "$out is filled from commit $commit; tests/bench/make_tables.py --machine $machine writes the pages"
else
    echo "$out is filled from commit $commit; tests/bench/measure.sh --take $out $machine puts it into a tree"
fi
