#!/usr/bin/env python3
"""Checks the rules of STYLE.md that a program can check, on the files that git knows.

usage: .ci/rules.py [--root FOLDER] [RULE]...      all rules without names; --list names them
Exit code: 0 when all hold, 1 with one line for each place that breaks one.
"""
import collections
import os
import re
import subprocess
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = (".c", ".h", ".cu", ".cuh", ".cpp", ".hpp", ".comp", ".glsl", ".vert", ".frag", ".py", ".sh")
MOST_LINES = 800
MOST_FILES = 40
# Names that tools expect, one in each folder.
COMMON_NAMES = {"CMakeLists.txt", "README.md", "__init__.py"}
# One file a machine under the same name: the folder is the machine.
RESULTS = "tests/bench/results/"
PUBLIC_ONLY = re.compile(r"^(viz|view|sim/tool|tests/api|docs/embedding|[^/]+/examples)/")
README_LINES, README_WORDS, CHANGELOG_LINES = 130, 1100, 80
PROSE_FOLDERS = ("docs/learn/", "docs/how/")
MOST_NUMBERS, LONG_WORDS, MOST_LONG = 0.4, 25, 0.1


def tracked():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.splitlines() if os.path.isfile(os.path.join(ROOT, name))]


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def file_lengths(files):
    """A source file has at most 800 lines."""
    for name in files:
        if name.endswith(SOURCE):
            lines = text_of(name).count("\n")
            if lines > MOST_LINES:
                yield f"{name}: {lines} lines, at most {MOST_LINES}"


def folders(files):
    """A folder has at most 40 source files."""
    sizes = collections.Counter(os.path.dirname(name) for name in files if name.endswith(SOURCE))
    for folder, size in sorted(sizes.items()):
        if size > MOST_FILES:
            yield f"{folder}: {size} source files, at most {MOST_FILES}"


def unique_names(files):
    """No two files have the same name, so that a name alone says which file is meant."""
    places = collections.defaultdict(list)
    for name in files:
        if os.path.basename(name) not in COMMON_NAMES and not name.startswith(RESULTS):
            places[os.path.basename(name)].append(name)
    for base, names in sorted(places.items()):
        if len(names) > 1:
            yield f"{base}: {', '.join(names)}"


