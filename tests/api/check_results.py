#!/usr/bin/env python3
"""Results of every command fit sim/tool/results.schema.json, and the page of a report holds the numbers of its JSON.

usage: check_results.py PROGRAM SCHEMA     exit code 77: the module jsonschema is not there
"""
import csv
import html.parser
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import urllib.parse

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: the Python module jsonschema is not installed")
    sys.exit(77)

MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n"
COMMANDS = [
    "run drop --bodies 300 --frames 12 --backend cpu --json",
    "sort --count 3K --repeat 5 --backend cpu --json",
    "sort --file records.bin --out sorted.bin --memory 1 --backend cpu --json",
    "sort --file records.bin --out sorted.bin --memory 1 --restart --backend cpu --json",
    "pairs mesh.obj --backend cpu --json",
    "trace mesh.obj --size 32x32 --frames 1 --out picture.png --backend cpu --json",
    "trace mesh.obj --size 32x32 --frames 1 --shading phong --out picture.png --backend cpu --json",
]
# Of the benchmark programs, which lie beside the program where they are built.
BENCHMARKS = [
    "bench sort --backend cpu --count 1K --distribution uniform --method merge --budget 0.01 --json",
    "bench collision --backend cpu --scenes cube --counts 500 --methods brute --budget 0.01 --json",
    "bench sim --backend cpu --frames 2 --json drop 20",
]
REPORT = "report --scenes stack,drop --counts 300,900 --seconds 1 --backend cpu --out page.html --json-out {}"


PAPERS = "bench papers --quick --only {} --workers 2 --out papers.html --json-out {}"


