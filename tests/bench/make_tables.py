#!/usr/bin/env python3
"""Makes the tables of README.md and docs/measured from the CSV files of tests/bench/results.

usage: make_tables.py [--root FOLDER]                      writes the tables into the pages
       make_tables.py [--root FOLDER] --machine MACHINE    takes MACHINE's files for the tables that they can fill, first
       make_tables.py [--root FOLDER] --check              changes nothing; exit code 1 where a page differs from its files

A page holds a pair of lines, <!-- table: NAME MACHINE --> and <!-- end -->; what stands between them is made here from the
CSV files in results/MACHINE. Tables that one machine alone has name no machine. All rows of a table have one commit, which
its last line names: a file with several commits gives several tables, and README.md's tables fail. README.md and
docs/measured have no measured figure elsewhere.
"""
import argparse
import csv
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
H200, H100, EPYC, XEON = "nvidia-h200", "nvidia-h100", "amd-epyc-2-cores", "intel-xeon-2-workers"


class BadTable(Exception):
    pass


def rows_of(file, **where):
    """The rows of a CSV file whose columns have these values, or one of these."""
    with open(os.path.join(ROOT, "tests/bench/results", file), newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    for column, wanted in where.items():
        values = wanted if isinstance(wanted, tuple) else (wanted,)
        rows = [row for row in rows if row[column] in values]
    if not rows:
        raise BadTable(f"{file} has no row with {where}")
    return rows


def one_row(file, **where):
    rows = rows_of(file, **where)
    if len(rows) != 1:
        raise BadTable(f"{file} has {len(rows)} rows with {where}")
    return rows[0]


def count(text):
    """1000000 as 1M, 262144 as 262,144."""
    number = int(text)
    for unit, letter in ((1_000_000, "M"), (1_000, "K")):
        if number % unit == 0 and 10_000 <= number and number // unit < 1000:
            return f"{number // unit}{letter}"
    return f"{number:,}"


def digits(text, places):
    return f"{float(text):,.{places}f}"


def time(text):
    """Milliseconds with about three digits that count."""
    value = float(text)
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def ratio(text):
    return digits(text, 2) if float(text) < 100 else digits(text, 0)


def whole(text):
    return f"{int(text):,}"


def grid(header, lines):
    """A Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *lines]]


def commits_of(rows):
    return list(dict.fromkeys(row["commit"] for row in rows))


def origin(files, rows):
    """The line below a table: files, commit, date. All rows have one commit."""
    commits = commits_of(rows)
    if len(commits) != 1:
        raise BadTable(f"rows of {', '.join(files)} come from {len(commits)} commits: {', '.join(sorted(commits))}")
    dates = sorted({row["date"][:10] for row in rows if row.get("date")})
    date = f", {dates[0]}" if dates else ""
    return ["", f"<sub>{', '.join(f'`{file}`' for file in files)}, commit {commits[0]}{date}</sub>"]


def with_origin(lines, files, rows):
    """The lines of a table of README.md, and its origin as the last one."""
    return [*lines, [origin(files, rows)[1], *[""] * (len(lines[0]) - 1)]]


def by_commit(file, rows, table_of):
    """A table of the rows of each commit, with its origin."""
    tables = []
    for commit in commits_of(rows):
        mine = [row for row in rows if row["commit"] == commit]
        tables += ([""] if tables else []) + table_of(mine) + origin([file], mine)
    return tables


def pivot(file, down, across, value, shown, corner, name=lambda text: text, **where):
    """A table with a row for each value of `down` and a column for each value of `across`, in the file's order."""
    def table_of(rows):
        columns = list(dict.fromkeys(row[across] for row in rows))
        if all(column.isdigit() for column in columns):
            columns.sort(key=int)
        cells = {}
        for row in rows:
            if (row[down], row[across]) in cells:
                raise BadTable(f"{file}: two rows for {row[down]}, {row[across]}")
            cells[row[down], row[across]] = shown(row[value])
        lines = [[name(line), *(cells.get((line, column), "-") for column in columns)]
                 for line in dict.fromkeys(row[down] for row in rows)]
        heads = [count(column) if column.isdigit() else column for column in columns]
        return grid([corner, *heads], lines)

    return by_commit(file, rows_of(file, **where), table_of)


def listing(file, columns, keep=lambda row: True, **where):
    """A table with a row for each row of the file; columns are (heading, column, how it is shown)."""
    def table_of(rows):
        return grid([heading for heading, _, _ in columns],
                    [[shown(row[column]) if row[column] else "-" for _, column, shown in columns] for row in rows])

    return by_commit(file, [row for row in rows_of(file, **where) if keep(row)], table_of)


def plain(text):
    return text


def sort_ratios(machine, op, distribution="uniform"):
    return pivot(f"{machine}/sort.csv", "form", "count", "ratio", ratio, f"CUB's time over ours, {op}",
                 {"call": "whole call", "graph": "in a graph"}.get, op=op, distribution=distribution)


def sort_orders(machine, op):
    return pivot(f"{machine}/sort.csv", "distribution", "count", "ratio", ratio, f"CUB's time over ours, {op}", op=op, form="call",
                 distribution=("sorted", "nearly"))


def sort_cpu(machine, method):
    return pivot(f"{machine}/sort_cpu.csv", "distribution", "count", "mpairs_per_s", lambda text: digits(text, 0),
                 "million pairs a second", method=method, op="pairs")


def pairs_cpu(machine, method):
    return pivot(f"{machine}/collision_cpu.csv", "scene", "boxes", "median_ms", time, f"ms, `{method}`", method=method)


def frames(file):
    return listing(file, [
        ("scene", "scene", plain), ("bodies", "bodies", whole), ("contacts", "contacts", whole), ("frame, ms", "frame_ms", time),
        ("pairs", "broad_ms", time), ("of it sort", "sort_ms", time), ("narrow", "narrow_ms", time), ("solve", "solve_ms", time)])


def gl_sort(op):
    return pivot(f"{H200}/gl_sort.csv", "who", "count", "ms", plain, f"{op}, ms", op=op)


def box3d(machine):
    return listing(f"{machine}/box3d.csv", [
        ("scene", "scene", plain), ("threads", "threads", plain), ("Box3D, ms", "box3d_ms", plain), ("here, ms", "ours_ms", plain),
        ("here over Box3D", "ratio", plain)])


def papers():
    """For each figure of a paper and each comparison: the least and greatest ratio over all counts and inputs."""
    file = f"{H200}/papers.csv"
    rows = rows_of(file)
    groups = {}
    for row in rows:
        groups.setdefault((row["figure"], row["a"], row["b"]), []).append(row)
    lines = []
    for (figure, a, b), group in groups.items():
        found = [float(row["b_over_a"]) for row in group]
        counts = [int(row["count"]) for row in group]
        said = list(dict.fromkeys(row["paper_b_over_a"] for row in group))
        lines.append([figure, b, a, f"{count(min(counts))} to {count(max(counts))}" if len(set(counts)) > 1 else count(counts[0]),
                      f"{ratio(min(found))} to {ratio(max(found))}" if len(found) > 1 else ratio(found[0]), "; ".join(said)])
    return grid(["figure", "time of", "over time of", "items", "here", "in the paper"], lines) + origin([file], rows)


def papers_here(machine):
    """What the papers claim and what this machine measured, figure by figure, from the JSON file of bench papers."""
    file = f"{machine}/papers.json"
    with open(os.path.join(ROOT, "tests/bench/results", file), encoding="utf-8") as stream:
        report = json.load(stream)
    lines = [[f"{figure['paper'].split(',')[0].split(' et ')[0].split(' &')[0]}, {figure['place']}", figure["claim"], figure["here"].strip()]
             for figure in report["figures"] if figure["state"] == "measured"]
    where = report["machine"]
    return grid(["figure", "the paper", f"on an {device_of({'device': where.get('gpu', where['processor'])})}"], lines) + [
        "", f"<sub>`{file}`, commit {where['commit']}, {where['date'][:10]}</sub>"]


def history(machine):
    """Times of a few cases from commit to commit, and a chart: each time over that of the first commit."""
    rows = rows_of("history.csv", machine=machine)
    commits = list(dict.fromkeys(row["commit"] for row in sorted(rows, key=lambda row: row["date"])))
    cells = {}
    for row in rows:
        cells.setdefault(row["case"], {})[row["commit"]] = row["ms"]
    lines = [[case, *(time(found[commit]) if commit in found else "-" for commit in commits)] for case, found in cells.items()]
    charted = [case for case, found in cells.items() if len(found) > 1]
    common = [commit for commit in commits if all(commit in cells[case] for case in charted)]
    table = grid(["ms at commit", *commits], lines) + ["", "<sub>`history.csv`</sub>"]
    if len(common) < 2:
        return table
    ratios = [[float(cells[case][commit]) / float(cells[case][common[0]]) for commit in common] for case in charted]
    most = max(max(line) for line in ratios)
    return [*table, "", "```mermaid", "xychart-beta", f'    title "{machine}: time over that of {common[0]}"',
            f"    x-axis [{', '.join(common)}]", f'    y-axis "ratio" 0 --> {max(1.2, 1.1 * most):.1f}',
            *(f"    line [{', '.join(f'{value:.3f}' for value in line)}]" for line in ratios), "```", "",
            "<sub>The lines are the rows with two commits or more, from the top.</sub>"]


def device_of(row):
    return re.sub(r" \d+GB.*", "", row["device"])


def readme(machine):
    """Sorts and pairs on a GPU, of one commit."""
    files, rows, lines = [f"{machine}/sort.csv", f"{machine}/collision.csv"], [], []
    for size in ("100000", "1000000", "64000000"):
        row = one_row(files[0], op="pairs", form="call", distribution="uniform", count=size)
        lines.append([f"sort {count(size)} 32-bit keys with values", time(row["median_ms"]), f"{time(row['yardstick_ms'])} with CUB"])
        rows.append(row)
    largest = max(int(row["boxes"]) for row in rows_of(files[1], scene="cube", worlds="1", method="rows"))
    for size in ("100000", "1000000", str(largest)):
        row = one_row(files[1], scene="cube", boxes=size, worlds="1", method="rows")
        lines.append([f"find the {whole(row['pairs'])} pairs of {count(size)} boxes", time(row["median_ms"]), "-"])
        rows.append(row)
    return grid([f"work, on an {device_of(rows[0])}", "ms", "beside it, ms"], with_origin(lines, files, rows))


def readme_frames(machine):
    """Frames of the simulation on a GPU and what of them is sorting, of one commit."""
    file = f"{machine}/sim.csv"
    rows = rows_of(file, scene=("spheres", "landscape"))
    lines = [[row["scene"], whole(row["bodies"]), whole(row["contacts"]), time(row["frame_ms"]), time(row["broad_ms"]), time(row["sort_ms"])]
             for row in rows]
    return grid([f"frame of, on an {device_of(rows[0])}", "bodies", "contacts", "ms", "of it pairs", "of it sorting"],
                with_origin(lines, [file], rows))


def readme_cpu(machine):
    """A sort and a search for pairs on a CPU, of one commit."""
    files = [f"{machine}/sort_cpu.csv", f"{machine}/collision_cpu.csv"]
    sort = one_row(files[0], method="radix", op="pairs", distribution="uniform", count="1000000")
    pairs = one_row(files[1], scene="cube", boxes="1000000", method="rows")
    workers = int(pairs["workers"])
    lines = [["sort 1M 32-bit keys with values", time(sort["median_ms"]), f"{time(sort['yardstick_ms'])} with qsort"],
             [f"find the {whole(pairs['pairs'])} pairs of 1M boxes", time(pairs["median_ms"]), "-"]]
    return grid([f"work, on {workers} cores of an {device_of(sort)}", "ms", "beside it, ms"],
                with_origin(lines, files, [sort, pairs]))


# Tables of what measure.sh measures: any machine may fill them. The files that a table needs, and how it is made.
MACHINE_TABLES = {
    "readme": (("sort", "collision"), readme),
    "readme-frames": (("sim",), readme_frames),
    "readme-cpu": (("sort_cpu", "collision_cpu"), readme_cpu),
    "sort-gpu-pairs": (("sort",), lambda machine: sort_ratios(machine, "pairs")),
    "sort-gpu-keys": (("sort",), lambda machine: sort_ratios(machine, "keys")),
    "sort-gpu-index": (("sort",), lambda machine: sort_ratios(machine, "index")),
    "sort-gpu-orders": (("sort",), lambda machine: sort_orders(machine, "pairs")),
    "sort-gpu-ms": (("sort",), lambda machine: pivot(f"{machine}/sort.csv", "op", "count", "median_ms", time, "ms", form="call",
                                                     distribution="uniform")),
    "sort-cpu": (("sort_cpu",), lambda machine: sort_cpu(machine, "radix")),
    "sort-cpu-merge": (("sort_cpu",), lambda machine: sort_cpu(machine, "merge")),
    "pairs-gpu": (("collision",), lambda machine: listing(f"{machine}/collision.csv", [
        ("scene", "scene", plain), ("boxes", "boxes", count), ("worlds", "worlds", whole), ("pairs", "pairs", whole), ("ms, a call", "median_ms", time),
        ("ms, in a graph", "graph_ms", time), ("sort, ms", "sort_ms", time), ("sweep, ms", "sweep_ms", time)], method="rows")),
    "pairs-cpu": (("collision_cpu",), lambda machine: pairs_cpu(machine, "rows")),
    "pairs-cpu-lbvh": (("collision_cpu",), lambda machine: pairs_cpu(machine, "lbvh")),
    "papers-here": (("papers.json",), papers_here),
    "sim-gpu": (("sim",), lambda machine: frames(f"{machine}/sim.csv")),
    "sim-cpu": (("sim_cpu",), lambda machine: frames(f"{machine}/sim_cpu.csv")),
}

TABLES = {
    "segments": lambda: listing(f"{H100}/segments.csv", [
        ("backend", "backend", plain), ("segments", "shape", plain), ("keys", "keys", plain), ("elements", "elements", count), ("ms, a call", "ms", time),
        ("ms, in a graph", "graph_ms", time), ("faster yardstick, ms", "yardstick_ms", time), ("times ours", "ratio", ratio)]),
    "stream": lambda: listing(f"{H100}/stream.csv", [
        ("arrays", "memory", plain), ("pairs", "pairs", whole), ("memory of the sort, bytes", "memory_bytes", whole), ("runs", "runs", plain),
        ("s", "sort_s", time), ("the bus alone, s", "bus_s", time), ("bus over sort", "ratio", ratio)]),
    "pairs-gpu-largest": lambda: listing(f"{H200}/collision.csv", [
        ("scene", "scene", plain), ("boxes", "boxes", count), ("pairs", "pairs", whole), ("ms, a call", "median_ms", time)],
        method="rows", boxes="100000000"),
    "pairs-gpu-others": lambda: pivot(f"{H200}/collision_lbvh_grid_sap3.csv", "scene", "method", "median_ms", time, "ms, 1M boxes",
                                      boxes="1000000"),
    "pairs-meshes": lambda: listing(f"{H200}/meshes.csv", [
        ("mesh", "scene", plain), ("boxes of", "search", plain), ("boxes", "boxes", whole), ("pairs", "pairs", whole), ("ms", "ms", time)]),
    "pairs-cpu-xeon": lambda: pivot(f"{XEON}/collision_cpu.csv", "scene", "method", "median_ms", time, "ms, 1M boxes", boxes="1000000"),
    "sim-sort-share": lambda: listing(f"{H200}/run_drop_by_sort.csv", [
        ("broad phase", "broad_phase", plain), ("sorter", "sort", plain), ("frame, ms", "frame_ms", time), ("sort, ms", "sort_ms", time),
        ("sort, share", "sort_share", lambda text: f"{100 * float(text):.1f}%")]),
    "python-sort": lambda: listing(f"{H200}/python_gpu.csv", [
        ("call", "case", plain), ("keys", "count", count), ("ms", "ms", time), ("other", "other", plain), ("its ms", "other_ms", time),
        ("times ours", "ratio", ratio)], keep=lambda row: "argsort" in row["case"]),
    "python-overhead": lambda: listing(f"{H200}/python_gpu.csv", [
        ("call", "case", plain), ("boxes", "count", count), ("from Python", "ms", time), ("from C", "other_ms", time)],
        keep=lambda row: "find" in row["case"]),
    "python-adapters": lambda: listing(f"{H200}/python_adapters.csv", [
        ("library", "library", plain), ("its tests", "file", plain), ("on", "where", plain), ("passed", "passed", plain),
        ("of", "tests", plain), ("the others", "rest", plain)]),
    "python-adapters-cpu": lambda: listing(f"{XEON}/python_adapters.csv", [
        ("library", "library", plain), ("its tests", "file", plain), ("on", "where", plain), ("passed", "passed", plain),
        ("of", "tests", plain), ("the others", "rest", plain)]),
    "neighbours-cpu": lambda: listing(f"{XEON}/neighbours.csv", [
        ("points", "points", count), ("neighbours", "neighbours", whole), ("other", "other", plain), ("processor ms", "cpu_ms", time),
        ("its processor ms", "other_cpu_ms", time), ("times ours", "cpu_ratio", ratio), ("wall time, times ours", "ratio", ratio)]),
    "first-use": lambda: listing(f"{XEON}/first_use.csv", [("what", "what", plain), ("s", "seconds", plain), ("note", "note", plain)]),
    "python-peers": lambda: listing(f"{H200}/python_peers.csv", [
        ("scene", "scene", plain), ("boxes", "boxes", whole), ("who", "who", plain), ("ms, a call", "ms", time),
        ("ms, in a graph", "graph_ms", time), ("times ours", "ratio", ratio), ("in a graph", "graph_ratio", ratio)]),
    "python-cpu": lambda: listing(f"{EPYC}/python_cpu.csv", [
        ("work", "case", plain), ("count", "count", count), ("other", "other", plain), ("processor ms", "cpu_ms", time),
        ("its processor ms", "other_cpu_ms", time), ("times ours", "cpu_ratio", ratio)]),
    "sim-accuracy": lambda: listing(f"{H200}/sim_accuracy.csv", [
        ("quantity", "quantity", plain), ("CPU", "cpu", plain), ("H200", "h200", plain)]),
    "box3d": lambda: box3d(EPYC),
    "box3d-xeon": lambda: box3d(XEON),
    "box3d-overlap": lambda: listing(f"{EPYC}/box3d_overlap.csv", [
        ("scene", "scene", plain), ("deepest overlap, mm: Box3D", "box3d_overlap_mm", plain), ("here", "ours_overlap_mm", plain),
        ("rms speed, m/s: Box3D", "box3d_rms", plain), ("here", "ours_rms", plain)]),
    "mujoco": lambda: listing(f"{EPYC}/mujoco.csv", [
        ("quantity", "quantity", plain), ("here", "ours", plain), ("MuJoCo", "mujoco", plain),
        ("processor ms of a second: here", "ours_cpu_ms", plain), ("MuJoCo", "mujoco_cpu_ms", plain)]),
    "movers-peers": lambda: listing(f"{EPYC}/movers_peers.csv", [
        ("boxes", "boxes", count), ("of which move", "movers", count), ("method", "method", plain), ("what it does", "work", plain),
        ("begins and ends a frame", "events", plain), ("ms", "frame_ms", time), ("worst frame, ms", "worst_ms", time)]),
    "sim-asleep": lambda: listing(f"{H200}/asleep.csv", [
        ("on", "device", plain), ("bodies", "bodies", whole), ("awake", "awake", whole), ("step, ms", "step_ms", time),
        ("pairs", "broad_ms", time), ("bounds", "bounds_ms", time), ("narrow", "narrow_ms", time), ("solve", "solve_ms", time), ("end", "end_ms", time)]),
    "movers-gpu": lambda: listing(f"{H100}/movers.csv", [
        ("boxes", "boxes", count), ("of which move", "movers", count), ("pairs, ms", "find_ms", time), ("with events", "events_ms", time),
        ("the others kept", "kept_find_ms", time), ("with events", "kept_events_ms", time), ("a check of 16 boxes", "check_ms", time)]),
    "trees-backends": lambda: listing(f"{H100}/trees_backends.csv", [
        ("backend", "backend", plain), ("triangles", "triangles", count), ("build, ms", "build_ms", time), ("refit, ms", "refit_ms", time),
        ("primary", "primary", whole), ("shadow", "shadow", whole), ("random", "random", whole), ("closest points", "closest", whole)]),
    "trees-gpu": lambda: listing(f"{H200}/trees.csv", [
        ("triangles", "triangles", count), ("tree", "tree", plain), ("build, ms", "build_ms", time), ("refit, ms", "refit_ms", time),
        ("primary", "primary", whole), ("shadow", "shadow", whole), ("random", "random", whole), ("closest points", "closest", whole)]),
    "trees-boxes": lambda: listing(f"{H200}/tree_boxes.csv", [
        ("boxes", "boxes", count), ("linear", "linear", whole), ("fine", "fine", whole), ("Warp `lbvh`", "warp_lbvh", whole),
        ("Warp `sah`", "warp_sah", whole)]),
    "trees-cpu": lambda: listing(f"{XEON}/trees_cpu.csv", [
        ("mesh", "mesh", lambda text: count(text) if text.isdigit() else text), ("tree", "tree", plain), ("build, ms", "build_ms", plain), ("refit, ms", "refit_ms", plain),
        ("primary", "primary", plain), ("shadow", "shadow", plain), ("random", "random", plain)]),
    "group-pairs": lambda: listing(f"{H200}/group_pairs.csv", [
        ("boxes", "boxes", count), ("dealt", "dealt", plain), ("one card, ms", "one_ms", plain), ("two cards, ms", "two_ms", plain),
        ("split", "split_ms", plain), ("move", "move_ms", plain), ("find", "find_ms", plain), ("keep", "keep_ms", plain),
        ("bytes sent a box", "bytes_a_box", plain), ("fullest rank", "fullest", plain)]),
    "group-sort": lambda: listing(f"{H200}/group_sort.csv", [
        ("pairs of u32", "count", count), ("one card, ms", "one_ms", plain), ("two cards, ms", "two_ms", plain), ("split", "split_ms", plain),
        ("move", "move_ms", plain), ("sort", "sort_ms", plain), ("GB/s a direction", "gb_per_s", plain)]),
    "group-cpu": lambda: listing(f"{EPYC}/group_pairs_cpu.csv", [
        ("ranks", "ranks", plain), ("dealt", "dealt", plain), ("processor ms", "seen_ms", plain), ("predicted", "predicted_ms", plain),
        ("boxes sent, of each", "sent_a_box", plain), ("held beside the own", "held_beside", plain)]),
    "gl-sort": lambda: gl_sort("pairs"),
    "gl-sort-keys": lambda: gl_sort("keys"),
    "gl-pairs": lambda: listing(f"{H200}/gl_pairs.csv", [
        ("boxes", "boxes", count), ("pairs", "pairs", whole), ("`rows`, ms", "rows_ms", plain), ("on CUDA, ms", "rows_cuda_ms", plain)]),
    "gl-memory": lambda: listing(f"{H200}/gl_memory.csv", [
        ("memory", "memory", plain), ("32 MB", "mb32", plain), ("256 MB", "mb256", plain), ("1 GB", "gb1", plain), ("made in, ms", "made_ms", plain)]),
    "gl-sort-llvmpipe": lambda: listing(f"{EPYC}/gl_sort_llvmpipe.csv", [
        ("form", "form", plain), *((count(size), size, plain) for size in ("10000", "100000", "1000000", "4000000"))]),
    "gl-pairs-llvmpipe": lambda: listing(f"{EPYC}/gl_pairs_llvmpipe.csv", [
        ("method", "method", plain), *((scene, scene, plain) for scene in ("cube", "pile", "clusters", "power", "mixed_1000"))]),
    "pictures": lambda: listing(f"{H200}/pictures.csv", [
        ("scene", "scene", plain), ("items", "items", count), ("bounds, keys", "bounds_keys_ms", plain), ("sort", "sort_ms", plain),
        ("build", "build_ms", plain), ("trace", "trace_ms", plain), ("filter", "filter_ms", plain), ("picture, ms", "picture_ms", plain),
        ("with mirrors and glass", "mirrors_ms", plain), ("Mrays/s", "mrays", whole)]),
    "pictures-viewer": lambda: listing(f"{H200}/pictures_viewer.csv", [
        ("scene", "scene", plain), ("picture, ms", "picture_ms", plain), ("slowest", "slowest_ms", plain), ("step, ms", "step_ms", plain),
        ("from picture to picture, ms", "interval_ms", plain)]),
    "garcia": lambda: listing(f"{H200}/garcia.csv", [("García et al. (2014)", "quantity", plain), ("in the paper", "paper", plain), ("here", "here", plain)]),
    "render": lambda: listing(f"{H200}/render.csv", [
        ("mesh", "mesh", plain), ("triangles", "triangles", whole), ("tree", "tree", plain), ("sorter", "sort", plain),
        ("sort, ms", "sort_ms", time), ("tree, ms", "tree_ms", time), ("rays, ms", "trace_ms", time), ("picture, ms", "frame_ms", time),
        ("sort, share", "sort_percent", lambda text: f"{text}%")]),
    "history-h200": lambda: history(H200),
    "history-epyc": lambda: history(EPYC),
    "papers": papers,
    "papers-figure-6": lambda: pivot(f"{H200}/papers_fig6.csv", "scene", "boxes", "median_ms", time, "ms, `sap3` with `radix4`"),
}


def table_lines(page, name, machine):
    if name in MACHINE_TABLES and machine:
        return MACHINE_TABLES[name][1](machine)
    if name in TABLES and not machine:
        return TABLES[name]()
    if name == "papers-here" and not machine:
        return []  # until a machine has measured it
    raise BadTable(f"{page}: no table is called {name}" + ("" if machine else "; the tables of measure.sh name their machine"))


def filled(page, text, used, wanted):
    """The page with its tables made anew; those that the wanted machine can fill become this machine's."""
    def table(match):
        name, machine = match.group(1), match.group(2) or ""
        if wanted and name in MACHINE_TABLES and has_files(wanted, name):
            machine = wanted
        used.add(name)
        head = f"<!-- table: {name} {machine}".rstrip()
        return "\n".join([f"{head} -->", *table_lines(page, name, machine), "<!-- end -->"])

    return re.sub(r"<!-- table: (\S+)(?: (\S+))? -->\n.*?<!-- end -->", table, text, flags=re.S)


def has_files(machine, name):
    return all(os.path.isfile(os.path.join(ROOT, "tests/bench/results", machine, file if "." in file else f"{file}.csv"))
               for file in MACHINE_TABLES[name][0])


# A measured time, rate or factor. Pages that explain may name sizes and limits.
FIGURE = re.compile(r"\b\d[\d.,]*(?: ?(?:ms|GB/s|fps)\b| million [\w ]{1,20}a second|(?: ?x| times) (?:faster|slower|as fast|as long))")


def figures_in_prose(page, text):
    """Measured figures outside of tables and code: they would not come from a CSV file."""
    text = re.sub(r"^```.*?^```|<!-- table: .*?<!-- end -->", lambda found: "\n" * found.group().count("\n"), text, flags=re.S | re.M)
    for number, line in enumerate(text.split("\n"), 1):
        found = FIGURE.search(re.sub(r"`[^`]*`", "", line))
        if found and not line.startswith(("|", "    ")):
            yield f"{page}:{number}: the figure «{found.group()}» stands in no CSV file"


def main(arguments):
    global ROOT
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--root", default=ROOT, help="the repository")
    parser.add_argument("--machine", help="take this machine's files for the tables that they can fill")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 where a page differs")
    options = parser.parse_args(arguments)
    ROOT = os.path.abspath(options.root)
    if options.machine and not os.path.isdir(os.path.join(ROOT, "tests/bench/results", options.machine)):
        print(f"make_tables.py: tests/bench/results has no folder {options.machine}")
        return 2
    folder = os.path.join(ROOT, "docs/measured")
    pages = ["README.md", *sorted(f"docs/measured/{name}" for name in os.listdir(folder) if name.endswith(".md"))]
    used, made, loose = set(), {}, []
    try:
        for page in pages:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                old = file.read()
            new = filled(page, old, used, options.machine)
            loose += figures_in_prose(page, new)
            if new != old:
                made[page] = new
    except BadTable as error:
        print(f"make_tables.py: {error}")
        return 1
    for page, text in made.items(): # all or none
        print(f"{page}: {'differs from its CSV files; tests/bench/make_tables.py makes it anew' if options.check else 'made anew'}")
        if not options.check:
            with open(os.path.join(ROOT, page), "w", encoding="utf-8") as file:
                file.write(text)
    missing = sorted({*TABLES, *MACHINE_TABLES} - used)
    for name in missing:
        print(f"make_tables.py: no page shows the table {name}")
    for line in loose:
        print(line)
    return 1 if missing or loose or (options.check and made) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
