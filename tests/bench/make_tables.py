#!/usr/bin/env python3
"""Makes the tables of README.md and docs/measured from the CSV files of tests/bench/results.

usage: make_tables.py            writes the tables into the pages
       make_tables.py --check    changes nothing; exit code 1 where a page differs from its CSV files

A page holds a pair of lines, <!-- table: NAME --> and <!-- end -->; what stands between them is made here. All rows of a
table have one commit, which its last line names, or each row names its own. README.md has no measured figure elsewhere.
"""
import csv
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "tests/bench/results")
H200, H100, EPYC, XEON = "nvidia-h200", "nvidia-h100", "amd-epyc-2-cores", "intel-xeon-2-workers"


class BadTable(Exception):
    pass


def rows_of(file, **where):
    """The rows of a CSV file whose columns have these values, or one of these."""
    with open(os.path.join(RESULTS, file), newline="", encoding="utf-8") as stream:
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


def origin(file, rows):
    """The line below a table: file, commit, date, device."""
    commits = sorted({row["commit"] for row in rows})
    if len(commits) != 1:
        raise BadTable(f"rows of {file} come from {len(commits)} commits: {', '.join(commits)}")
    dates = sorted({row["date"][:10] for row in rows if row.get("date")})
    date = f", {dates[0]}" if dates else ""
    return ["", f"<sub>`{file}`, commit {commits[0]}{date}</sub>"]


def pivot(file, down, across, value, shown, corner, name=lambda text: text, **where):
    """A table with a row for each value of `down` and a column for each value of `across`, in the file's order."""
    rows = rows_of(file, **where)
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
    return grid([corner, *heads], lines) + origin(file, rows)


def listing(file, columns, keep=lambda row: True, **where):
    """A table with a row for each row of the file; columns are (heading, column, how it is shown)."""
    rows = [row for row in rows_of(file, **where) if keep(row)]
    lines = [[shown(row[column]) if row[column] else "-" for _, column, shown in columns] for row in rows]
    table = grid([heading for heading, _, _ in columns], lines)
    if any(column == "commit" for _, column, _ in columns):
        return [*table, "", f"<sub>`{file}`</sub>"]
    return table + origin(file, rows)


def plain(text):
    return text


def sort_ratios(op, distribution="uniform"):
    return pivot(f"{H200}/sort.csv", "form", "count", "ratio", ratio, f"CUB's time over ours, {op}",
                 {"call": "whole call", "graph": "in a graph"}.get, op=op, distribution=distribution)


def sort_orders(op):
    return pivot(f"{H200}/sort.csv", "distribution", "count", "ratio", ratio, f"CUB's time over ours, {op}", op=op, form="call",
                 distribution=("sorted", "nearly"))


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
    return grid(["figure", "time of", "over time of", "items", "here", "in the paper"], lines) + origin(file, rows)


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
            f"<sub>Lines from the top of the table: {'; '.join(charted)}.</sub>"]


def readme():
    """A few results over all parts, each with its commit."""
    lines = []

    def add(what, machine, row, column, shown_other, other=None):
        lines.append([what, machine, time(row[column]), shown_other.format(time(other)) if other else shown_other, row["commit"]])

    for size in ("100000", "1000000", "64000000"):
        row = one_row(f"{H200}/sort.csv", op="pairs", form="call", distribution="uniform", count=size)
        add(f"sort {count(size)} 32-bit keys with values", "H200", row, "median_ms", "{} with CUB", row["yardstick_ms"])
    row = one_row(f"{EPYC}/sort_cpu.csv", method="radix", op="pairs", distribution="uniform", count="1000000")
    add("sort 1M 32-bit keys with values", "2 CPU cores", row, "median_ms", "{} with qsort", row["yardstick_ms"])
    for size in ("100000", "1000000", "10000000", "100000000"):
        row = one_row(f"{H200}/collision.csv", scene="cube", boxes=size, worlds="1")
        add(f"pairs of {count(size)} boxes ({whole(row['pairs'])})", "H200", row, "median_ms", "-")
    peers = f"{H200}/python_peers.csv"
    warp = one_row(peers, scene="cube", boxes="1000000", who="Warp Bvh, rebuilt, queries")
    add(f"pairs of 1M boxes ({whole(warp['pairs'])}), from Python", "H200", one_row(peers, scene="cube", boxes="1000000", who="pairsieve"),
        "ms", "{} with Warp", warp["ms"])
    row = one_row(f"{EPYC}/collision_cpu.csv", scene="cube", boxes="1000000", method="rows")
    add(f"pairs of 1M boxes ({whole(row['pairs'])})", "2 CPU cores", row, "median_ms", "-")
    row = one_row(f"{H200}/sim.csv", scene="spheres")
    add(f"simulate 1M spheres ({whole(row['contacts'])} contacts), one frame", "H200", row, "frame_ms", "-")
    return grid(["work", "machine", "ms", "beside it, ms", "commit"], lines)