class Page(html.parser.HTMLParser):
    """Links with data in them, figures with their points, and everything that would ask the network."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.figures, self.foreign, self.open = {}, 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a" and "download" in attributes:
            kind, _, data = attributes["href"].partition(",")
            assert kind == "data:text/csv;charset=utf-8", kind
            rows = csv.DictReader(io.StringIO(urllib.parse.unquote(data)))
            self.tables[attributes["download"].removesuffix(".csv")] = list(rows)
        self.figures += tag == "svg"
        for name in ("src", "href"):
            if attributes.get(name, "data:")[0] != "#" and attributes.get(name, "data:").split(":")[0] not in ("data",):
                self.foreign.append(attributes[name])
        if tag not in ("meta", "path", "circle", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("path", "circle"):
            assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def same(text, value):
    return text == value if isinstance(value, str) else abs(float(text) - value) <= 1e-5 * abs(value)


def check_page(path, report, figures):
    page = Page(path.read_text())
    assert not page.foreign, page.foreign
    assert not page.open, page.open
    assert page.figures >= figures, page.figures
    for name, rows in page.tables.items():
        wanted = report["tables"][name]["rows"]
        assert len(rows) == len(wanted) >= (figures > 1), name
        for row, want in zip(rows, wanted):
            for column, text in row.items():
                assert same(text, want[column]), (name, column, text, want[column])
    assert set(page.tables) == set(report["tables"])


def check_papers(folder, run, validator):
    """Two figures of the papers, and one that is a drawing. Builds without benchmarks have no such program."""
    if "is not beside this one" in run("bench papers --help", None):
        return
    for number, only in enumerate(("ha-1", "garcia-table-1", "garcia-4")):
        file = f"papers{number}.json"
        run(PAPERS.format(only, file))
        report = json.loads((folder / file).read_text())
        validator.validate(report)
        check_page(folder / "papers.html", report, int(only != "garcia-4"))
        (figure,) = report["figures"]
        assert figure["id"] == only and figure["state"] == ("a drawing" if only == "garcia-4" else "measured"), figure
        assert figure["here"] or figure["absent"], figure
    printed = [row for row in json.loads((folder / "papers1.json").read_text())["tables"]["garcia-table-1"]["rows"]
               if row["source"] == "paper"]
    assert sorted(row["y"] for row in printed) == [13, 43, 83, 142, 2091, 5161], printed
    run(PAPERS.format("garcia-table-1", "both.json") + " --beside papers1.json")
    rows = json.loads((folder / "both.json").read_text())["tables"]["garcia-table-1"]["rows"]
    assert {row["source"] for row in rows} == {"paper", "here", "beside"}
    run("bench papers --only nothing", 2)
    for bad in ("cuda2", "cpu,", "cpugl"):
        run(f"bench papers --devices {bad}", 2)
    run(PAPERS.format("ha-3", "one.json") + " --devices cpu")
    rows = json.loads((folder / "one.json").read_text())["tables"]["ha-3"]["rows"]
    assert {row["device"] for row in rows} == {"cpu"}, rows
    # The lists of a finer histogram are more even; both walks and the library's tree find the same hits, or it fails.
    run(PAPERS.format("sa-histogram", "lists.json") + " --devices cpu")
    fullest = {(row["series"], row["x"]): row["y"]
               for row in json.loads((folder / "lists.json").read_text())["tables"]["sa-histogram"]["rows"]}
    assert all(value >= 1 for value in fullest.values()), fullest
    assert fullest["spikes", 65536] < 0.5 * fullest["spikes", 1024] and fullest["uniform", 65536] < 1.1, fullest
    run(PAPERS.format("garcia-walk", "walks.json") + " --devices cpu")
    walks = json.loads((folder / "walks.json").read_text())["tables"]["garcia-walk"]["rows"]
    assert len({row["series"] for row in walks}) == 3 and all(row["y"] > 0 for row in walks), walks
    run(PAPERS.format("garcia-stages", "stages.json"))
    stages = json.loads((folder / "stages.json").read_text())["tables"]["garcia-stages"]["rows"]
    assert len(stages) % 3 == 0 and all(row["y"] > 0 for row in stages), stages  # none where there is no OpenGL
    run("bench papers --mesh", 2)
    run("bench papers mesh.obj", 2)
    run("bench papers --json", 2)
    run("bench papers --beside a.json", 2)


# A «library» in plain Python: its own results, one that is wrong, and one that failed.
PEER = """#!{python}
import array, json, sys
folder = sys.argv[2]
keys, boxes = array.array("I"), array.array("f")
keys.frombytes(open(folder + "/keys.bin", "rb").read())
boxes.frombytes(open(folder + "/boxes.bin", "rb").read())
order = sorted(range(len(keys)), key=keys.__getitem__)
cells, pairs = {{}}, 0
centres = [tuple(round(1024 * (boxes[i + k] + 0.5)) for k in range(3)) for i in range(0, len(boxes), 6)]
for c in centres:
    for x in (-1, 0, 1):
        for y in (-1, 0, 1):
            for z in (-1, 0, 1):
                near = cells.get((c[0] // 1024 + x, c[1] // 1024 + y, c[2] // 1024 + z), ())
                pairs += sum(abs(c[0] - o[0]) <= 1024 and abs(c[1] - o[1]) <= 1024 and abs(c[2] - o[2]) <= 1024 for o in near)
    cells.setdefault((c[0] // 1024, c[1] // 1024, c[2] // 1024), []).append(c)
def row(work, peer, result, note=""):
    return dict(work=work, peer=peer, version="1", device="cpu", count=len(keys), times=[3, 1, 2], result=str(result % 2**64), note=note)
rows = [row("sort", "right", sum(i * keys[k] for i, k in enumerate(order))), row("pairs", "right", pairs),
        row("argsort, stable", "right", sum((i + 1) * k for i, k in enumerate(order))),
        row("pairs", "wrong", pairs + 1), row("pairs", "failed", 0, "MemoryError: no room")]
json.dump(rows, open(folder + "/rows.json", "w"))
"""


def check_peers(folder, run, validator):
    """The table of other libraries: results that agree with a plain Python's, and verdicts on those that do not."""
    for name, text in (("peer", PEER.format(python=sys.executable)), ("broken", "#!/bin/sh\necho no such module\nexit 3\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    command = "report --quick --peers --python {} --seconds 1 --scenes stack --counts 300 --backend cpu --out peers.html --json-out peers.json"
    run(command.format("./peer"))
    report = json.loads((folder / "peers.json").read_text())
    validator.validate(report)
    check_page(folder / "peers.html", report, 1)
    rows = report["tables"]["peers"]["rows"]
    verdicts = [(row["peer"], row["result"]) for row in rows]
    assert verdicts[:3] == 3 * [("pairsieve", "the measure")], verdicts
    assert verdicts[3:] == 3 * [("right", "same")] + [("wrong", "another result"), ("failed", "MemoryError: no room")], verdicts
    assert all(row["peer_ms"] == 2 for row in rows[3:]), rows
    assert "no such module" in run(command.format("./broken"), None)
    assert "there is no program" in run(command.format("nowhere"), None)


def main():
    program, schema = str(pathlib.Path(sys.argv[1]).resolve()), json.loads(pathlib.Path(sys.argv[2]).read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "mesh.obj").write_text(MESH)
        records = [(i * 2654435761 % 2**32, i) for i in range(200_000)]
        (folder / "records.bin").write_bytes(b"".join(struct.pack("=II", *record) for record in records))

        def run(arguments, code=0):
            done = subprocess.run([program, *arguments.split()], cwd=folder, capture_output=True, text=True)
            assert code in (None, done.returncode), (arguments, done.returncode, done.stderr)
            return done.stdout if code is not None else done.stdout + done.stderr

        built = "is not beside this one" not in run("bench sort --help", None)
        for arguments in COMMANDS + (BENCHMARKS if built else []):
            result = json.loads(run(arguments))
            validator.validate(result)
            result["machine"].pop("commit")
            assert not validator.is_valid(result), "a result without a commit is accepted"
        sorted_records = list(struct.iter_unpack("=II", (folder / "sorted.bin").read_bytes()))
        assert sorted_records == sorted(records), "the file is not sorted"
        run("sort --file records.bin", 2)
        run("sort --file records.bin --out records.bin")  # in its place
        assert (folder / "records.bin").read_bytes() == (folder / "sorted.bin").read_bytes()
        (folder / "odd.bin").write_bytes(b"nine byte")
        run("sort --file odd.bin --out sorted.bin", 2)
        run("sort --file records.bin --out sorted.bin --value-bytes 3", 2)
        run("sort --file records.bin --out sorted.bin --count 5", 2)
        run("sort --out sorted.bin", 2)
        run("sort --count 9 --restart", 2)
        run("trace mesh.obj --shading flat --out picture.png", 2)
        for file in ("a.json", "b.json"):
            run(REPORT.format(file))
            report = json.loads((folder / file).read_text())
            validator.validate(report)
            check_page(folder / "page.html", report, 10)
        assert "no difference" in run("report --compare a.json a.json")
        for row in report["tables"]["runs"]["rows"]:
            for column in row:
                if column.endswith(("_ms", "_q1", "_q3")):
                    row[column] *= 2
        (folder / "slow.json").write_text(json.dumps(report))
        slower = [line for line in run("report --compare b.json slow.json").splitlines() if line.startswith("runs")]
        assert len(slower) == 1 and "mean ratio 2.000" in slower[0] and slower[0].endswith(": slower"), slower
        (folder / "other.json").write_text('{"schema": "pairsieve.run/1"}')
        run("report --compare a.json other.json", 2)
        run("report --compare a.json", 2)
        run("report --scenes nowhere", 2)
        run("report --counts 10", 2)
        check_papers(folder, run, validator)
        if os.name == "posix":
            check_peers(folder, run, validator)
    print("every result fits its schema")


main()
