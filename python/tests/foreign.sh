#!/bin/sh
# Tests wheels of other systems: sh python/tests/foreign.sh [WHEEL...]   (default: all in build-python-*/dist)
# aarch64: under qemu-user, by Debian's CPython for arm64 and PyPI's NumPy and cffi. Windows: under Wine. No package has a
# CPython for Windows, so a C program calls the wheel's library, and every function that Python declares has to be in it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build
. "$root/tests/setup.sh"
. "$root/cmake/toolchains/packages.sh"
[ $# -gt 0 ] || set -- "$root"/build-python-*/dist/*.whl
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# Debian's CPython for arm64 with what its extensions need, and the wheels that the tests import.
get_arm_python() {
    folder=$build/aarch64-python
    [ ! -s "$folder/complete" ] || return 0
    apt=$folder/apt
    version=$(apt-cache depends python3-minimal | sed -n 's/^ *[A-Za-z]*Depends: python\(3\.[0-9]*\)-minimal.*/\1/p' | head -n 1)
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    apt_in "$apt" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 update
    (cd "$apt" && apt_in "$apt" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 download "python$version-minimal" \
        "libpython$version-minimal" "libpython$version-stdlib" libc6 libgcc-s1 libstdc++6 libexpat1 zlib1g libffi8)
    for package in "$apt"/*.deb; do dpkg -x "$package" "$folder"; done
    python3 -m pip download --quiet --no-deps --dest "$folder/wheels" --python-version "$version" --only-binary :all: \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 numpy cffi
    python3 -m pip download --quiet --dest "$folder/wheels" pytest pycparser
    for wheel in "$folder"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$folder/site"; done
    echo "$version" >"$folder/complete"
}

aarch64() {
    get_arm_python
    python3 -m zipfile -e "$1" "$temporary/arm"
    cd "$root/python/tests"
    qemu-aarch64 -L "$folder" -E "PYTHONHOME=$folder/usr" -E "PYTHONPATH=$temporary/arm:$folder/site" -E PYTHONDONTWRITEBYTECODE=1 \
        "$folder/usr/bin/python$(cat "$folder/complete")" -m pytest -q -p no:cacheprovider test_elements.py test_messages.py
}

windows() {
    python3 -m zipfile -e "$1" "$temporary/windows"
    cd "$temporary/windows/pairsieve"
    # Functions that cffi declares, and those of the library's table of exports.
    grep -o "psv_[a-z0-9_]*',0" _api.py | sed "s/',0//" | sort -u >declared
    x86_64-w64-mingw32-objdump -p libpairsieve_native.dll |
        sed -n '/^\[Ordinal\/Name Pointer\] Table/,/^$/s/^\t\[ *[0-9]*\] \([A-Za-z0-9_]*\)$/\1/p' | sort -u >exported
    [ -s declared ] && [ -z "$(comm -23 declared exported)" ] || die "the library lacks: $(comm -23 declared exported)"
    ! grep -v '^psv_' exported || die "the library exports these, too"
    sed -n '/^```c hello.c/,/^```$/p' "$root/README.md" | sed '1d;$d' >hello.c
    x86_64-w64-mingw32-gcc-posix -std=c17 "-I$root/core/include" "-I$root/collision/include" "-I$root/sort/include" \
        hello.c libpairsieve_native.dll -o hello.exe
    printed=$(WINEDEBUG=-all WINEPREFIX="$build/wine" "$(command -v wine64 || echo /usr/lib/wine/wine64)" hello.exe | tr -d '\r')
    [ "$printed" = "0 overlaps 1" ] || die "the library's answer under Wine is '$printed'"
    echo "$(basename "$1"): $(wc -l <declared) functions are there, and a program under Wine prints '$printed'"
}

for wheel in "$@"; do
    wheel=$(realpath "$wheel")
    case $wheel in
    *aarch64.whl) (aarch64 "$wheel") ;;
    *win_amd64.whl) (windows "$wheel") ;;
    *) die "$wheel is of neither aarch64 nor Windows" ;;
    esac
done
