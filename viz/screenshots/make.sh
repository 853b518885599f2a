#!/bin/sh
# Makes the README's pictures and a short video where ffmpeg is there; with --gallery the scenes of docs/gallery.md
# and their pictures, and the small ones of the viewer's start page, for which ImageMagick has to be there.
# usage: viz/screenshots/make.sh PAIRSIEVE_VIEW [FOLDER]     (default folder: here)
#        viz/screenshots/make.sh --gallery PAIRSIEVE_VIEW
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# shoot SCENE FRAMES FILE OPTION...: the scene after that many frames, from its own camera.
shoot() {
    scene=$1 frames=$2 file=$3
    shift 3
    "$view" "$scene" --headless --backend cpu --frames "$frames" --size 960x540 --no-hud --screenshot "$file" "$@"
}

# Scenes of many bodies are shown with fewer, so that a machine without a GPU makes the gallery in minutes.
bodies_of() {
    case $1 in
    drop) echo 8000 ;;
    brownian | gravity | free_fall | assorted | worlds) echo 4000 ;;
    mixed_sizes) echo 12000 ;;
    landscape) echo 20000 ;;
    esac
}

gallery() {
    page=$here/../../docs/gallery.md
    pictures=$here/../../docs/pictures/gallery
    start=$here/../start/pictures
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$pictures" "$start"
    # The part before the scenes is written by hand.
    sed '/^## Scenes$/,$d' "$page" >"$work/gallery.md"
    {
        echo '## Scenes'
        echo
        echo 'Shipped scenes as the viewer shows them: at the beginning, and after five seconds.'
        # Backquotes are the page's.
        # shellcheck disable=SC2016
        echo '`pairsieve-view` alone opens on a page with all of them. Each opens with `pairsieve-view NAME`; `--bodies` makes most of them larger.'
        # shellcheck disable=SC2016
        echo '`viz/screenshots/make.sh --gallery` makes this part.'
    } >>"$work/gallery.md"
    "$view" --list >"$work/list.txt"
    while read -r name sentence; do
        bodies=$(bodies_of "$name")
        # An empty number is no word.
        # shellcheck disable=SC2086
        for frames in 6 300; do shoot "$name" $frames "$work/$frames.png" ${bodies:+--bodies $bodies} </dev/null; done
        convert "$work/6.png" "$work/300.png" -resize 480x270 +append -quality 82 "$pictures/$name.jpg"
        convert "$work/300.png" -strip -resize 240x135 -quality 78 "$start/start_$name.jpg"
        printf '\n### %s\n\n%s.\n\n![%s: at the beginning and after five seconds](pictures/gallery/%s.jpg)\n' \
            "$name" "$(printf '%s' "$sentence" | cut -c 1 | tr '[:lower:]' '[:upper:]')$(printf '%s' "$sentence" | cut -c 2-)" \
            "$name" "$name" >>"$work/gallery.md"
    done <"$work/list.txt"
    mv "$work/gallery.md" "$page"
}

if [ "$1" = --gallery ]; then
    view=$2
    gallery
    exit 0
fi
view=$1
folder=${2:-$here}
"$view" drop --bodies 20000 --headless --frames 150 --size 960x540 --supersample 2 --screenshot "$folder/viewer_drop.png"
"$view" chairs --headless --frames 150 --size 960x540 --supersample 2 --no-hud --screenshot "$folder/viewer_chairs.png"
if command -v ffmpeg >/dev/null 2>&1; then
    "$view" drop --bodies 20000 --headless --frames 240 --size 960x540 --no-hud --video "$folder/viewer_drop.mp4"
fi