TABLES = {
    "readme": readme,
    "sort-gpu-pairs": lambda: sort_ratios("pairs"),
    "sort-gpu-keys": lambda: sort_ratios("keys"),
    "sort-gpu-index": lambda: sort_ratios("index"),
    "sort-gpu-orders": lambda: sort_orders("pairs"),
    "sort-gpu-ms": lambda: pivot(f"{H200}/sort.csv", "op", "count", "median_ms", time, "ms", form="call", distribution="uniform"),
    "sort-cpu": lambda: pivot(f"{EPYC}/sort_cpu.csv", "distribution", "count", "mpairs_per_s", lambda text: digits(text, 0),
                              "million pairs a second", method="radix", op="pairs"),
    "sort-cpu-merge": lambda: pivot(f"{EPYC}/sort_cpu.csv", "distribution", "count", "mpairs_per_s", lambda text: digits(text, 0),
                                    "million pairs a second", method="merge", op="pairs"),
    "segments": lambda: listing(f"{H100}/segments.csv", [
        ("backend", "backend", plain), ("segments", "shape", plain), ("keys", "keys", plain), ("elements", "elements", count), ("ms, a call", "ms", time),
        ("ms, in a graph", "graph_ms", time), ("faster yardstick, ms", "yardstick_ms", time), ("times ours", "ratio", ratio)]),
    "pairs-gpu": lambda: listing(f"{H200}/collision.csv", [
        ("scene", "scene", plain), ("boxes", "boxes", count), ("worlds", "worlds", whole), ("pairs", "pairs", whole), ("ms, a call", "median_ms", time),
        ("ms, in a graph", "graph_ms", time), ("sort, ms", "sort_ms", time), ("sweep, ms", "sweep_ms", time)]),
    "pairs-gpu-others": lambda: pivot(f"{H200}/collision_lbvh_grid_sap3.csv", "scene", "method", "median_ms", time, "ms, 1M boxes",
                                      boxes="1000000"),
    "pairs-meshes": lambda: listing(f"{H200}/meshes.csv", [
        ("mesh", "scene", plain), ("boxes of", "search", plain), ("boxes", "boxes", whole), ("pairs", "pairs", whole), ("ms", "ms", time)]),
    "pairs-cpu": lambda: pivot(f"{EPYC}/collision_cpu.csv", "scene", "boxes", "median_ms", time, "ms, `rows`", method="rows",
                               commit="1af4579"),
    "pairs-cpu-even": lambda: pivot(f"{EPYC}/collision_cpu.csv", "scene", "boxes", "median_ms", time, "ms, `rows`", method="rows",
                                    commit="348b44b"),
    "pairs-cpu-lbvh": lambda: pivot(f"{EPYC}/collision_cpu.csv", "scene", "boxes", "median_ms", time, "ms, `lbvh`", method="lbvh"),
    "pairs-cpu-xeon": lambda: pivot(f"{XEON}/collision_cpu.csv", "scene", "method", "median_ms", time, "ms, 1M boxes", boxes="1000000"),
    "sim-gpu": lambda: listing(f"{H200}/sim.csv", [
        ("scene", "scene", plain), ("bodies", "bodies", whole), ("contacts", "contacts", whole), ("frame, ms", "frame_ms", time),
        ("pairs", "broad_ms", time), ("of it sort", "sort_ms", time), ("narrow", "narrow_ms", time), ("solve", "solve_ms", time)]),
    "sim-cpu": lambda: listing(f"{EPYC}/sim_cpu.csv", [
        ("scene", "scene", plain), ("bodies", "bodies", whole), ("contacts", "contacts", whole), ("frame, ms", "frame_ms", time),
        ("pairs", "broad_ms", time), ("of it sort", "sort_ms", time), ("narrow", "narrow_ms", time), ("solve", "solve_ms", time)]),
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
    "python-peers": lambda: listing(f"{H200}/python_peers.csv", [
        ("scene", "scene", plain), ("boxes", "boxes", whole), ("who", "who", plain), ("ms, a call", "ms", time),
        ("ms, in a graph", "graph_ms", time), ("times ours", "ratio", ratio), ("in a graph", "graph_ratio", ratio)]),
    "python-cpu": lambda: listing(f"{EPYC}/python_cpu.csv", [
        ("work", "case", plain), ("count", "count", count), ("other", "other", plain), ("processor ms", "cpu_ms", time),
        ("its processor ms", "other_cpu_ms", time), ("times ours", "cpu_ratio", ratio)]),
    "sim-accuracy": lambda: listing(f"{H200}/sim_accuracy.csv", [
        ("quantity", "quantity", plain), ("CPU", "cpu", plain), ("H200", "h200", plain), ("commit", "commit", plain)]),
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
        ("bytes sent a box", "bytes_a_box", plain), ("fullest rank", "fullest", plain), ("commit", "commit", plain)]),
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


def filled(page, text, used):
    """The page with its tables made anew."""
    def table(match):
        name = match.group(1)
        if name not in TABLES:
            raise BadTable(f"{page}: no table is called {name}")
        used.add(name)
        return "\n".join([f"<!-- table: {name} -->", *TABLES[name](), "<!-- end -->"])

    return re.sub(r"<!-- table: (\S+) -->\n.*?<!-- end -->", table, text, flags=re.S)


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
    if arguments not in ([], ["--check"]):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    folder = os.path.join(ROOT, "docs/measured")
    pages = ["README.md", *sorted(f"docs/measured/{name}" for name in os.listdir(folder) if name.endswith(".md"))]
    used, different, loose = set(), [], []
    try:
        for page in pages:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                old = file.read()
            new = filled(page, old, used)
            if new != old:
                different.append(page)
                if not arguments:
                    with open(os.path.join(ROOT, page), "w", encoding="utf-8") as file:
                        file.write(new)
    except BadTable as error:
        print(f"make_tables.py: {error}")
        return 1
    for name in sorted(set(TABLES) - used):
        print(f"make_tables.py: no page shows the table {name}")
    for page in different:
        print(f"{page}: {'differs from its CSV files; tests/bench/make_tables.py makes it anew' if arguments else 'made anew'}")
    for line in loose:
        print(line)
    return 1 if set(TABLES) - used or loose or (arguments and different) else 0


sys.exit(main(sys.argv[1:]))
