#!/usr/bin/env python3
"""Each rule of .ci/rules.py holds in a made repository, and is reported once a file breaks it: check_ci_rules.py SOURCE_FOLDER"""
import os
import shutil
import subprocess
import sys
import tempfile

GOOD = {
    "README.md": "# A library\n\nSee [how](docs/how/page.md#the-method).\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.1.0\n\n- Added: all.\n",
    "docs/how/page.md": "# A page\n\n## The method\n\nThe method sorts the boxes. It then sweeps them.\n",
    "docs/measured/README.md": "# Measured\n",
    "core/include/pairsieve/core.h": "#define PSV_VERSION_MAJOR 0\n#define PSV_VERSION_MINOR 1\n#define PSV_VERSION_PATCH 0\n",
    "CITATION.cff": "version: 0.1.0\n",
    "core/inside.h": "int inside;\n",
    "viz/window.h": "int window;\n",
    "viz/window.c": '#include "window.h"\n#include "pairsieve/core.h"\n#include <stdio.h>\n',
    "sim/tool/tool.c": "int tool;\n",
    "tests/bench/make_tables.py": "",
    **{f"core/many/part_{part}.c": "int part;\n" for part in range(40)},
}
LONG = "This sentence has by far too many words in it, because it was made by a test that wants to see whether a rule finds it as it should find it at once.\n"
# The rule, the file that breaks it, its text, and a part of the line that has to be printed.
BAD = [
    ("folders", "core/many/one_more.c", "int x;\n", "core/many: 41 source files"),
    ("file_lengths", "core/long.c", "int x;\n" * 801, "core/long.c: 801 lines"),
    ("unique_names", "sim/window.c", "int x;\n", "window.c: sim/window.c, viz/window.c"),
    ("public_headers", "viz/other.c", '#include "../core/inside.h"\n', "viz/other.c:1: includes the internal header core/inside.h"),
    ("links", "docs/how/lost.md", "See [it](nowhere.md).\n", "docs/how/lost.md: links to nowhere.md"),
    ("links", "docs/how/lost.md", "See [it](page.md#no-such-heading).\n", "links to page.md#no-such-heading, a heading"),
    ("mentions", "core/named.h", "// see docs/how/gone.md\\n", "core/named.h: names docs/how/gone.md"),
    ("prose", "docs/how/long.md", LONG * 2, "docs/how/long.md: 2 of 2 sentences"),
    ("prose", "docs/learn/counted.md", "It takes 3 ms of 5 and 7 of 9.\n", "4 numbers in 1 sentences"),
    ("front_pages", "README.md", "word\n" * 131, "README.md: 131 lines"),
    ("front_pages", "CHANGELOG.md", "# Changelog\n\n## 0.1.0\n" + "- line\n" * 90, "CHANGELOG.md: 0.1.0 has 91 lines"),
    ("versions", "CITATION.cff", "version: 0.1.1\n", "CITATION.cff: names version 0.1.1, core.h 0.1.0"),
    ("versions", "CHANGELOG.md", "# Changelog\n\n## next\n", "CHANGELOG.md: names version None, core.h 0.1.0"),
    ("versions", "packaging/vcpkg/vcpkg.json", '{"version": "0.2.0"}\n', "vcpkg.json: names version 0.2.0, core.h 0.1.0"),
    ("measured", "tests/bench/make_tables.py", "import sys; print('a table differs'); sys.exit(1)\n", "a table differs"),
]


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run_rules(source, folder, *rules):
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    return subprocess.run([sys.executable, os.path.join(source, ".ci/rules.py"), "--root", folder, *rules],
                          capture_output=True, text=True)


def main(source):
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        for name, text in GOOD.items():
            write(folder, name, text)
        result = run_rules(source, folder)
        if result.returncode != 0:
            print("the good repository is refused:", result.stdout)
            failures += 1
        for rule, name, text, expected in BAD:
            write(folder, name, text)
            result = run_rules(source, folder, rule)
            if result.returncode != 1 or expected not in result.stdout:
                print(f"{rule}: '{expected}' was expected, printed was\n{result.stdout}{result.stderr}")
                failures += 1
            if name in GOOD:
                write(folder, name, GOOD[name])
            else:
                os.remove(os.path.join(folder, name))
        if run_rules(source, folder, "no_such_rule").returncode != 2:
            print("an unknown rule is accepted")
            failures += 1
    print(f"{len(BAD)} broken rules, {failures} failures")
    return failures != 0


if shutil.which("git") is None:
    print("no git")
    sys.exit(77)
sys.exit(main(sys.argv[1]))
