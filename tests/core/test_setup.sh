#!/bin/sh
# tests/setup.sh on machines whose driver ends at CUDA 12 or 13, played by programs of the same names: what it gets, and
# what it says where it can get nothing.
# usage: test_setup.sh SOURCE_FOLDER
set -u
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/build"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# play NAME: a program whose text is on standard input; it writes down how it was called.
play() {
    { printf '%s\n' '#!/bin/sh' "echo \"$1 \$*\" >>'$folder/calls'"; cat; } >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}

# driver VERSION, packages VERSION: what nvidia-smi and apt-cache say.
driver() {
    play nvidia-smi <<TEXT
[ "\${1:-}" = -L ] && echo 'GPU 0: played' || echo '| Driver Version: 550.1   CUDA Version: $1   |'
TEXT
}
packages() {
    play apt-cache <<TEXT
printf 'nvidia-cuda-toolkit:\n  Installed: (none)\n  Candidate: $1\n'
TEXT
}
echo 'exit 1' | play python3
echo 'exit 1' | play apt-get
echo 'exit 1' | play sudo

# choose: calls choose_cuda as the scripts do; `cuda` and the words are in the files cuda and said.
choose() {
    : >"$folder/calls"
    (
        PATH=$folder/bin:$PATH build=$folder/build
        . "$root/tests/setup.sh"
        find_nvcc() { return 1; } # whatever this machine has
        choose_cuda auto
        echo "$cuda" >"$folder/cuda"
    ) >"$folder/said" 2>&1
}
says() { grep -q -e "$1" "$folder/said" || { fail "no '$1' in:"; cat "$folder/said"; }; }

# What apt-get says goes to no file that somebody else could have put there before.
if grep -n '/tmp/' "$root/tests/setup.sh"; then fail "a file of a predictable name in the temporary folder"; fi
(
    PATH=$folder/bin:$PATH TMPDIR=$folder/temporary
    export TMPDIR
    mkdir "$folder/temporary"
    . "$root/tests/setup.sh"
    have_package() { return 1; }
    as_root() { "$@"; }
    install_packages nothing-of-this-name
    echo "code $?, left $(ls "$folder/temporary" | wc -l)"
) >"$folder/said" 2>&1
says 'code 1, left 0'

driver 12.4
packages '(none)'
choose
[ "$(cat "$folder/cuda")" = OFF ] || fail "CUDA is on without nvcc"
says 'no nvcc for CUDA 12'
says 'non-free'
says 'cuda-toolkit-12-9'
says 'driver of version 580'
says 'going on with the CPU'
grep -q python3 "$folder/calls" && fail "wheels without nvcc were asked for"

packages 11.8.89~11.8.0-5
choose
grep -q 'apt-get download' "$folder/calls" && fail "CUDA 11 was taken"
says 'no nvcc for CUDA 12'

packages 12.4.131~12.4.1-2
choose
grep -q 'apt-get download -q nvidia-cuda-toolkit' "$folder/calls" || fail "the packages of CUDA 12 were not taken"
says 'no nvcc for CUDA 12' # for the download fails here

driver 13.0
choose
grep -q python3 "$folder/calls" || fail "the wheels of CUDA 13 were not asked for"
says 'toolkit of version 13'

driver 11.4
choose
says 'driver of version 525'

# The areas that tests/run.sh offers are those of the tests, and no others.
offered=$(sed -n 's/^areas="\(.*\)"$/\1/p' "$root/tests/run.sh" | tr ' ' '\n' | sort)
labelled=$( (sed -n '/^set(PSV_AREAS/,/)$/s/^ *\([a-z]*\)  *".*/\1/p' "$root/tests/CMakeLists.txt"; echo viz) | sort)
[ "$offered" = "$labelled" ] || fail "areas of run.sh and of tests/CMakeLists.txt differ"
sh "$root/tests/run.sh" --area nowhere >"$folder/log" 2>&1 && fail "an unknown area is accepted"
grep -q "area 'nowhere' is not known" "$folder/log" || fail "an unknown area is not named"

echo "$failures failures"
[ $failures -eq 0 ]
