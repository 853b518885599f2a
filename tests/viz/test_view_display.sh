#!/bin/sh
# X servers of two densities: on the dense one the panel is larger. Then the server is killed: the viewer ends with a
# sentence, and its files keep what they had.
# usage: test_view_display.sh PROGRAM      exit code 77: a tool or OpenGL 4.5 is not there
set -u
program=$1
. "$(dirname "$0")/own_display.sh"
need Xvfb
export SDL_VIDEO_X11_XRANDR=0 # Xvfb's RandR knows no millimetres
gone() { ! kill -0 "$1" 2>/dev/null; }
# Half the width of the panel's button «fold», pixels.
panel_button() { sed -n 's/^control [0-9]* [0-9]* \([0-9]*\) fold$/\1/p' "$tell"; }

start_server 96
start_viewer usual --size 1280x720
usual=$(panel_button)
kill "$viewer"
wait "$viewer"
code=$?
[ $code = 0 ] || [ $code = 130 ] || [ $code = 143 ] || fail "a signal ends it with $code"
kill "$server"
wait "$server" 2>/dev/null

start_server 192
start_viewer dense --size 1280x720 --csv "$folder/times.csv"
stepped() { [ "$(value steps)" -ge 5 ]; }
wait_for 60 stepped || fail "no steps"
dense=$(panel_button)
# As large as a quarter of the window allows: 1.125 times (view_hud_scale).
[ "${dense:-0}" -gt "${usual:-99}" ] || fail "the panel is no larger at 192 dpi: half a button has $dense pixels, $usual at 96"
kill -9 "$server"
wait_for 20 gone "$viewer" || fail "it goes on without its display"
wait "$viewer"
code=$?
[ $code = 1 ] || fail "$code instead of 1 when the display is killed"
grep -q 'connection' "$tell.txt" || fail "it does not say that the display is gone"
[ "$(grep -c '^[1-9]' "$folder/times.csv")" -ge 3 ] || fail "the CSV file is lost"
ls "$folder"/.*.part >/dev/null 2>&1 && fail "left behind: $(ls "$folder"/.*.part)"
viewers='' server=''
echo "the panel has a button of $usual pixels at 96 dpi, $dense at 192; a killed display ends the viewer with 1"
