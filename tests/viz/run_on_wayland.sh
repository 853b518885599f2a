#!/bin/sh
# usage: run_on_wayland.sh PROGRAM [ARGUMENT]...
# Runs it under Wayland: the compositor Weston in a window of a virtual X server (its headless backend has no seat, which
# SDL 2.26 does not survive). 77, the code of a skipped test, where the compositor does not start.
set -u
if [ "${1:-}" != --inside ]; then
    exec xvfb-run -a -s "-screen 0 1600x1000x24" "$0" --inside "$@"
fi
shift
folder=$(mktemp -d)
XDG_RUNTIME_DIR=$folder
WAYLAND_DISPLAY=pairsieve
export XDG_RUNTIME_DIR
weston --backend=x11-backend.so --width=1400 --height=900 --socket=$WAYLAND_DISPLAY >"$folder/log" 2>&1 &
compositor=$!
tries=0
while [ ! -S "$folder/$WAYLAND_DISPLAY" ] && [ $tries -lt 100 ] && kill -0 $compositor 2>/dev/null; do
    sleep 0.1
    tries=$((tries + 1))
done
if [ ! -S "$folder/$WAYLAND_DISPLAY" ]; then
    tail -n 5 "$folder/log"
    echo "Weston did not start"
    code=77
else
    export WAYLAND_DISPLAY
    unset DISPLAY
    "$@"
    code=$?
fi
kill $compositor 2>/dev/null
wait $compositor 2>/dev/null
rm -rf "$folder"
exit $code
