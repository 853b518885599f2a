#!/bin/sh
# Builds the Debian packages of the committed tree and checks them with lintian: sh packaging/debian.sh [--out FOLDER]
# Needs debhelper, lintian and what debian/control names (Build-Depends).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build-debian
if [ "${1:-}" = --out ] && [ $# = 2 ]; then
    out=$2
elif [ $# -gt 0 ]; then
    echo "usage: debian.sh [--out FOLDER]" >&2
    exit 2
fi
version=$(sed -n '1s/^pairsieve (\([0-9.]*\)-.*/\1/p' "$root/debian/changelog")
rm -rf "$out"
mkdir -p "$out"
# The first archive is what a release publishes; debian/ comes from the tree beside it.
git -C "$root" archive --prefix="pairsieve-$version/" HEAD ':!debian' | gzip -n >"$out/pairsieve_$version.orig.tar.gz"
tar -x -C "$out" -f "$out/pairsieve_$version.orig.tar.gz"
git -C "$root" archive HEAD debian | tar -x -C "$out/pairsieve-$version"
cd "$out/pairsieve-$version"
dpkg-buildpackage -us -uc
cd ..
lintian --fail-on error,warning pairsieve_*.changes
ls -l ./*.deb