def public_headers(files):
    """The viewer, the program, tests/api and the examples include public headers, core/portable and their own files."""
    known = set(files)
    for name in files:
        if not PUBLIC_ONLY.match(name) or not name.endswith(SOURCE):
            continue
        top = "tests" if name.startswith("tests/") else PUBLIC_ONLY.match(name).group(1)
        for number, line in enumerate(text_of(name).splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not found or found.group(1).startswith("pairsieve/"):
                continue
            near = os.path.normpath(os.path.join(os.path.dirname(name), found.group(1)))
            inside = [path for path in known if path == near or path == found.group(1)]
            if any(not path.startswith((top + "/", "core/portable/")) for path in inside):
                yield f"{name}:{number}: includes the internal header {inside[0]}"


def anchors(markdown):
    """The names by which GitHub links to the headings of a page."""
    names, seen = set(), collections.Counter()
    for heading in re.findall(r"^#{1,6} +(.*?) *$", without_code(markdown), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
        seen[name] += 1
    return names


def without_code(markdown):
    return re.sub(r"^```.*?^```", "", markdown, flags=re.S | re.M)


def links(files):
    """Every relative link of a page leads to a file or folder of the repository, and to a heading that is there."""
    for name in (name for name in files if name.endswith(".md")):
        prose = re.sub(r"`[^`\n]*`", "", without_code(text_of(name)))
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = urllib.parse.unquote(target).partition("#")
            place = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not any(file == place or file.startswith(place + "/") for file in files):
                yield f"{name}: links to {target}, which is not in the repository"
            elif heading and place.endswith(".md") and heading not in anchors(text_of(place)):
                yield f"{name}: links to {target}, a heading that is not there"


def mentions(files):
    """Pages of docs and experiments that code, scripts and tests name by their path are there."""
    for name in files:
        if name.startswith(("experiments/log-", "tests/docs/check_")) or not name.endswith((*SOURCE, ".md", ".txt", ".toml", ".cff", ".yml")):
            continue
        for page in sorted(set(re.findall(r"(?<![\w/.])(?:docs|experiments)/[\w/.-]*\.md\b", text_of(name)))):
            near = os.path.normpath(os.path.join(os.path.dirname(name), page))
            if page not in files and near not in files:
                yield f"{name}: names {page}, which is not there"


def sentences(markdown):
    """Sentences of running text and lists: no tables, code, headings or pictures."""
    kept = [line for line in without_code(markdown).split("\n") if not line.startswith(("|", "#", "    ", "![", "<!--"))]
    return re.split(r"(?<=[.!?:])\s+", " ".join(kept))


def prose(files):
    """Pages of docs/learn and docs/how: at most 0.4 numbers a sentence, a tenth of the sentences over 25 words."""
    for name in files:
        if not name.endswith(".md") or not name.startswith(PROSE_FOLDERS):
            continue
        count = numbers = 0
        too_long = []
        for sentence in sentences(text_of(name)):
            words = len(re.findall(r"[A-Za-z«»'`_]+", sentence))
            if words < 4:
                continue
            count += 1
            numbers += len(re.findall(r"(?<![\w.])\d[\d,.]*", sentence))
            if words > LONG_WORDS:
                too_long.append(f"{words} words: {sentence[:70]}...")
        if numbers > MOST_NUMBERS * count:
            yield f"{name}: {numbers} numbers in {count} sentences; figures belong into a table"
        if len(too_long) > MOST_LONG * count:
            yield f"{name}: {len(too_long)} of {count} sentences have more than {LONG_WORDS} words"
            yield from (f"  {line}" for line in too_long)


def front_pages(files):
    """README.md has at most 130 lines and 1,100 words; a version in CHANGELOG.md has at most 80 lines."""
    text = text_of("README.md")
    lines, words = text.count("\n"), len(text.split())
    if lines > README_LINES or words > README_WORDS:
        yield f"README.md: {lines} lines and {words} words, at most {README_LINES} and {README_WORDS}"


    for version in text_of("CHANGELOG.md").split("\n## ")[1:]:
        if version.count("\n") > CHANGELOG_LINES:
            yield f"CHANGELOG.md: {version.splitlines()[0]} has {version.count(chr(10))} lines, at most {CHANGELOG_LINES}"


# The places that cannot read the version from core.h, each with what stands before it.
VERSION_PLACES = {"pyproject.toml": "^version = ", "CITATION.cff": r"^version: ", "CHANGELOG.md": r"^## ",
                  "debian/changelog": r"^pairsieve \(",
                  "packaging/conda/recipe.yaml": r"^  version: ", "packaging/vcpkg/vcpkg.json": r'"version": "'}


def versions(files):
    """pyproject.toml, CITATION.cff, CHANGELOG.md and the packages name the version of core.h."""
    numbers = re.findall(r"^#define PSV_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text_of("core/include/pairsieve/core.h"), re.M)
    version = ".".join(numbers)
    for name, before in VERSION_PLACES.items():
        if name in files:
            found = re.search(before + r'"?(\d+\.\d+\.\d+)?', text_of(name), re.M)
            if not found or found.group(1) != version:
                yield f"{name}: names version {found and found.group(1)}, core.h {version}"


def measured(files):
    """The tables of README.md and docs/measured are what their CSV files say."""
    check = subprocess.run([sys.executable, os.path.join(ROOT, "tests/bench/make_tables.py"), "--check"],
                           capture_output=True, text=True)
    if check.returncode != 0:
        yield from (check.stdout + check.stderr).splitlines()


RULES = {rule.__name__: rule for rule in (file_lengths, folders, unique_names, public_headers, links, mentions, prose, front_pages, versions,
                                      measured)}


def main(wanted):
    global ROOT
    if wanted[:1] == ["--root"] and len(wanted) > 1:
        ROOT, wanted = os.path.abspath(wanted[1]), wanted[2:]
    if wanted == ["--list"]:
        for name, rule in RULES.items():
            print(f"{name:15} {rule.__doc__.splitlines()[0]}")
        return 0
    unknown = [name for name in wanted if name not in RULES]
    if unknown:
        print(f"rules.py: no rule is called {unknown[0]}; --list names them", file=sys.stderr)
        return 2
    files = tracked()
    broken = 0
    for name in wanted or RULES:
        for line in RULES[name](files):
            print(f"{name}: {line}")
            broken += 1
    print(f"{len(wanted or RULES)} rules, {broken} lines about what breaks them" if broken else f"{len(wanted or RULES)} rules hold")
    return 1 if broken else 0


sys.exit(main(sys.argv[1:]))
