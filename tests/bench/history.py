#!/usr/bin/env python3
"""Adds the few lines that are followed from commit to commit to results/history.csv.

usage: history.py [--take FOLDER] MACHINE

The lines are taken from the CSV files that measure.sh wrote for the machine. A case that its commit already has there is
replaced, so a second run of one commit does not add lines. --take moves the files of FOLDER to the machine first.
"""
import csv
import json
import os
import shutil
import sys

COLUMNS = ("date", "commit", "machine", "case", "ms", "scatter")
# File, columns that name the case, name of the case, column of the time.
CASES = [
    ("sort{}.csv", {"method": "radix", "op": "pairs", "form": "call", "keys": "u32", "distribution": "uniform", "count": "1000000"},
     "sort 1M pairs", "median_ms"),
    ("sort{}.csv", {"method": "radix", "op": "keys", "form": "call", "keys": "u32", "distribution": "uniform", "count": "1000000"},
     "sort 1M keys", "median_ms"),
    ("collision{}.csv", {"scene": "cube", "boxes": "10000", "method": "rows", "worlds": "1"}, "pairs of 10K boxes, cube", "median_ms"),
    ("collision{}.csv", {"scene": "cube", "boxes": "1000000", "method": "rows", "worlds": "1"}, "pairs of 1M boxes, cube", "median_ms"),
    ("collision{}.csv", {"scene": "pile", "boxes": "1000000", "method": "rows", "worlds": "1"}, "pairs of 1M boxes, pile", "median_ms"),
    ("sim{}.csv", {"scene": "spheres", "bodies": "10000"}, "frame of 10K spheres", "frame_ms"),
    ("sim{}.csv", {"scene": "spheres", "bodies": "1000000"}, "frame of 1M spheres", "frame_ms"),
]


def read(path):
    if not os.path.isfile(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def lines_of(results, machine):
    for suffix, where in (("_cpu", "CPU"), ("", "GPU")):
        for file, wanted, case, column in CASES:
            for row in read(os.path.join(results, machine, file.format(suffix))):
                if all(row.get(key, value) == value for key, value in wanted.items()):
                    yield {"date": row.get("date", "")[:10], "commit": row["commit"], "machine": machine,
                           "case": f"{case}, {where}", "ms": row[column], "scatter": row.get("scatter", "")}


def take(results, folder, machine):
    """Moves what measure.sh --out left into the machine's folder, and the papers' page to docs/measured. All has one
    commit; else a sentence."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".csv") or name in ("papers.html", "papers.json"))
    tables = [name for name in names if name.endswith(".csv")]
    commits = {row.get("commit") for name in tables for row in read(os.path.join(folder, name))}
    if "papers.json" in names:
        with open(os.path.join(folder, "papers.json"), encoding="utf-8") as file:
            commits.add(json.load(file)["machine"]["commit"])
    if len(commits) != 1:
        return f"the files of {folder} come from {len(commits)} commits, and one is wanted"
    os.makedirs(os.path.join(results, machine), exist_ok=True)
    pages = os.path.join(results, "..", "..", "..", "docs", "measured")
    places = {name: os.path.join(results, machine, name) for name in names}
    if "papers.html" in names:
        places["papers.html"] = os.path.join(pages, f"papers-{machine}.html")
    for name in names:
        shutil.copyfile(os.path.join(folder, name), places[name] + ".part")
    for name in names:
        os.replace(places[name] + ".part", places[name])
    return None


def write_history(results, machine):
    path = os.path.join(results, "history.csv")
    lines = {(row["commit"], row["machine"], row["case"]): row for row in read(path)}
    for line in lines_of(results, machine):
        lines[line["commit"], line["machine"], line["case"]] = line
    rows = sorted(lines.values(), key=lambda row: (row["machine"], row["case"], row["date"]))
    with open(path + ".part", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(path + ".part", path)


def main(arguments):
    results = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
    folder = None
    if arguments[:1] == ["--take"] and len(arguments) > 1:
        folder, arguments = arguments[1], arguments[2:]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    machine, why = arguments[0], None
    if folder is not None and not os.path.isdir(folder):
        why = f"there is no folder {folder}"
    elif folder is not None:
        why = take(results, folder, machine)
    if why is None and not os.path.isdir(os.path.join(results, machine)):
        why = f"{results} has no folder {machine}"
    if why is not None:
        print(f"history.py: {why}", file=sys.stderr)
        return 2
    write_history(results, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
