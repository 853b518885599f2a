#!/usr/bin/env bash
# The completions of an install: bash's function offers every option that --help names, and values and files; zsh and fish
# take their files where these shells are; the desktop file is valid. usage: check_completions.sh INSTALL_FOLDER
set -eu
share=$1/share programs=$1/bin
cd "$programs"

# offered WORD...: what bash would offer for the last word of this command line.
offered() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    "_${1//-/_}"
    printf '%s\n' "${COMPREPLY[@]}"
}
# offers EXPECTED WORD...: exits unless it is among them.
offers() {
    local expected=$1
    shift
    offered "$@" | grep -qxF -e "$expected" || { echo "'$*' does not offer $expected"; exit 1; }
}
options_of() { grep -oE '^  (--[a-z-]+)(, --[a-z-]+)*' | grep -oE -e '--[a-z-]+'; }

count=0
for file in "$share"/bash-completion/completions/*; do
    # shellcheck disable=SC1090
    . "$file"
done
for command in run replay pairs sort trace bench report info list; do
    offers "$command" pairsieve "${command:0:2}"
    for option in $(./pairsieve "$command" --help | options_of); do
        offers "$option" pairsieve "$command" "${option:0:4}"
        count=$((count + 1))
    done
done
if [ -x ./pairsieve-view ]; then
    for option in $(./pairsieve-view --help | options_of); do
        offers "$option" pairsieve-view "${option:0:4}"
        count=$((count + 1))
    done
    offers cells pairsieve-view --overlay ''
fi
[ "$count" -ge 60 ] || { echo "only $count options"; exit 1; }
offers lbvh pairsieve run --broad-phase ''
offers gl pairsieve run --backend g
offers galaxy pairsieve run ga
offers pairsieve pairsieve run --csv pairs # a file of this folder
offers collision pairsieve bench co
[ -z "$(offered pairsieve run --frames '')" ] || { echo "a number is completed"; exit 1; }

shells=bash
if command -v zsh >/dev/null; then
    for file in "$share"/zsh/site-functions/_*; do zsh -n "$file"; done
    shells="$shells zsh"
fi
if command -v fish >/dev/null; then
    # shellcheck disable=SC2016 # fish expands it
    found=$(HOME=${TMPDIR:-/tmp} fish -c 'source $argv[1]; complete -C "pairsieve run --backend c"' "$share/fish/vendor_completions.d/pairsieve.fish")
    case $found in cpu*) ;; *) echo "fish offers '$found'"; exit 1 ;; esac
    shells="$shells fish"
fi
if [ -f "$share/applications/pairsieve-view.desktop" ] && command -v desktop-file-validate >/dev/null; then
    desktop-file-validate "$share/applications/pairsieve-view.desktop"
fi
echo "completions: $count options, $shells"
