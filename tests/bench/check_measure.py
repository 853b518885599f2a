#!/usr/bin/env python3
"""tests/bench/measure.sh on a made repository with programs that only write rows: check_measure.py SOURCE_FOLDER

Exit code 77: git or sh is not there.
"""
import csv
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
    case $1 in --csv) csv=$2 ;; --commit) commit=$2 ;; esac
    shift
done
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


def main(source):
    if shutil.which("git") is None or shutil.which("sh") is None:
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        repository, build, results = folder / "repository", folder / "build/tests/bench", folder / "results"
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
                                  capture_output=True, text=True, env=dict(os.environ, PAIRSIEVE_RESULTS=str(results), PATH=path))
            return done.returncode, done.stdout + done.stderr

        # Without nvidia-smi the GPU's files are not measured.
        (folder / "bin").mkdir()
        for tool in ("sh", "git", "cat", "grep", "mv", "rm", "mkdir", "mktemp", "sed", "dirname", "env"):
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

        (repository / "tests/bench/history.py").write_text("")
        code, text = run("some-machine")
        assert code == 2 and "commit them first" in text, text
        for arguments in ([], ["Bad Name"], ["a", "b"], ["--slow", "a"]):
            assert run(*arguments)[0] == 2, arguments
    print("measure.sh keeps a folder to one commit")
    return 0


sys.exit(main(sys.argv[1]))
