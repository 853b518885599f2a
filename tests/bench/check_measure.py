#!/usr/bin/env python3
"""tests/bench/measure.sh and make_tables.py on a made repository with programs that only write rows: check_measure.py
SOURCE_FOLDER

Exit code 77: git or sh is not there.
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Writes one row of each kind with the commit it is given; «fails» beside it makes it fail.
PROGRAM = """#!/bin/sh
csv=/dev/null
while [ $# -gt 0 ]; do
    case $1 in --csv) csv=$2 ;; --commit) commit=$2 ;; cuda) cuda=1 ;; esac
    shift
done
[ -z "${cuda:-}" ] || [ -f "$(dirname "$0")/has_cuda" ] || exit 1
[ ! -f "$(dirname "$0")/fails" ] || exit 1
case $0 in
*bench_sort) echo "date,commit,method,op,form,keys,distribution,count,median_ms,scatter"
    echo "2026-01-02,$commit,radix,pairs,call,u32,uniform,1000000,2.5,0.1"
    echo "2026-01-02,$commit,radix,pairs,call,u32,sorted,1000000,0.5,0.1" ;;
*bench_collision) echo "date,commit,scene,boxes,method,worlds,median_ms,scatter"
    echo "2026-01-02,$commit,cube,1000000,rows,1,50,0.2" ;;
*) echo "date,commit,scene,bodies,frame_ms,scatter"
    echo "2026-01-02,$commit,spheres,10000,7,0.3" ;;
