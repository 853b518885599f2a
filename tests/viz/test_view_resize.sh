#!/bin/sh
# A window that changes its size shows, pixel by pixel as an X server has it, what a window opened with that size shows:
# larger, smaller again, and after it was 1 x 1. With «high» a picture of 3840 x 2160 is the small one with more pixels.
# usage: test_view_resize.sh PROGRAM [high]      exit code 77: a tool or OpenGL 4.5 is not there
set -u
program=$1
. "$(dirname "$0")/own_display.sh"
need Xvfb xdotool import convert compare

# Blocks of 12 x 12 pixels have the mean of one, but for edges, which a small picture has in steps.
high() {
    small="stack --bodies 20 --backend cpu --no-shadows --no-hud --headless --frames 1"
    # shellcheck disable=SC2086 # words
    "$program" $small --size 320x180 --supersample 2 --screenshot "$folder/low.png" >"$folder/low.txt" 2>&1 ||
        { cat "$folder/low.txt"; exit 77; }
    # shellcheck disable=SC2086 # words
    "$program" $small --size 3840x2160 --screenshot "$folder/high.png" >"$folder/high.txt" 2>&1 ||
        fail "no picture of 3840 x 2160"
    convert "$folder/high.png" -scale 320x180 "$folder/less.png"
    away=$(compare -metric MAE "$folder/low.png" "$folder/less.png" null: 2>&1 | sed 's/.*(\(.*\))/\1/')
    awk "BEGIN { exit !($away < 0.015) }" || fail "3840 x 2160 and 320 x 180 are $away of white apart"
    echo "3840 x 2160 is $away of white from 320 x 180"
}
if [ "${2:-}" = high ]; then
    unset SDL_VIDEODRIVER
    high
    exit 0
fi
start_server 96

# shot NAME SIZE: the window when its picture has that size
shot() {
    wait_for 60 has_size "$2" || fail "the window stays $(value window), not $2"
    turn=$(value turn)
    wait_for 60 later || fail "no picture after a resize"
    import -window "$window" "$folder/$1.png" || fail "no picture of the window"
}
has_size() { [ "$(value window | tr ' ' x)" = "$1" ]; }
later() { [ "$(value turn)" -gt $((turn + 60)) ]; } # ms: some pictures
find_window() { window=$(xdotool search --onlyvisible --pid "$viewer" 2>/dev/null | head -n 1); [ -n "$window" ]; }
open_window() { # NAME SIZE
    start_viewer "$1" --paused --no-hud --size "$2"
    wait_for 30 find_window || fail "no window"
}
same() {
    different=$(compare -metric AE "$folder/$1.png" "$folder/$2.png" null: 2>&1)
    [ "$different" = 0 ] || fail "$3: $different pixels differ"
}

open_window large 640x440
shot large 640x440
# Black where nothing was drawn; ground and sky are not.
corners=$(convert "$folder/large.png" -colorspace gray -format '%[fx:int(255*min(min(p{8,8},p{631,8}),min(p{8,431},p{631,431})))]' info:)
[ "${corners:-0}" -gt 20 ] || fail "a corner is black"
kill "$viewer"
wait "$viewer"
open_window small 320x200
shot small 320x200
xdotool windowsize "$window" 640 440
shot grown 640x440
same large grown "a window that grew"
xdotool windowsize "$window" 320 200
shot shrunk 320x200
same small shrunk "a window that shrank"
xdotool windowsize "$window" 1 1
shot one 1x1
xdotool windowsize "$window" 320 200
shot back 320x200
same small back "a window that was 1 x 1"
kill "$viewer"
wait "$viewer"
echo "resized windows are the same pixel by pixel"
