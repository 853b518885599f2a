# Read by scripts that start the viewer on an X server of their own: need TOOL..., start_server DPI, start_viewer NAME
# OPTION..., wait_for SECONDS COMMAND..., finish. $program is the viewer.
# shellcheck shell=sh
folder=$(mktemp -d)
server='' viewers=''
end_all() {
    # shellcheck disable=SC2086 # words
    [ -z "$server$viewers" ] || kill $viewers $server 2>/dev/null
    rm -rf "$folder"
}
trap end_all EXIT
need() {
    for tool; do
        command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (Debian: xvfb xdotool imagemagick)"; exit 77; }
    done
}
fail() {
    echo "FAILED: $*"
    cat "$folder"/*.txt
    exit 1
}
# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
    ends=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -lt $ends ] || return 1
        sleep 0.05
    done
}
# The server chooses its number, and writes it when it is ready.
start_server() {
    Xvfb -displayfd 3 -screen 0 1280x800x24 -dpi "$1" 3>"$folder/number" >"$folder/server.txt" 2>&1 &
    server=$!
    wait_for 20 test -s "$folder/number" || { cat "$folder/server.txt"; echo "skipped: no X server here"; exit 77; }
    DISPLAY=:$(head -n 1 "$folder/number")
    export DISPLAY
}
# A small scene; what it tells is in the file NAME.
start_viewer() {
    tell=$folder/$1
    shift
    "$program" stack --bodies 20 --backend cpu --no-shadows --no-vsync --tell "$tell" "$@" >"$tell.txt" 2>&1 &
    viewer=$!
    viewers="$viewers $viewer"
    wait_for 60 told bodies || { cat "$tell.txt"; echo "skipped: no window here"; exit 77; }
}
value() { sed -n "s/^set $1 //p" "$tell"; }
told() { [ -n "$(value "$1" 2>/dev/null)" ]; }
