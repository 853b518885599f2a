#!/bin/sh
# A window that grows is filled to its edges, as an X server shows it.
# usage: xvfb-run test_view_grow.sh PROGRAM      exit code 77: xdotool or ImageMagick is not there, or no OpenGL 4.5
set -u
for tool in xdotool import convert; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed (Debian: xdotool imagemagick)"; exit 77; }
done
folder=$(mktemp -d)
"$1" stack --bodies 20 --backend cpu --size 320x200 --no-shadows --no-hud >"$folder/out.txt" 2>&1 &
viewer=$!
trap 'kill $viewer 2>/dev/null; rm -rf "$folder"' EXIT
window=
for _ in $(seq 120); do
    window=$(xdotool search --onlyvisible --name pairsieve 2>/dev/null | head -n 1)
    [ -n "$window" ] && break
    kill -0 $viewer 2>/dev/null || break
    sleep 0.5
done
[ -n "$window" ] || { cat "$folder/out.txt"; echo "skipped: no window here"; exit 77; }
sleep 2
xdotool windowsize "$window" 640 440
# Black where nothing was drawn; ground and sky are not. A slow machine gets a minute.
for _ in $(seq 30); do
    sleep 2
    import -window "$window" "$folder/window.png" || continue
    darkest=0
    for corner in 8,8 631,8 8,431 631,431; do
        level=$(convert "$folder/window.png" -colorspace gray -format "%[fx:int(255*p{$corner})]" info:)
        [ "${level:-0}" -gt 20 ] || darkest=1
    done
    [ "$(convert "$folder/window.png" -format '%wx%h' info:)" = 640x440 ] && [ $darkest = 0 ] && exit 0
done
echo "FAILED: a corner of the grown window was not drawn"
exit 1
