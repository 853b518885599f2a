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
expect 2 'the name of a PNG file' "$program" --screenshot a.jpg
expect 2 'auto, cpu or cuda' "$program" --backend quantum
expect 2 'cpu or gl' "$program" --pairs-on cuda
expect 2 'one too many' "$program" drop chairs

# Every option that the parser knows is in the help.
"$program" --help >help.txt
for option in scene bodies seed backend sort broad-phase pairs-on order-on list size supersample overlay colour transparent shadows no-shadows ray-traced \
    no-hud strip frame-all help-panel no-vsync no-interop paused folder headless frames screenshot video replay at record csv trace check smoke help version; do
    [ $option = scene ] || grep -q -e "--$option" help.txt || { echo "FAILED: --help lacks --$option"; failures=$((failures + 1)); }
done

expect 1 'OpenGL' env SDL_VIDEODRIVER=dummy "$program" --frames 1
# No display, and no word that none is wanted: refused, and not run unseen.
expect 1 'neither DISPLAY nor WAYLAND_DISPLAY is set' \
    env -u DISPLAY -u WAYLAND_DISPLAY -u SDL_VIDEODRIVER "$program" --frames 1 --bodies 50
expect 1 "display ':7777' cannot be reached" env -u WAYLAND_DISPLAY -u SDL_VIDEODRIVER DISPLAY=:7777 "$program" --frames 1
expect 1 "video driver 'nonsense'" env SDL_VIDEODRIVER=nonsense "$program" --frames 1

if ! SDL_VIDEODRIVER=offscreen "$program" $small >out.txt 2>&1; then
    echo "no OpenGL 4.5 here, the rest is left out: $(cat out.txt)"
    [ $failures -eq 0 ] && exit 77
    exit 1
fi
export SDL_VIDEODRIVER=offscreen
expect 1 'OpenGL 4.5' env MESA_GL_VERSION_OVERRIDE=3.3 "$program" $small
expect 2 'no_such_scene' "$program" no_such_scene $small
expect 2 'no_such.replay' "$program" --replay no_such.replay --headless --frames 1
expect 2 "goes without a scene" "$program" drop --replay no_such.replay
expect 0 '' "$program" $small --record run.replay
expect 0 '' "$program" --replay run.replay --at 3 --headless --frames 1 --size 64x36 --backend cpu --screenshot replayed.png
expect 2 'has frames 0 to 3, not 4' "$program" --replay run.replay --at 4 --headless --frames 1 --size 64x36
expect 1 'cannot be written' "$program" $small --record "$folder/none/a.replay"
expect 2 'no_such_method' "$program" $small --broad-phase no_such_method
expect 1 'cannot be written' timeout 60 "$program" $small --frames 100000000 --screenshot "$folder/none/a.png"
expect 1 'Is a directory' timeout 60 "$program" $small --frames 100000000 --screenshot "$folder"
expect 1 'cannot be written' "$program" $small --csv "$folder/none/a.csv"
# Glass in depth order and pairs as lines: the same picture, byte for byte, whoever sorts and finds.
glass="--headless --bodies 600 --seed 4 --frames 12 --size 160x100 --no-hud --backend cpu --transparent --overlay boxes,pairs"
for on in 'cpu cpu' 'cpu gl' 'gl cpu' 'gl gl'; do
    set -- $on
    expect 0 '' "$program" drop $glass --pairs-on "$1" --order-on "$2" --screenshot "$1_$2.png" --csv "$1_$2.csv"
    expect 0 '' cmp cpu_cpu.png "$1_$2.png"
done
# Pairs on OpenGL are not the CPU's, whose sorter leaves out passes: column sort_passes_skipped of the last frame.
skipped='NR==1 {for (i = 1; i <= NF; ++i) if ($i == "sort_passes_skipped") k = i} END {exit !(k && $k > 0)}'
expect 1 '' awk -F, "$skipped" gl_gl.csv
expect 0 '' awk -F, "$skipped" cpu_gl.csv
expect 1 'ffmpeg' env PATH=/nowhere "$program" $small --video a.mp4
# A name is a file's, whatever protocol it looks like.
mkdir -p own_ffmpeg && printf '#!/bin/sh\nfor word; do :; done\necho "$word" >own_ffmpeg/said\ncat >/dev/null\nexit 1\n' >own_ffmpeg/ffmpeg
chmod +x own_ffmpeg/ffmpeg
expect 1 'ffmpeg failed' env "PATH=own_ffmpeg:$PATH" "$program" $small --video http://127.0.0.1:9/a.mp4
case $(cat own_ffmpeg/said) in file:http://127.0.0.1:9/*.mp4) ;; *) echo "FAILED: ffmpeg was given $(cat own_ffmpeg/said)"; failures=$((failures + 1)) ;; esac
expect 0 'pairs of frame 3' "$program" $small --check
expect 0 '' "$program" $small --screenshot a.png
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] || { echo "FAILED: a.png is no PNG file"; failures=$((failures + 1)); }
if command -v ffmpeg >/dev/null 2>&1; then
    expect 0 '' "$program" $small --video a.mp4
    [ -s a.mp4 ] || { echo "FAILED: no video"; failures=$((failures + 1)); }
fi
# Only the last frame is drawn: the others cost no drawing.
expect 0 '' "$program" $small --frames 6 --csv a.csv --screenshot a.png
[ "$(tail -n +2 a.csv | head -n 5 | cut -d, -f6 | sort -u)" = 0.0000 ] ||
    { echo "FAILED: frames that nobody sees were drawn"; cat a.csv; failures=$((failures + 1)); }
[ "$(wc -l <a.csv)" -ge 6 ] || { echo "FAILED: frames are missing"; failures=$((failures + 1)); }

# What was there stays where a file cannot be written to its end.
echo old >b.png
expect 1 'cannot be written' sh -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' sh "$program" $small --size 320x180 --screenshot b.png
echo old >b.csv
expect 1 'could not be written' sh -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' sh "$program" $small --frames 60 --csv b.csv
[ "$(cat b.png b.csv | uniq)" = old ] || { echo "FAILED: a file was lost"; failures=$((failures + 1)); }

# A signal makes the next frame the last.
"$program" $small --frames 100000000 --screenshot c.png --csv c.csv >out.txt 2>&1 &
running=$!
waited=0
until grep -q . .pairsieve-*.part 2>/dev/null || [ $waited -gt 600 ]; do sleep 0.1; waited=$((waited + 1)); done
kill -TERM $running
wait $running
code=$?
[ $code = 130 ] || { echo "FAILED: $code instead of 130 after a signal"; cat out.txt; failures=$((failures + 1)); }
[ "$(head -c 4 c.png | tail -c 3)" = PNG ] && [ -s c.csv ] || { echo "FAILED: no files after a signal"; failures=$((failures + 1)); }
[ -z "$(find . -name '*.part')" ] || { echo "FAILED: left behind: $(find . -name '*.part')"; failures=$((failures + 1)); }
echo "$failures failures"
[ $failures -eq 0 ]
