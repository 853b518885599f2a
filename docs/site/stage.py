"""Lays out the pages of the site: stage.py SOURCE_FOLDER OUT_FOLDER

Pages keep their places in the repository, so that their links lead where they lead there. Files that pages link to are
copied too. The package goes to OUT_FOLDER/../python-source, where docstrings are read. The headers become pages that read from top to bottom as the headers do.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

HEADERS = ["core/include/pairsieve/core.h", "sort/include/pairsieve/sort.h", "sort/include/pairsieve/segment_sort.h",
           "sort/include/pairsieve/stream_sort.h", "sort/include/pairsieve/group.h",
           "sort/distributed/mpi/include/pairsieve/group_mpi.h", "collision/include/pairsieve/collision.h",
           "collision/include/pairsieve/element_pairs.h", "collision/include/pairsieve/neighbours.h",
           "collision/include/pairsieve/tree.h", "collision/include/pairsieve/tree_view.h", "collision/include/pairsieve/tree_tests.h",
           "collision/include/pairsieve/tree.cuh", "collision/include/pairsieve/readers.h", "collision/include/pairsieve/group_pairs.h",
           "sim/include/pairsieve/sim.h", "sim/include/pairsieve/render.h", "core/include/pairsieve/pairsieve.hpp"]
NOT_STAGED = (".github/", "docs/site/", "tests/", "python/tests/")
NAME = r"(?:psv|PSV)_\w+"


def fix_links(text, page, files, wanted):
    """Links to folders become text; files that are no pages are collected in `wanted`."""
    def one(found):
        label, target = found.group(1), found.group(2)
        if re.match(r"[a-z]+:|#", target):
            return found.group(0)
        path, mark, heading = urllib.parse.unquote(target).partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if place in files:
            if not place.endswith(".md"):
                wanted.add(place)
            return found.group(0)
        if place + "/README.md" in files:
            return f"[{label}]({path.rstrip('/')}/README.md{mark}{heading})"
        return label
    return re.sub(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)", one, text)


def fix_blocks(text):
    """What GitHub takes without an empty line before it: lists and tables. Code blocks keep their language alone."""
    lines, out, fenced = text.split("\n"), [], False
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
            line = re.sub(r"^```(\w+) .*", r"```\1", line)
        starts = re.match(r"(- |\* |\d+\. |\|)", line)
        if not fenced and starts and out and out[-1].strip() and not re.match(r"\s*(- |\* |\d+\. |\||  |<!--)", out[-1]):
            out.append("")
        if not fenced and line.startswith("|") and out and out[-1].startswith("<!--"):
            out.append("")
        out.append(line)
    return re.sub(r"<!--(?: table:.*?| end )-->\n?", "", "\n".join(out))


def prose(lines):
    """A comment as Markdown: names of the library become code, other signs stay what they are."""
    parts = "\n".join(re.sub(r"^\s*// ?", "", line) for line in lines).split("`")
    for place in range(0, len(parts), 2): # outside of what is code already
        text = re.sub(r"([*\[\]_\\])", r"\\\1", parts[place]).replace("<", "&lt;")
        parts[place] = re.sub(r"(?:\\\*)?\b(?:psv|PSV|def|set|rules|counters)(?:(?:\\_|\.)\w+)+(?:\(\))?",
                              lambda found: "\0" + found.group(0).replace("\\", "") + "\0", text)
    return "`".join(parts).replace("\0", "`")


def blocks(lines):
    """Parts between empty lines outside of braces, as (comment lines, code lines)."""
    depth, comment, code = 0, [], []
    for line in lines:
        if not line.strip() and depth == 0:
            if comment or code:
                yield comment, code
            comment, code = [], []
        elif line.startswith("//") and not code:
            comment.append(line)
        else:
            code.append(line)
            plain = re.sub(r"//.*|'.'|\"[^\"]*\"", "", line)
            depth += plain.count("{") - plain.count("}")
    if comment or code:
        yield comment, code


def declared(code):
    text = re.sub(r"//[^\n]*", "", "\n".join(code))
    names = re.findall(rf"^#define ({NAME})", text, re.M)
    names += re.findall(rf"^\}} ({NAME});", text, re.M) + re.findall(rf"^typedef (?:struct {NAME} )?[^{{;(]*?({NAME});", text, re.M)
    text = re.sub(r"\{.*?^\}", "", text, flags=re.S | re.M)
    return names + [name for name in re.findall(rf"\b({NAME})\(", text) if name not in names]


def header_page(source, header):
    with open(os.path.join(source, header), encoding="utf-8") as file:
        text = file.read()
    name = os.path.basename(header)
    lead = re.match(r"(?://[^\n]*\n)+", text).group(0)
    page = [f"# {name}", "", f"    #include <pairsieve/{name}>", "", prose(lead.splitlines()), ""]
    text = text[len(lead):]
    if name.endswith((".hpp", ".cuh")):
        return "\n".join(page + ["```cpp", text.strip(), "```", ""])
    text = re.sub(r"#ifdef __cplusplus\n(?:extern \"C\" \{|\})\n#endif\n", "\n", text)
    text = re.sub(r"^#(?:ifndef|define) PAIRSIEVE_\w+_H\n", "", text, flags=re.M)
    text = re.sub(r"\n#endif\s*$", "\n", text)
    seen = set()
    for comment, code in blocks(text.splitlines()):
        divider = [re.match(r"// -+ ([\w ,]+?) -+", line) for line in comment]
        for found in filter(None, divider):
            page += [f"## {found.group(1).capitalize()}", ""]
        comment = [line for line, found in zip(comment, divider) if not found]
        names = [found for found in dict.fromkeys(declared(code)) if found not in seen]
        seen.update(names)
        if names:
            shown = ", ".join(f"`{found}`" for found in names[:3]) + (" …" if len(names) > 3 else "")
            anchors = "".join(f'<a id="{found}"></a>' for found in names[1:])
            page += [f"### {shown} {{ #{names[0]} }}", "", anchors, ""]
        if comment:
            page += [prose(comment), ""]
        if code:
            page += ["```c", *code, "```", ""]
    return "\n".join(page)


def notebook_page(text):
    """Cells of a notebook with what they printed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = "".join("".join(output.get("text", [])) for output in cell.get("outputs", []))
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def write(out, name, text):
    os.makedirs(os.path.dirname(os.path.join(out, name)) or out, exist_ok=True)
    with open(os.path.join(out, name), "w", encoding="utf-8") as file:
        file.write(text)


