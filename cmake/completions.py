"""Writes completions of a program for bash, zsh and fish from what its --help prints, which its option tables make.

usage: completions.py PROGRAM NAME TOOL OUT [COMMAND]...

TOOL is the program `pairsieve`, which lists scenes and methods. Without COMMANDs the program has options alone.
Every option is completed, and its values where its line of the help names them, or files.
"""
import json
import os
import re
import subprocess
import sys

OPTION = re.compile(r"^  (--[\w-]+(?:, --[\w-]+)*)((?: (?:[A-Z]\w*))*)(?:  +(.*))?$")
WORDS = re.compile(r"^(?:of the \w+: |of )?(\w+(?:, \w+)*(?: or |, )\w+)(?=$|[:,;] |, sep)")


def printed(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def known_values(tool):
    """Scenes and the methods of each option that takes one."""
    listed = json.loads(printed(tool, "list", "--json"))
    def names(kind):
        return list(dict.fromkeys(["auto"] + [name for methods in listed[kind].values() for name in methods]))
    sorters, broad_phases = names("sort"), names("broad_phase")
    return listed["scenes"], {"--sort": sorters, "--method": sorters, "--broad-phase": broad_phases}


def values_of(option, argument, text, methods):
    """What may follow an option: None (nothing), "files", or a list of words, which is empty for numbers and the like."""
    if not argument:
        return None
    if argument in ("FILE", "A.json"):
        return "files"
    if option in methods:
        return methods[option]
    found = WORDS.match(re.sub(r" \([^)]*\)", "", text.replace(", separated by", "; separated by")))
    return re.split(", | or ", found.group(1)) if found and argument != "WxH" else []


def read_command(program, command, scenes, methods):
    """Options as (name, argument, text, values), and what an operand may be: words, to which files are added."""
    text = printed(program, *([command] if command else []), "--help")
    options = []
    for line in text.splitlines():
        found = OPTION.match(line)
        for option in found.group(1).split(", ") if found else []:
            argument, about = found.group(2).strip(), found.group(3) or "print and exit"
            options.append((option, argument, about, values_of(option, argument, about, methods)))
    usage = text.splitlines()[0]
    choices = re.match(r"usage: \w+ \w+ ([a-z]+(?:\|[a-z]+)+)", usage)
    return options, choices.group(1).split("|") if choices else scenes if "SCENE" in usage else []


def bash(name, commands, summaries):
    function = name.replace("-", "_")
    lines = [f"# Completions of {name} for bash, made from its --help.", f"_{function}() {{",
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' words='' files=no"]
    if summaries:
        lines += ["    if [ \"$COMP_CWORD\" -gt 1 ]; then command=${COMP_WORDS[1]}; fi"]
    lines += ['    case "$command $before" in']
    for command, (options, operands) in commands.items():
        for option, _, _, values in options:
            if values is not None:
                done = "files=yes" if values == "files" else f"words='{' '.join(values)}'"
                lines.append(f"    '{command} {option}') {done} ;;")
    lines += ["    *)", '        case "$command" in']
    if summaries:
        lines.append(f"        '') words='{' '.join(summaries)} --help --version' ;;")
    for command, (options, operands) in commands.items():
        words = " ".join([option for option, *_ in options] + operands)
        lines.append(f"        '{command}') words='{words}' files=yes ;;")
    lines += ["        esac", "        ;;", "    esac", '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
              "    if [ $files = yes ] && [[ $word != -* ]]; then", "        compopt -o filenames 2>/dev/null",
              '        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")', "    fi", "}",
              f"complete -F _{function} {name}"]
    return lines


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh(name, commands, summaries):
    function = name.replace("-", "_")
    lines = [f"#compdef {name}", f"# Completions of {name} for zsh, made from its --help.", f"_{function}() {{", "    local command=''"]
    if summaries:
        entries = " ".join(f"'{command}:{zsh_text(text)}'" for command, text in summaries.items())
        lines += [f"    local -a commands=({entries})", "    if (( CURRENT == 2 )); then",
                  "        _describe command commands",
                  "        return", "    fi", "    command=$words[2]", "    shift words", "    (( CURRENT-- ))"]
    lines.append("    case $command in")
    for command, (options, operands) in commands.items():
        lines.append(f"    '{command}')" if command else "    '')")
        lines.append("        _arguments \\")
        for option, argument, text, values in options:
            after = "" if values is None else ":file:_files" if values == "files" else f":{argument}:({' '.join(values)})" if values else f":{argument}: "
            lines.append(f"            '{option}[{zsh_text(text)}]{after}' \\")
        lines.append(f"            '*:operand:_alternative \"words:word:({' '.join(operands)})\" \"files:file:_files\"'")
        lines.append("        ;;")
    return lines + ["    esac", "}", f'_{function} "$@"']


def fish(name, commands, summaries):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    lines = [f"# Completions of {name} for fish, made from its --help."]
    if summaries:
        lines.append(f"complete -c {name} -n __fish_use_subcommand -f -l help -l version")
    for command, text in summaries.items():
        lines.append(f"complete -c {name} -n __fish_use_subcommand -f -a {command} -d {quoted(text)}")
    for command, (options, operands) in commands.items():
        start = f"complete -c {name}" + (f" -n '__fish_seen_subcommand_from {command}'" if command else "")
        for option, _, text, values in options:
            after = "" if values is None else " -r -F" if values == "files" else f" -x -a '{' '.join(values)}'" if values else " -x"
            lines.append(f"{start} -l {option[2:]}{after} -d {quoted(text)}")
        if operands:
            lines.append(f"{start} -a '{' '.join(operands)}'")
    return lines


def main(program, name, tool, out, names):
    scenes, methods = known_values(tool)
    summaries = {}
    for line in printed(program, "--help").splitlines():
        found = re.match(r"^  ([a-z]+) +(.+)$", line)
        if found and found.group(1) in names:
            summaries[found.group(1)] = found.group(2)
    if list(summaries) != names:
        sys.exit(f"completions.py: --help names the commands {list(summaries)}, not {names}")
    commands = {command: read_command(program, command, scenes, methods) for command in names or [""]}
    for path, lines in ((f"bash/{name}", bash(name, commands, summaries)), (f"zsh/_{name}", zsh(name, commands, summaries)),
                        (f"fish/{name}.fish", fish(name, commands, summaries))):
        os.makedirs(os.path.dirname(os.path.join(out, path)), exist_ok=True)
        with open(os.path.join(out, path), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