esac >"$csv"
"""


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=folder, check=True, capture_output=True)


def lines_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_take(source, folder):
    """A folder measured elsewhere fills README.md and the pages with one command, if all of it has one commit."""
    copy, out = folder / "copy", folder / "taken"
    for name in ("tests/bench", "docs/measured"):
        shutil.copytree(os.path.join(source, name), copy / name)
    shutil.copy(os.path.join(source, "README.md"), copy)
    out.mkdir()
    for name in ("sort.csv", "collision.csv", "sim.csv"):
        path = copy / "tests/bench/results/nvidia-h200" / name
        rows = lines_of(path)
        with open(out / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(dict(row, commit="abc1234", device="NVIDIA X1 80GB HBM3") for row in rows)

    figure = {"paper": "A & B 2007", "place": "Figure 1", "claim": "It is fast.", "here": "It is slow. ", "state": "measured"}
    machine = {"processor": "P", "gpu": "NVIDIA X1 80GB", "commit": "abc1234", "date": "2026-01-02T03"}
    (out / "papers.json").write_text(json.dumps({"figures": [figure, dict(figure, state="a drawing")], "machine": machine}))

    def run(*command):
        done = subprocess.run([*command], cwd=copy, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def take():
        return run("sh", "tests/bench/measure.sh", "--take", str(out), "new-machine")

    tables = ("python3", "tests/bench/make_tables.py")
    code, text = run(*tables, "--check")
    assert code == 0, text
    sort = (out / "sort.csv").read_text()
    (out / "sort.csv").write_text(sort.replace("abc1234", "def5678", 1))
    before = (copy / "README.md").read_bytes()
    code, text = take()
    assert code == 2 and "2 commits" in text and (copy / "README.md").read_bytes() == before, text
    assert not (copy / "tests/bench/results/new-machine").exists()
    (out / "sort.csv").write_text(sort)
    code, text = take()
    assert code == 0, text
    readme, page = (copy / "README.md").read_text(), (copy / "docs/measured/measured-pairs.md").read_text()
    assert "`new-machine/sort.csv`, `new-machine/collision.csv`, commit abc1234" in readme and "NVIDIA X1 |" in readme, readme
    assert "nvidia-h200" not in readme and "`new-machine/sim.csv`, commit abc1234" in readme, readme
    assert "<!-- table: pairs-gpu new-machine -->" in page and "nvidia-h200/meshes.csv" in page, page
    page = (copy / "docs/measured/measured-papers.md").read_text()
    assert "| figure | the paper | on an NVIDIA X1 |" in page and page.count("| A, Figure 1 | It is fast. | It is slow. |") == 1, page
    assert "abc1234,new-machine" in (copy / "tests/bench/results/history.csv").read_text()
    assert run(*tables, "--check")[0] == 0
    # A row of another commit, and a figure in prose.
    path = copy / "tests/bench/results/new-machine/collision.csv"
    text = path.read_text().split("\n")
    cube = next(i for i, line in enumerate(text) if ",cube,1000000," in line)
    path.write_text("\n".join([*text[:cube], text[cube].replace("abc1234", "def5678"), *text[cube + 1:]]))
    code, said = run(*tables, "--check")
    assert code == 1 and "2 commits: abc1234, def5678" in said, said
    path.write_text("\n".join(text))
    (copy / "README.md").write_text(readme + "\nA sort takes 3 ms.\n")
    code, said = run(*tables, "--check")
    assert code == 1 and "the figure «3 ms» stands in no CSV file" in said, said


def main(source):
    if shutil.which("git") is None or shutil.which("sh") is None:
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        repository, build = folder / "repository", folder / "build/tests/bench"
        results = repository / "tests/bench/results"
        (repository / "tests/bench").mkdir(parents=True)
        build.mkdir(parents=True)
        for script in ("measure.sh", "history.py"):
            shutil.copy(os.path.join(source, "tests/bench", script), repository / "tests/bench")
        for program in ("bench_sort", "bench_collision", "bench_sim"):
            (build / program).write_text(PROGRAM)
            (build / program).chmod(0o755)
        git(repository, "init", "-q")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", "all")

        def run(*arguments):
            done = subprocess.run(["sh", "tests/bench/measure.sh", "--build", str(folder / "build"), *arguments], cwd=repository,
                                  capture_output=True, text=True, env=dict(os.environ, PATH=path))
            return done.returncode, done.stdout + done.stderr

        (folder / "bin").mkdir()
        for tool in ("sh", "git", "cat", "date", "grep", "mv", "rm", "mkdir", "mktemp", "sed", "dirname", "env", "tr"):
            if shutil.which(tool):
                os.symlink(shutil.which(tool), folder / "bin" / tool)
        os.symlink(sys.executable, folder / "bin/python3")
        path = str(folder / "bin")

        code, text = run("some-machine")
        assert code == 0, text
        files = sorted(file.name for file in (results / "some-machine").iterdir())
        assert files == ["collision_cpu.csv", "sim_cpu.csv", "sort_cpu.csv"], files
        commits = {row["commit"] for file in files for row in lines_of(results / "some-machine" / file)}
        assert len(commits) == 1, commits
        history = lines_of(results / "history.csv")
        assert [(row["case"], row["ms"], row["scatter"]) for row in history] == [
            ("frame of 10K spheres, CPU", "7", "0.3"), ("pairs of 1M boxes, cube, CPU", "50", "0.2"),
            ("sort 1M pairs, CPU", "2.5", "0.1")], history
        assert {row["commit"] for row in history} == commits

        assert run("some-machine")[0] == 0 and lines_of(results / "history.csv") == history, "a second run adds lines"
        git(repository, "commit", "-q", "--allow-empty", "-m", "next")
        assert run("some-machine")[0] == 0 and len(lines_of(results / "history.csv")) == 6

        before = (results / "some-machine/sort_cpu.csv").read_bytes()
        git(repository, "commit", "-q", "--allow-empty", "-m", "third")
        (build / "fails").touch()
        code, text = run("some-machine")
        assert code == 2 and "bench_sort failed" in text, text
        assert (results / "some-machine/sort_cpu.csv").read_bytes() == before and len(lines_of(results / "history.csv")) == 6
        (build / "fails").unlink()

        # A part alone, of a tree without history, into a folder.
        (build / "has_cuda").touch()
        os.rename(repository / ".git", folder / "git")
        out = folder / "out"
        code, text = run("--parts", "cuda", "--commit", "abc1234", "--out", str(out), "some-machine")
        assert code == 0, text
        assert sorted(file.name for file in out.iterdir()) == ["collision.csv", "sim.csv", "sort.csv"], text
        # Five runs of one program have one head and a row each.
        assert [row["commit"] for row in lines_of(out / "collision.csv")] == 5 * ["abc1234"]
        assert len(lines_of(results / "history.csv")) == 6
        assert run("--parts", "cuda", "some-machine")[0] != 0, "no commit is known"
        os.rename(folder / "git", repository / ".git")
        (build / "has_cuda").unlink()
        assert run("--parts", "cuda", "some-machine")[0] == 2, "there is no GPU"

        (repository / "tests/bench/history.py").write_text("")
        code, text = run("some-machine")
        assert code == 2 and "commit them first" in text, text
        for arguments in ([], ["Bad Name"], ["a", "b"], ["--slow", "a"], ["--parts", "gpu", "a"], ["--commit", "no", "a"]):
            assert run(*arguments)[0] == 2, arguments
        check_take(source, folder)
    print("measure.sh and make_tables.py keep a folder and a table to one commit")
    return 0


sys.exit(main(sys.argv[1]))
