"""The page of `pairsieve run --web` in a headless browser: it shows the scene's frame as the viewer does, asks for nothing
from elsewhere, and says what is wrong with a damaged replay.

usage: check_web_page.py PROGRAM FOLDER REFERENCES [--keep]     exit code 77: no browser here
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from png_blocks import compare, read_png

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCENES = (("castle", 300, 150), ("dice", 200, 100))
# Of 255, against the viewer's picture, which has ambient occlusion besides. Another frame of the scene differs by more.
MOST_MEAN, MOST_BLOCK = 6.0, 90.0


def browse(browser, url, *options):
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
                   "--hide-scrollbars", "--window-size=480,270", "--virtual-time-budget=4000", f"--user-data-dir={profile}", *options, url]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout


def page_of(folder):
    return "file://" + os.path.abspath(os.path.join(folder, "index.html"))


def attribute(dom, name):
    found = re.search(rf'data-{name}="([^"]*)"', dom)
    return found.group(1) if found else None


def check_scene(browser, program, folder, references, scene, bodies, frame):
    subprocess.run([program, "run", scene, "--backend", "cpu", "--bodies", str(bodies), "--frames", str(frame + 20), "--web", folder],
                   check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        text = file.read()
    assert not re.search(r"https?://|<link|\bsrc=|@import|fetch\(|XMLHttpRequest|\bimport\b", text), "the page asks for something"
    dom = browse(browser, page_of(folder) + f"#frame={frame}&paused", "--dump-dom")
    assert attribute(dom, "failure") is None, attribute(dom, "failure")
    assert attribute(dom, "frame") == str(frame), dom[:2000]
    drawn = int(attribute(dom, "drawn"))
    assert bodies <= drawn <= bodies + 10, f"{drawn} of {bodies} bodies are drawn"
    assert re.search(r'id="sort"[^>]*>sort [\d.]+ ms, [\d.]+%; [\d.]+% of the whole run', dom), "the sort's share is missing"
    differences = []
    for number in (frame, 0) if scene == "dice" else (frame,):
        picture = os.path.join(folder, f"{scene}_{number}.png")
        browse(browser, page_of(folder) + f"#frame={number}&paused&bare", f"--screenshot={picture}")
        differences.append(compare(read_png(picture), read_png(os.path.join(references, f"{scene}_{frame}.png"))))
    print(f"{scene}: mean and largest block of the frame, and of frame 0: {differences}")
    assert differences[0][0] <= MOST_MEAN and differences[0][1] <= MOST_BLOCK, "the picture is not that of the viewer"
    assert differences[-1] is differences[0] or differences[-1][0] > 2 * MOST_MEAN, "frame 0 could not be told from it"


def check_damaged(browser, folder):
    path = os.path.join(folder, "index.html")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    at = text.rindex("</script>") - 1000  # in the tables
    letter = "B" if text[at] == "A" else "A"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:at] + letter + text[at + 1:])
    failure = attribute(browse(browser, page_of(folder) + "#frame=150&paused", "--dump-dom"), "failure")
    assert failure is not None and "damaged" in failure, failure


def main():
    program, folder, references = sys.argv[1:4]
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("skipped: none of " + ", ".join(BROWSERS) + " is installed")
        return 77
    for scene, bodies, frame in SCENES:
        check_scene(browser, program, os.path.join(folder, scene), references, scene, bodies, frame)
    check_damaged(browser, os.path.join(folder, SCENES[0][0]))
    return 0


sys.exit(main())
