#!/bin/sh
# Builds the site from the pages, the headers and the docstrings: sh docs/site/build.sh [--out FOLDER] [--serve]
# Tools come from PyPI into a virtual environment. Warnings are errors: a link that leads nowhere, too.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build-site serve=no
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2; shift ;;
    --serve) serve=yes ;;
    *) echo "build.sh: unknown option '$1'; accepted: --out FOLDER, --serve" >&2; exit 2 ;;
    esac
    shift
done
mkdir -p "$out"
environment=$out/environment
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check -r "$root/docs/site/requirements.txt"
rm -rf "$out/source" "$out/python-source"
python3 "$root/docs/site/stage.py" "$root" "$out/source"
cp "$root/docs/site/mkdocs.yml" "$out/mkdocs.yml"
cd "$out"
if [ $serve = yes ]; then exec "$environment/bin/python" -m mkdocs serve; fi
NO_MKDOCS_2_WARNING=1 "$environment/bin/python" -m mkdocs build --strict --quiet
echo "$out/html: $(find html -name '*.html' | wc -l) pages, $(du -sh html | cut -f1)"
