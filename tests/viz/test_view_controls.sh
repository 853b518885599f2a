#!/bin/sh
# The start page, the panel's controls and their explanations, used as by a person: pointer and keys of X, sent by
# xdotool. The viewer says where its controls stand (--tell). What a control does is read from the world, the files, or
# the window's pixels.
# usage: xvfb-run test_view_controls.sh PROGRAM start|switches|play
# exit code 77: xdotool or ImageMagick is not there, or no OpenGL 4.5
set -u
for tool in xdotool import; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed (Debian: xdotool imagemagick)"; exit 77; }
done
folder=$(mktemp -d)
tell=$folder/tell
printf '#!/bin/sh\nfor last; do :; done\ncat >"${last#file:}"\n' >"$folder/ffmpeg"
chmod +x "$folder/ffmpeg"
part=$2
scene=stack
[ "$part" = start ] && scene=
PATH=$folder:$PATH "$1" $scene --bodies 40 --size 800x450 --no-shadows --no-vsync --folder "$folder/files" --tell "$tell" \
    >"$folder/out.txt" 2>&1 &
viewer=$!
trap 'kill $viewer 2>/dev/null; rm -rf "$folder"' EXIT

fail() {
    echo "FAILED: $*"
    cat "$folder/out.txt"
    grep '^set' "$tell"
    exit 1
}
value() { sed -n "s/^set $1 //p" "$tell"; }
where() { sed -n "s/^control \([-0-9]* [-0-9]* [-0-9]*\) $1\$/\1/p" "$tell" | head -n 1; }
has() { [ -n "$(where "$1")" ]; }
# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
    ends=$(($(date +%s) + $1))
    shift
    until "$@"; do
        kill -0 $viewer 2>/dev/null || return 1
        [ "$(date +%s)" -lt $ends ] || return 1
        sleep 0.02
    done
}
is() { [ "$(value "$1")" = "$2" ]; }
is_not() { [ "$(value "$1")" != "$2" ]; }
starts() { case $(value "$1") in "$2"*) ;; *) return 1 ;; esac }
ready() { is loading 0 && [ -n "$(value bodies)" ]; }
# So many pictures later.
settle() {
    for _ in $(seq "$1"); do
        turn=$(value turn)
        wait_for 20 is_not turn "$turn" || fail "the viewer stands still"
    done
}
# point NAME SHARE: the pointer goes to that share of the control's width
point() {
    settle 1
    wait_for 20 has "$1" || fail "no control '$1'"
    place=$(where "$1")
    set -- "$2" $place
    xdotool mousemove --window "$window" "$(awk "BEGIN { print int($2 + (2 * $1 - 1) * $4) }")" "$3"
    settle 2 # until then the picture may take the click, too
}
press() {
    point "$1" 0.5
    xdotool click 1
    controls=$((controls + 1))
}
# does NAME COMMAND...: a click on the control, and what then has to hold
does() {
    press "$1"
    name=$1
    shift
    wait_for 20 "$@" || fail "'$name' does nothing: expected $*"
}
# changes NAME SETTING: a click on the control changes the setting, and another one puts it back
changes() {
    before=$(value "$2")
    does "$1" is_not "$2" "$before"
    does "$1" is "$2" "$before"
}
# slides NAME SHARE SETTING
slides() {
    before=$(value "$3")
    point "$1" "$2"
    xdotool click 1
    controls=$((controls + 1))
    wait_for 20 is_not "$3" "$before" || fail "the slider '$1' does nothing: $3 stays $before"
    wait_for 20 ready || fail "no scene after '$1'"
}
# chooses LIST ENTRY COMMAND...
chooses() {
    press "$1"
    settle 3 # the list's first picture measures it
    shift
    does "$@"
    wait_for 20 ready || fail "no scene after '$1'"
}
# Of the window beside the panel, above the time line.
pixels() {
    set -- $(value window)
    settle 2
    import -window "$window" -crop "$(($1 / 2))x$(($2 * 3 / 4))+$(($1 * 2 / 5))+0" rgb:- | cksum
}
# shows NAME SETTING: the picture changes too, and is what it was after another click
shows() {
    picture=$(pixels)
    before=$(value "$2")
    does "$1" is_not "$2" "$before"
    [ "$(pixels)" != "$picture" ] || fail "'$1' changes no pixel"
    does "$1" is "$2" "$before"
    [ "$(pixels)" = "$picture" ] || fail "'$1' does not go back"
}
key() {
    xdotool key "$1"
    name=$1
    shift
    wait_for 20 "$@" || fail "the key $name does nothing: expected $*"
}
blown() { value message | grep -q ' bodies blown away$'; }
fast() { value picked | awk '{ exit !($2 > 0.5) }'; } # m/s; a body at rest gets none of it by a step alone
# explains NAME WORDS: the pointer alone brings an explanation with these words
explained=0
explains() {
    point "$1" 0.5
    explained=$((explained + 1))
    case $(value tip) in *"$2"*) ;; *) fail "over '$1' it says '$(value tip)', not '$2'" ;; esac
}
# Below and to the right of a place in the window, where an explanation is drawn.
beside() { import -window "$window" -crop "80x24+$(($1 + 20))+$(($2 + 24))" rgb:- | cksum; }
hides() { ! has "$1"; }
files() { ls "$folder"/files/*."$1" >/dev/null 2>&1; }

controls=0
wait_for 60 test -s "$tell" || { cat "$folder/out.txt"; echo "skipped: no window here"; exit 77; }
window=$(xdotool search --onlyvisible --name pairsieve | head -n 1)
[ -n "$window" ] || { echo "skipped: no window here"; exit 77; }
xdotool windowfocus "$window"
[ "$part" = start ] || wait_for 60 ready || fail "no scene"

start_page() {
    # --- the start page
    is start 1 || fail "no start page"
    first=$(value chosen)
    key Right is_not chosen "$first"
    second=$(value chosen)
    key Down is_not chosen "$second"
    key Up is chosen "$second"
    key Left is chosen "$first"
    key End is_not chosen "$first"
    key Home is chosen "$first"
    key Return is start 0
    wait_for 60 is scene "$first" || fail "Enter opens $(value scene), not $first"
    wait_for 60 ready || fail "no scene"
    key F2 is start 1
    key Escape is start 0
    key F2 is start 1
    does "start stack" is scene stack
    wait_for 60 is start 0 || fail "the start page stays"
    wait_for 60 ready || fail "no scene"

    # --- the panel as a whole
    key Tab is folded 1
    does unfold is folded 0
    does fold is folded 1
    does unfold is folded 0
    key F1 is help 1
    key F1 is help 0
}

switches() {
    # --- what it costs: figures and phases say what they are
    explains "step time" "one step of the simulation"
    explains "sort share" "ordering the boxes"
    explains "phase plot" "one bar a frame"
    explains "row frame" "since the scene began"
    explains "row bodies" "never move included"
    explains "row pairs" "boxes that overlap"
    explains "row contacts" "bodies touch"
    explains "row tested" "compared"
    explains "sort passes" "radix sort"
    phases=$(sed -n 's/^control [-0-9]* [-0-9]* [-0-9]* phase \([a-z].*\)$/\1/p' "$tell" | grep -v -e '^plot$' -e '^bar$')
    [ "$(echo "$phases" | wc -l)" -ge 8 ] || fail "phases: $phases"
    tips=
    for phase in $phases; do
        explains "phase $phase" " "
        tips="$tips$(value tip)
"
    done
    [ "$(printf %s "$tips" | sort -u | wc -l)" = "$(echo "$phases" | wc -l)" ] || fail "two phases say the same: $tips"

    # --- what can be switched
    does "tab scene" has explain
    explains "start page" "pictures of all scenes"
    explains "check sampled" "at most 2%"
    press backend
    settle 3
    has cpu || fail "the list of backends does not open"
    if has cuda; then
        does cuda is backend cuda
        wait_for 60 ready || fail "no scene on cuda"
        chooses backend cpu is backend cpu
    else
        does cpu hides cpu
        is backend cpu || fail "the backend is $(value backend)"
    fi
    does explain is explained 1
    does explain is explained 0
    key p is paused 1
    for overlay in pairs cells order speeds; do
        changes $overlay overlays
    done
    shows boxes overlays
    shows transparent transparent
    shows shadows shadows
    before=$(pixels)
    chooses colour rank is colour rank
    [ "$(pixels)" != "$before" ] || fail "the colour changes no pixel"
    before=$(pixels)
    does rays is rays 1
    [ "$(pixels)" != "$before" ] || fail "'rays' changes no pixel"
    does rays is rays 0
    changes "check sampled" sampled
    does "check pairs (X)" is checked 1
    before=$(value loads)
    does forces is_not loads "$before" # the scene begins again
    wait_for 20 ready
    chooses sort radix is sort radix
    chooses "broad phase" brute is "broad phase" brute
    chooses scene drop is scene drop
    does "start page" is start 1
    key Escape is start 0
    settle 2

    # --- methods, timed
    does "tab methods" has "time all sorts"
    explains "time all sorts" "by every method"
    explains "time all broad phases" "finds the pairs"
    does "time all sorts" is_not sorts 0
    does "time all broad phases" is_not phases 0
}

play() {
    # --- play
    does "tab play" has pause
    does pause is paused 1
    steps=$(value steps)
    does step is_not steps "$steps"
    set -- $(where undo)
    before=$(beside $1 $2)
    explains undo "before your last change"
    settle 3
    [ "$(beside $1 $2)" != "$before" ] || fail "an explanation is told, but not drawn"
    explains gravity "metres a second squared"
    explains wind "a sideways push"
    explains time "slow motion"
    explains friction "0 is ice"
    explains bounce "restitution"
    explains substeps "solver substeps"
    explains bodies "begins again"
    explains pin "stays where it is"
    explains paint "another colour"
    explains follow "the camera goes"
    explains explode "middle of the picture"
    explains cut "to see inside"
    explains fold "one line"
    explains "time line" "the frame"
    slides cut 0.5 cut
    slides cut 0 cut
    before=$(value camera)
    set -- $(value window)
    xdotool mousemove --window "$window" $(($1 * 2 / 3)) $(($2 / 4))
    settle 2 # the panel lets go of the mouse a picture later
    xdotool click 4
    wait_for 20 is_not camera "$before" || fail "the wheel does nothing"
    before=$(value camera)
    does frame is_not camera "$before"
    changes help help
    frame=$(value frame)
    point "time line" 0.2
    xdotool click 1
    wait_for 20 is_not frame "$frame" || fail "the time line does nothing"
    before=$(value gravity)
    slides gravity 0.2 gravity
    does undo is gravity "$before"
    slides gravity 0.3 gravity
    slides wind 0.8 gravity
    slides time 0.25 time
    slides friction 0.8 friction
    slides bounce 0.7 bounce
    slides substeps 0.4 substeps
    slides bodies 0.25 bodies
    is paused 1 || does pause is paused 1
    before=$(value loads)
    does restart is_not loads "$before"
    wait_for 20 ready
    for kind in CSV:csv trace:trace.json picture:png; do
        does ${kind%:*} files ${kind#*:}
    done
    does video is video 1
    does "stop video" files mp4

    # --- a body: points of the picture until one is hit that can be pinned
    pinned=0
    set -- $(value window)
    for high in 50 45 55 60 40 65 35; do
        [ $pinned = 0 ] || break
        for wide in 50 55 60 45 65; do
            xdotool mousemove --window "$window" $(($1 * wide / 100)) $(($2 * high / 100))
            settle 2
            xdotool click 1
            settle 3
            [ -n "$(value picked)" ] || continue
            xdotool mousemove --window "$window" 0 0
            press pin
            settle 4
            starts message pinned && pinned=1 && break
        done
    done
    [ $pinned = 1 ] || fail "no body could be pinned"
    does pin starts message free
    before=$(value shapes)
    does paint is_not shapes "$before"
    changes follow follow
    does explode blown
    does step fast
}

case $part in
start) start_page ;;
switches) switches ;;
play) play ;;
*) fail "no part '$part'" ;;
esac
key ctrl+q true
wait $viewer || { echo "FAILED: the viewer ended with $?"; exit 1; }
echo "$controls clicks on controls, each with its effect; $explained explanations"
