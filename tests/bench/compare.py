#!/usr/bin/env python3
"""Compares two result files of a benchmark: what became slower or faster, and what the answers are.

usage: compare.py OLD.csv NEW.csv [--column NAME] [--threshold PERCENT] [--all]

Rows are matched by every column that names the case (text and counts), not by those that were measured. Prints the ratio
old / new of the time column (above 1: faster now), sorted, and the geometric mean. Exit code: 0 when nothing became slower
than the threshold, 1 when something did, 2 for input that is not accepted.
"""
import argparse
import csv
import math
import sys

TIME_COLUMNS = ("median_ms", "ms", "frame_ms", "graph_ms", "min_ms")
# Who measured and when: no part of the case.
ORIGIN = ("date", "commit", "driver", "device", "cuda", "version", "compiler")
# Results that must be the same in both files, where a file has them.
ANSWERS = ("pairs", "sorted", "stable", "contacts")
CASE = ("bench", "backend", "scene", "boxes", "bodies", "count", "keys", "value_bytes", "distribution", "method", "sort",
        "broad_phase", "op", "form", "workers", "worlds", "claim", "variant", "case", "name", "frames", "seed", "after",
        "values")


def fail(sentence):
    print(f"compare.py: {sentence}", file=sys.stderr)
    sys.exit(2)


def read(path):
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    if not rows:
        fail(f"{path}: no rows")
    return rows


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


# Results from before «cells» had a name called them by that of the sorter whose place they take.
def value_of(row, key):
    value = row.get(key, "")
    return "radix" if key == "sort" and value == "cells" else value


def cases(rows, path, keys):
    found = {}
    for row in rows:
        case = tuple(value_of(row, key) for key in keys)
        if case in found:
            fail(f"{path}: two rows for {describe(keys, case)}; the columns {', '.join(keys)} do not tell them apart")
        found[case] = row
    return found


def describe(keys, case):
    return " ".join(value for key, value in zip(keys, case) if value)


def main():
    parser = argparse.ArgumentParser(description="Compares two result files of a benchmark.")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--column", help="time column; default: the first there is of " + ", ".join(TIME_COLUMNS))
    parser.add_argument("--threshold", type=float, default=5.0, help="percent that count as a change, default 5")
    parser.add_argument("--all", action="store_true", help="print unchanged cases too")
    options = parser.parse_args()

    old_rows, new_rows = read(options.old), read(options.new)
    common = [column for column in old_rows[0] if column in new_rows[0]]
    column = options.column or next((name for name in TIME_COLUMNS if name in common), None)
    if column is None or column not in common:
        fail(f"no time column {column or ' or '.join(TIME_COLUMNS)} in both files; columns: {', '.join(common)}")
    keys = [name for name in common if name in CASE and name not in ORIGIN]
    if not keys:
        fail(f"no column that names the case; columns: {', '.join(common)}")
    old, new = cases(old_rows, options.old, keys), cases(new_rows, options.new, keys)

    lines, wrong, logs = [], 0, []
    for case in old.keys() & new.keys():
        before, after = number(old[case][column]), number(new[case][column])
        for answer in ANSWERS:
            if answer in common and old[case][answer] != new[case][answer]:
                print(f"{describe(keys, case)}: {answer} was {old[case][answer]}, is {new[case][answer]}")
                wrong += 1
        if before is None or after is None or before <= 0 or after <= 0:
            continue
        lines.append((before / after, before, after, describe(keys, case)))
        logs.append(math.log(before / after))
    if not lines:
        fail("the files have no case in common that has a time")

    limit = 1 + options.threshold / 100
    slower = sum(1 for ratio, *_ in lines if ratio < 1 / limit)
    faster = sum(1 for ratio, *_ in lines if ratio > limit)
    print(f"{'old/new':>8} {'old ms':>12} {'new ms':>12}  case ({', '.join(keys)})")
    for ratio, before, after, name in sorted(lines):
        if options.all or ratio < 1 / limit or ratio > limit:
            print(f"{ratio:8.3f} {before:12.5f} {after:12.5f}  {name}")
    print(f"{len(lines)} cases by {column}: {slower} slower, {faster} faster by more than {options.threshold:g}%, "
          f"geometric mean {math.exp(sum(logs) / len(logs)):.3f}; {len(old.keys() - new.keys())} only in the old file, "
          f"{len(new.keys() - old.keys())} only in the new one")
    if wrong:
        print(f"{wrong} answers differ: times of different answers are not comparable")
    return 1 if slower or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
