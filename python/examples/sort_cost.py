"""What sorting costs in each frame of a scene, as a picture: sort_cost.py [--scene drop] [--bodies 20000] [--device cpu] [--out FILE.png]

Needs matplotlib.
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import pairsieve

PHASES = ["bounds", "keys", "sort", "gather", "sweep", "narrow", "solve", "integrate"]


def measure(scene: str, bodies: int, device: str, frames: int) -> NDArray[np.float64]:
    world = pairsieve.World.scene(scene, bodies=bodies, device=device)
    world.enable_profile()
    times = np.zeros((frames, len(PHASES)))
    for frame in range(frames):
        world.step()
        profile = world.profile()
        times[frame] = [profile.get(phase, 0.0) for phase in PHASES]
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", default="drop")
    parser.add_argument("--bodies", type=int, default=20_000)
    parser.add_argument("--device", default="cuda" if pairsieve.cuda_available() else "cpu")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--out", default="sort_cost.png")
    options = parser.parse_args()
    times = measure(options.scene, options.bodies, options.device, options.frames)
    figure, axes = plt.subplots(figsize=(9, 4.5))
    colours = ["#8da0cb", "#66c2a5", "#fc8d62", "#e5c494", "#a6d854", "#bbbbbb", "#888888", "#555555"]
    axes.stackplot(np.arange(len(times)), times.T, labels=PHASES, colors=colours)
    share = times[:, PHASES.index("sort")].sum() / max(times.sum(), 1e-12)
    axes.set(title=f"{options.scene}, {options.bodies:,} bodies, {options.device}: sorting is {100 * share:.1f}% of the time",
             xlabel="frame", ylabel="ms", xlim=(0, len(times) - 1))
    axes.legend(loc="upper left", ncols=4, fontsize=8)
    figure.tight_layout()
    figure.savefig(options.out, dpi=110)
    print(options.out)


if __name__ == "__main__":
    main()
