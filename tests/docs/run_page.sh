#!/bin/sh
# Does what a page of docs/learn tells its reader to do, in an empty folder, with this build installed.
#   ```c hello.c       a block with a name is written to that file (any language)
#   ```sh              the commands are run in order; each has to succeed
#   ```output          every line has to be in the output of the commands before it
# usage: run_page.sh PAGE BUILD_FOLDER CMAKE C_COMPILER
set -eu
page=$1 build=$2 cmake=$3
name=$(basename "$page" .md)
work=$build/tests/docs/$name
rm -rf "$work"
mkdir -p "$work/bin"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }
ln -s "$4" "$work/bin/cc"
config=$(find "$work/prefix" -name pairsieve.pc | head -n 1)
PKG_CONFIG_PATH=$(dirname "$config")
PATH=$work/bin:$work/prefix/bin:$PATH
export PATH PKG_CONFIG_PATH
cd "$work"

# Blocks become files: those with a name under it, commands and expected output as 01.sh, 02.output, ...
awk '
    /^```/ && inside { inside = 0; close(file); next }
    inside { print > file; next }
    /^```(sh|output)$/ { file = sprintf("%02d.%s", ++step, substr($0, 4)); inside = 1; printf "" > file; next }
    /^```[a-z]+ [a-zA-Z_]+\.[a-z]+$/ { file = $2; inside = 1; next }
    /^```/ { file = "/dev/null"; inside = 1 }
' "$page"

steps=0
: >output
for step in [0-9][0-9].*; do
    case $step in
    *.sh)
        echo "== $(cat "$step")"
        sh -eu "./$step" >output 2>&1 || { cat output; echo "$name: these commands failed"; exit 1; }
        cat output
        steps=$((steps + 1))
        ;;
    *.output)
        while IFS= read -r line; do
            grep -qxF -e "$line" output || { echo "$name: the page has the line '$line', the program does not"; exit 1; }
        done <"$step"
        ;;
    esac
done
[ "$steps" -gt 0 ] || { echo "$name has no commands"; exit 1; }