def main(source, out):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=source, capture_output=True,
                            text=True, check=True).stdout.splitlines()
    files, wanted = {name for name in listed if os.path.isfile(os.path.join(source, name))}, set()
    without_page = {name for name in files if "/include/pairsieve/" in name} - set(HEADERS)
    if without_page:
        sys.exit(f"stage.py: public headers without a page: {sorted(without_page)}")
    for name in sorted(files):
        if name.endswith(".md") and not name.startswith(NOT_STAGED):
            with open(os.path.join(source, name), encoding="utf-8") as file:
                text = file.read()
            wanted.update(place for place in (os.path.normpath(os.path.join(os.path.dirname(name), target))
                                              for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text)) if place in files)
            page = fix_blocks(fix_links(text, name, files, wanted))
            if name == "README.md":  # it is alone in its part: a column beside it would be empty
                name, page = "index.md", "---\nhide: [navigation]\n---\n\n" + page
            write(out, name, page)
    for name in wanted:
        os.makedirs(os.path.dirname(os.path.join(out, name)) or out, exist_ok=True)
        shutil.copyfile(os.path.join(source, name), os.path.join(out, name))
    for name in sorted(name for name in files if name.endswith(".ipynb")):
        with open(os.path.join(source, name), encoding="utf-8") as file:
            write(out, "notebooks/" + os.path.basename(name).replace(".ipynb", ".md"), notebook_page(file.read()))
    for header in HEADERS:
        write(out, f"reference/{os.path.basename(header).replace('.', '-')}.md", header_page(source, header))
    for name in sorted(files):
        if re.match(r"python/pairsieve/.*\.pyi?$", name):
            with open(os.path.join(source, name), encoding="utf-8") as file: # examples and names in docstrings become code
                text = re.sub(r"^( *)(?:>>>|\.\.\.) ", r"\1    ", file.read(), flags=re.M)
                write(out, "../python-source/" + name[len("python/"):], re.sub(r":(?:func|class|meth|mod|attr|data|exc):`~?", "`", text))
    for name in ("python-reference", "python-adapters"):
        with open(os.path.join(source, f"docs/site/{name}.md"), encoding="utf-8") as file:
            write(out, f"reference/{name.removesuffix('-reference')}.md", file.read().replace("](../learn/", "](../docs/learn/"))
    os.makedirs(os.path.join(out, "assets"), exist_ok=True)
    shutil.copyfile(os.path.join(source, "viz/desktop/pairsieve-view.svg"), os.path.join(out, "assets/icon.svg"))
    shutil.copyfile(os.path.join(source, "docs/site/site.css"), os.path.join(out, "assets/site.css"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
