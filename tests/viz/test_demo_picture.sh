#!/bin/sh
# The picture that scenes/demo.sh leaves where there is no display: 1280x720, all bodies at rest, below them one line of what the frame cost.
# The script runs as it is, with the programs of this build; what would install and compile is left out.
# usage: test_demo_picture.sh VIEWER TOOL SOURCE_FOLDER
set -u
viewer=$1 tool=$2 source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SDL_VIDEODRIVER=offscreen
if ! "$viewer" --headless --bodies 50 --frames 1 --size 64x36 --backend cpu >"$folder/out.txt" 2>&1; then
    echo "no OpenGL 4.5 here: $(cat "$folder/out.txt")"
    exit 77
fi

# Programs that say that all is there and do nothing, before those of the machine; the viewer notes how it is called.
mkdir -p "$folder/bin" "$folder/build/viz" "$folder/build/sim/tool"
for name in cmake apt-get sudo; do
    printf '%s\n' '#!/bin/sh' "[ \"\$1\" != --version ] || echo 'cmake version 3.31.0'" 'echo "viewer ON"' >"$folder/bin/$name"
done
for name in ninja cc c++; do printf '%s\n' '#!/bin/sh' 'exit 0' >"$folder/bin/$name"; done
printf '%s\n' '#!/bin/sh' 'exit 1' >"$folder/bin/nvidia-smi"
printf '%s\n' '#!/bin/sh' 'exit 0' >"$folder/bin/pkg-config"
printf '%s\n' '#!/bin/sh' 'echo "install ok installed"' >"$folder/bin/dpkg-query"
printf '%s\n' '#!/bin/sh' "echo \"\$*\" >'$folder/viewed.txt'" "exec '$viewer' \"\$@\"" >"$folder/build/viz/pairsieve-view"
ln -s "$tool" "$folder/build/sim/tool/pairsieve"
chmod +x "$folder"/bin/* "$folder/build/viz/pairsieve-view"
if ! env -u DISPLAY -u WAYLAND_DISPLAY PATH="$folder/bin:$PATH" PAIRSIEVE_BUILD_DIR="$folder/build" \
    sh "$source/scenes/demo.sh" drop --bodies 60 --frames 2 --backend cpu >"$folder/demo.txt" 2>&1; then
    echo "FAILED: demo.sh"
    cat "$folder/demo.txt" "$folder/build/view.log"
    exit 1
fi

failures=0
fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}
# A PNG file has its width and height behind 16 bytes, four bytes each, the highest first.
size=$(od -A n -t u1 -j 16 -N 8 "$folder/build/demo.png" 2>/dev/null | tr -s ' ')
[ "$size" = " 0 0 5 0 0 0 2 208" ] || fail "the picture is not 1280x720: $size"
viewed=$(cat "$folder/viewed.txt")
case " $viewed " in
*" --frame-all "*) fail "the scene's own camera is nearer: $viewed" ;;
*" --strip "*) ;;
*) fail "what the frame cost is not said: $viewed" ;;
esac
# At the frame of the picture the bodies lie still: in the half second before, hardly a pair has come or gone.
frames=$(printf '%s\n' "$viewed" | sed -n 's/.*--frames \([0-9]*\).*/\1/p')
"$tool" run drop --bodies 400 --frames "${frames:-1}" --backend cpu --csv "$folder/frames.csv" >/dev/null || fail "the run"
awk -F, -v end="${frames:-0}" '$1 > end - 30 && $1 <= end { if (!rows++) least = $3; if ($3 > most) most = $3; if ($3 < least) least = $3 }
    END { printf "picture of frame %d, %d to %d pairs in 30 frames\n", end, least, most; exit !(rows == 30 && most - least < 0.05 * most) }' \
    "$folder/frames.csv" || fail "the bodies have not come to rest"
[ $failures -eq 0 ]
