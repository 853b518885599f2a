#!/usr/bin/env python3
"""Plots the CSV file of `bench_sort --papers --csv FILE`: one picture per figure of the papers.

usage: plot_papers.py papers.csv [folder]      needs matplotlib
"""
import collections
import csv
import os
import re
import sys


def read_rows(path):
    with open(path, newline="") as file:
        return [row for row in csv.DictReader(line for line in file if not line.startswith("#"))]


def series_of(rows):
    """{(label, input): [(count, ms)]} of both sides of every comparison; the fastest of repeated measurements."""
    series = collections.defaultdict(dict)
    for row in rows:
        for side in ("a", "b"):
            points = series[(row[side], row["input"])]
            count, ms = int(row["count"]), float(row[side + "_ms"])
            points[count] = min(ms, points.get(count, ms))
    return {key: sorted(points.items()) for key, points in series.items()}


def plot_figure(figure, rows, folder, pyplot):
    inputs = {row["input"] for row in rows}
    axes = pyplot.figure(figsize=(9, 6)).gca()
    for (label, source), points in sorted(series_of(rows).items()):
        name = label if len(inputs) == 1 else f"{label} ({source})"
        axes.plot([count for count, _ in points], [ms for _, ms in points], marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("elements")
    axes.set_ylabel("ms")
    axes.set_title(figure)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=7)
    path = os.path.join(folder, re.sub(r"[^A-Za-z0-9]+", "_", figure).strip("_").lower() + ".png")
    axes.figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(axes.figure)
    print(path)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot_papers.py: matplotlib is missing (Debian: python3-matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder = sys.argv[2] if len(sys.argv) == 3 else "."
    os.makedirs(folder, exist_ok=True)
    figures = collections.defaultdict(list)
    for row in read_rows(sys.argv[1]):
        figures[row["figure"]].append(row)
    for figure, rows in figures.items():
        plot_figure(figure, rows, folder, pyplot)


if __name__ == "__main__":
    main()
