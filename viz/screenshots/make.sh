#!/bin/sh
# Makes the README's pictures, and a short video of each where ffmpeg is there.
# usage: viz/screenshots/make.sh PAIRSIEVE_VIEW [FOLDER]     (default folder: here)
set -eu
view=$1
folder=${2:-$(cd "$(dirname "$0")" && pwd)}
"$view" drop --bodies 20000 --headless --frames 150 --size 960x540 --supersample 2 --screenshot "$folder/viewer_drop.png"
"$view" chairs --headless --frames 150 --size 960x540 --supersample 2 --no-hud --screenshot "$folder/viewer_chairs.png"
if command -v ffmpeg >/dev/null 2>&1; then
    "$view" drop --bodies 20000 --headless --frames 240 --size 960x540 --no-hud --video "$folder/viewer_drop.mp4"
fi
