#!/bin/sh
# The program as a user starts it: messages and exit codes where something is missing, files it writes.
# usage: test_view_program.sh PROGRAM
set -u
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

# expect CODE TEXT COMMAND...: the exit code, and a text in what it says on stderr or stdout.
expect() {
    code=$1 text=$2
    shift 2
    "$@" >out.txt 2>&1
    got=$?
    if [ $got -ne "$code" ] || { [ -n "$text" ] && ! grep -q -e "$text" out.txt; }; then
        echo "FAILED ($got instead of $code, or no '$text'): $*"
        cat out.txt
        failures=$((failures + 1))
    fi
}

small="--headless --bodies 50 --frames 3 --size 64x36 --backend cpu"
expect 0 'usage: pairsieve-view' "$program" --help
expect 0 'pairsieve-view [0-9]' "$program" --version
expect 0 'drop' "$program" --list
expect 2 "unknown option '--nonsense'" "$program" --nonsense
expect 2 'WxH' "$program" --size 10
expect 2 "option '--frames' has '0'" "$program" --frames 0
expect 2 "option '--screenshot' needs a value" "$program" --screenshot
expect 2 'auto, cpu or cuda' "$program" --backend quantum
expect 2 'one too many' "$program" drop chairs

# Every option that the parser knows is in the help.
"$program" --help >help.txt
for option in scene bodies seed backend sort broad-phase list size supersample overlay colour transparent no-shadows \
    no-hud help-panel no-vsync no-interop paused headless frames screenshot video csv trace check smoke help version; do
    [ $option = scene ] || grep -q -e "--$option" help.txt || { echo "FAILED: --help lacks --$option"; failures=$((failures + 1)); }
done

expect 1 'OpenGL' env SDL_VIDEODRIVER=dummy "$program" --frames 1
expect 1 "video driver 'nonsense'" env SDL_VIDEODRIVER=nonsense "$program" --frames 1

if ! SDL_VIDEODRIVER=offscreen "$program" $small >out.txt 2>&1; then
    echo "no OpenGL 4.5 here, the rest is left out: $(cat out.txt)"
    [ $failures -eq 0 ] && exit 77
    exit 1
fi
export SDL_VIDEODRIVER=offscreen
expect 1 'OpenGL 4.5' env MESA_GL_VERSION_OVERRIDE=3.3 "$program" $small
expect 2 'no_such_scene' "$program" no_such_scene $small
expect 2 'no_such_method' "$program" $small --broad-phase no_such_method
expect 1 'cannot be written' "$program" $small --screenshot "$folder/none/a.png"
expect 1 'cannot be written' "$program" $small --csv "$folder/none/a.csv"
expect 1 'ffmpeg' env PATH=/nowhere "$program" $small --video a.mp4
expect 0 'pairs of frame 3' "$program" $small --check
expect 0 '' "$program" $small --screenshot a.png
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] || { echo "FAILED: a.png is no PNG file"; failures=$((failures + 1)); }
if command -v ffmpeg >/dev/null 2>&1; then
    expect 0 '' "$program" $small --video a.mp4
    [ -s a.mp4 ] || { echo "FAILED: no video"; failures=$((failures + 1)); }
fi
echo "$failures failures"
[ $failures -eq 0 ]
