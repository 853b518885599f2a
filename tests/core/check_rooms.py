"""Who calls whom between the folders of the library, by the symbols of its object files.

usage: check_rooms.py BUILD_FOLDER NM

1. Layers look down only: core, sort, collision, sim.
2. Code that all backends share (core, */src, */distributed, the rooms of sim) enters a backend's folder by one symbol: the
   backend's module for that layer (core/backend_list.h). core may also use the threads of core/cpu.
3. Otherwise no two folders call each other. A folder of papers/ counts as that of its layer; the file of a backend's module
   names what the backend has, wherever that is.
4. In collision/src and its folders, whose parts are to be replaced one by one, no circle leads from a file back to itself.
"""
import json
import os
import re
import subprocess
import sys

LAYERS = ("core", "sort", "collision", "sim")
BACKENDS = ("cpu", "cuda", "gl", "vulkan", "gpu")  # gpu: what OpenGL and Vulkan share
BACKEND_ENDS = tuple("_" + name for name in BACKENDS)  # render_cpu.c
MODULE = re.compile(r"psvi_(%s)_(ops|sorts|collision|sim)$" % "|".join(BACKENDS))
OBJECT = re.compile(r"CMakeFiles/pairsieve_(%s)\.dir/(.*)\.o$" % "|".join(LAYERS))


def source_of(path):
    """layer/folder/file of an object file; a file of papers/ is one of its layer."""
    layer, name = OBJECT.search(path).groups()
    papers = re.search(r"papers/\w+/(.*)", name)
    return f"{layer}/{papers.group(1) if papers else name}"


def read_symbols(build, nm):
    with open(os.path.join(build, "compile_commands.json")) as file:
        outputs = {os.path.join(build, re.search(r" -o (\S+)", command["command"]).group(1)) for command in json.load(file)}
    defined, wanted = {}, {}
    for path in sorted(path for path in outputs if OBJECT.search(path) and "/generated/" not in path and os.path.isfile(path)):
        source = source_of(path)
        wanted.setdefault(source, set())
        for line in subprocess.run([nm, path], capture_output=True, text=True, check=True).stdout.splitlines():
            *_, kind, symbol = line.split()
            if kind in "TDRB":
                defined[symbol] = source
            elif kind == "U":
                wanted[source].add(symbol)
    return defined, wanted


def folder_of(source):
    return os.path.dirname(source)


def is_backend(source):
    folders, name = os.path.split(source)
    return any(part in BACKENDS for part in folders.split("/")) or name.split(".")[0].endswith(BACKEND_ENDS)


def layer_of(source):
    return LAYERS.index(source.split("/")[0])


def find_circle(edges):
    """A list of files that lead back to the first one, or None."""
    state, path = {}, []

    def visit(file):
        state[file] = "open"
        path.append(file)
        for other in sorted(edges.get(file, ())):
            if state.get(other) == "open":
                return path[path.index(other):] + [other]
            circle = None if other in state else visit(other)
            if circle:
                return circle
        path.pop()
        state[file] = "done"
        return None

    for file in sorted(edges):
        circle = None if file in state else visit(file)
        if circle:
            return circle
    return None


def check(defined, wanted):
    folders, room = {}, {}
    modules = {defined[symbol] for symbol in defined if MODULE.match(symbol)}
    for source, symbols in wanted.items():
        for symbol in symbols & defined.keys():
            target = defined[symbol]
            here, there = folder_of(source), folder_of(target)
            if layer_of(target) > layer_of(source):
                yield f"{source} uses {symbol} of {target}, a layer above"
            if here.startswith("collision/src") and there.startswith("collision/src") and source != target:
                room.setdefault(source, set()).add(target)
            if here == there:
                continue
            if is_backend(target) and not is_backend(source):
                if not MODULE.match(symbol) and not (there == "core/cpu" and here == "core"):
                    yield f"{source} uses {symbol} of {target}: shared code enters a backend by its module alone"
            elif source not in modules:
                folders.setdefault((here, there), (source, symbol, target))
    for (here, there), (source, symbol, target) in folders.items():
        if (there, here) in folders and here < there:
            other = folders[there, here]
            yield f"{here} and {there} call each other: {source} {symbol} {target}; {other[0]} {other[1]} {other[2]}"
    circle = find_circle(room)
    if circle:
        yield "a circle of files: " + ", ".join(circle)


def main():
    defined, wanted = read_symbols(sys.argv[1], sys.argv[2])
    if len(wanted) < 100:
        print(f"only {len(wanted)} object files in {sys.argv[1]}")
        return 1
    faults = list(check(defined, wanted))
    print("\n".join(faults) if faults else f"{len(wanted)} files, {len({folder_of(s) for s in wanted})} folders: no fault")
    return 1 if faults else 0


sys.exit(main())
