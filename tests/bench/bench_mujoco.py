#!/usr/bin/env python3
"""The simulation beside MuJoCo, the same scenes: bench_mujoco.py [--pyramid LAYERS] [SCENE...]

Each line says what is due, what each gives, and the processor time of a simulated second. pairsieve steps by 1/60 s with its
default substeps, on one thread; MuJoCo by its default 2 ms, Newton's method and elliptic friction cones, and in `spin` by RK4.
Its contacts yield in 5 ms, not in the default 20, with which the tower of 40 and the heavy one fall: --contact-time 0.02. MuJoCo has no restitution: contacts are springs whose damping is that of a free bounce of this restitution (solref < 0).
"""
import argparse
import math
import time

import mujoco
import numpy as np

import pairsieve

SECONDS = 1 / 60


class Ours:
    name = "pairsieve"

    def __init__(self, gravity=(0, -9.81, 0), restitution=0.0, **_):
        self.world = pairsieve.World(gravity=gravity, workers=1, max_bodies=1024)
        self.restitution, self.ids, self.shapes = restitution, [], {}

    def add(self, kind, size, position, *, static=False, friction=0.5, density=1000, velocity=(0, 0, 0), spin=(0, 0, 0),
            rotation=(0, 0, 0, 1)):
        key = kind, size, friction, density
        if key not in self.shapes:
            make = self.world.box if kind == "box" else self.world.sphere
            self.shapes[key] = make(size, friction=friction, density=density, restitution=self.restitution)
        made = self.world.add(self.shapes[key], [position], static=static, rotations=[rotation], velocities=[velocity],
                              angular_velocities=[spin])
        if not static:
            self.ids.append(made[0])

    def step(self, frames):
        self.world.step(SECONDS, count=frames)

    def state(self):
        """Positions, rotations as x, y, z, w, velocities, spins in the world, of the bodies that move."""
        states = self.world.states(np.array(self.ids))
        return [states["pose"]["position"].astype(float), states["pose"]["rotation"].astype(float),
                states["velocity"].astype(float), states["angular_velocity"].astype(float)]


class Mujoco:
    name = "MuJoCo"
    contact_time = 0.005  # seconds; MuJoCo advises two steps or more

    def __init__(self, gravity=(0, -9.81, 0), restitution=0.0, integrator=mujoco.mjtIntegrator.mjINT_EULER):
        self.spec, self.model, self.pending = mujoco.MjSpec(), None, []
        option = self.spec.option
        option.gravity, option.cone, option.integrator = gravity, mujoco.mjtCone.mjCONE_ELLIPTIC, integrator
        self.solref = (Mujoco.contact_time, 1)
        if restitution > 0:  # the damping with which a free spring gives back this share of a speed
            log = math.log(restitution)
            ratio = -log / math.hypot(log, math.pi)
            self.solref = (-1e5, -2 * ratio * math.sqrt(1e5))

    def add(self, kind, size, position, *, static=False, friction=0.5, density=1000, velocity=(0, 0, 0), spin=(0, 0, 0),
            rotation=(0, 0, 0, 1)):
        quat = (rotation[3], *rotation[:3])
        body = self.spec.worldbody.add_body(pos=position, quat=quat)
        geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX if kind == "box" else mujoco.mjtGeom.mjGEOM_SPHERE, density=density,
                             size=size if kind == "box" else (size, 0, 0), friction=(friction, 0.0, 0.0), condim=3)
        geom.solref = self.solref
        if not static:
            body.add_freejoint()
            self.pending.append((velocity, spin))

    def step(self, frames):
        if self.model is None:
            self.model = self.spec.compile()
            self.data = mujoco.MjData(self.model)
            for i, (velocity, spin) in enumerate(self.pending):  # spins of free joints are in the body's frame
                local = np.zeros(3)
                inverse = np.zeros(4)
                mujoco.mju_negQuat(inverse, self.data.qpos[7 * i + 3:7 * i + 7])
                mujoco.mju_rotVecQuat(local, np.array(spin, float), inverse)
                self.data.qvel[6 * i:6 * i + 6] = (*velocity, *local)
            self.time = 0.0
        self.time += frames * SECONDS
        while self.data.time < self.time - 1e-9:
            mujoco.mj_step(self.model, self.data)

    def state(self):
        count = len(self.pending)
        positions, speeds = self.data.qpos.reshape(count, 7), self.data.qvel.reshape(count, 6)
        spins = np.zeros((count, 3))
        for i in range(count):
            mujoco.mju_rotVecQuat(spins[i], speeds[i, 3:], positions[i, 3:])
        return [positions[:, :3].copy(), positions[:, [4, 5, 6, 3]].copy(), speeds[:, :3].copy(), spins]


def floor(engine, friction=0.5):
    engine.add("box", (50.0, 1.0, 50.0), (0, -1, 0), static=True, friction=friction)


def rest_of(engine, places, frames, last):
    """How far bodies end from their places, aside and down, and the fastest of the last frames."""
    fastest = 0.0
    engine.step(frames - last)
    for _ in range(last // 6):
        engine.step(6)
        fastest = max(fastest, np.linalg.norm(engine.state()[2], axis=1).max())
    off = engine.state()[0] - places
    return f"{np.hypot(off[:, 0], off[:, 2]).max():.4f} m aside, {-off[:, 1].min():.4f} down, {fastest:.5f} m/s"


def tower(engine, boxes, heavy=1, seconds=60):
    floor(engine, 0.6)
    places = [(0.005 * ((7 * i) % 5 - 2), 0.5 + i, 0.005 * ((3 * i) % 5 - 2)) for i in range(boxes)]
    for i, place in enumerate(places):
        engine.add("box", (0.5, 0.5, 0.5), place, friction=0.6, density=1000 * (heavy if i == boxes - 1 else 1))
    return rest_of(engine, np.array(places), 60 * seconds, 240), seconds


def pyramid(engine, layers, seconds=20):
    floor(engine, 0.6)
    places = [(1.02 * (i - 0.5 * (layers - 1 - layer)), 0.5 + layer, 0.001 * ((7 * i) % 5 - 2))
              for layer in range(layers) for i in range(layers - layer)]
    for place in places:
        engine.add("box", (0.5, 0.5, 0.5), place, friction=0.6)
    return rest_of(engine, np.array(places), 60 * seconds, 240), seconds


def spin(engine, half, rate, seconds=60):
    """A free body: changes of momentum and energy of rotation, the largest seen."""
    engine.add("box", half, (0, 0, 0), spin=rate)
    size = 2 * np.array(half)
    inertia = 1000 * size.prod() / 12 * np.array([size[1]**2 + size[2]**2, size[0]**2 + size[2]**2, size[0]**2 + size[1]**2])
    first, worst = None, np.zeros(2)
    for frame in range(0, 60 * seconds, 60):
        engine.step(1 if frame == 0 else 60)
        _, rotation, _, omega = engine.state()
        x, y, z, w = rotation[0]
        axes = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                         [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                         [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
        local = axes.T @ omega[0]
        momentum, energy = axes @ (inertia * local), 0.5 * (inertia * local**2).sum()
        if first is None:
            local = np.array(rate)  # at the beginning the body is not turned
            first = inertia * local, 0.5 * (inertia * local**2).sum()
        worst = np.maximum(worst, (np.linalg.norm(momentum - first[0]) / np.linalg.norm(first[0]), abs(energy / first[1] - 1)))
    return f"momentum off by {worst[0]:.1e}, energy by {worst[1]:.1e}", seconds


def bounce(engine, restitution):
    """Balls from 40 heights: rebound speed over what is due, by the energy at the top of the first bounce."""
    floor(engine, 0)
    heights = 0.3 + 0.1 * np.arange(40)
    for i, height in enumerate(heights):
        engine.add("sphere", 0.1, (i - 20.0, 0.1 + height, 0), friction=0)
    tops, phases = np.zeros(40), np.zeros(40, int)
    for _ in range(200):
        engine.step(1)
        position, _, velocity, _ = engine.state()
        rising = velocity[:, 1] > 0
        phases = np.where(rising & (phases == 0), 1, np.where(~rising & (phases == 1), 2, phases))
        tops = np.where(phases == 1, np.maximum(tops, position[:, 1] - 0.1 + velocity[:, 1]**2 / 19.62), tops)
    shares = np.sqrt(tops / heights) / restitution
    return f"{shares.min():.3f} to {shares.max():.3f} of the speed due", 200 * SECONDS


def gas(engine, frames=2000):
    """Elastic balls in a room of thick walls: kinetic energy at the end over that of the start."""
    for axis in range(3):
        for side in (-1, 1):
            size, place = [6.0, 6.0, 6.0], [0.0, 0.0, 0.0]
            size[axis], place[axis] = 1.5, 4.5 * side
            engine.add("box", tuple(size), tuple(place), static=True, friction=0)
    random = np.random.default_rng(7)
    speeds = random.uniform(-3, 3, (100, 3))
    for i in range(100):
        place = 0.8 * (i % 6) - 2, 0.8 * (i // 6 % 6) - 2, 0.8 * (i // 36) - 2
        engine.add("sphere", 0.25, place, friction=0, velocity=tuple(speeds[i]))
    engine.step(frames)
    return f"{(engine.state()[2]**2).sum() / (speeds**2).sum():.4f} of the energy after {frames} frames", frames * SECONDS


def cradle(engine):
    """Five balls that touch; the first comes in with 3 m/s."""
    for i in range(5):
        engine.add("sphere", 0.5, (i - (1.0 if i == 0 else 0.0), 0, 0), friction=0, velocity=(3.0 if i == 0 else 0.0, 0, 0))
    engine.step(90)
    return "speeds " + " ".join(f"{v:.3f}" for v in engine.state()[2][:, 0]), 90 * SECONDS


def friction(engine, degrees, coefficient, seconds=4):
    """A flat box on a slope, made by turning gravity: its way in 4 s."""
    floor(engine, coefficient)
    engine.add("box", (0.5, 0.1, 0.5), (-30.0, 0.1, 0), friction=coefficient)
    engine.step(60 * seconds)
    return f"slides {engine.state()[0][0, 0] + 30:.5f} m", seconds


def slope(degrees):
    return dict(gravity=(9.81 * math.sin(math.radians(degrees)), -9.81 * math.cos(math.radians(degrees)), 0))


def scenes(layers):
    free, held, slides = dict(gravity=(0, 0, 0)), slope(20), slope(35)
    way = 0.5 * 9.81 * (math.sin(math.radians(35)) - 0.5 * math.cos(math.radians(35))) * 16
    rk4 = dict(free, integrator=mujoco.mjtIntegrator.mjINT_RK4)
    return [("tower", f"tower of {n}, 60 s", "stands", {}, lambda e, n=n: tower(e, n)) for n in (10, 20, 40)] + [
        ("heavy", "10 with 100 times the mass on top", "stands", {}, lambda e: tower(e, 10, 100)),
        ("pyramid", f"pyramid of {layers} layers, 20 s", "stands", {}, lambda e: pyramid(e, layers)),
        ("spin", "free rod, 60 s", "nothing changes", rk4, lambda e: spin(e, (1.0, 0.1, 0.1), (3.0, 5.0, 4.0))),
        ("spin", "free box about its middle axis, 60 s", "nothing changes", rk4, lambda e: spin(e, (0.5, 0.3, 0.1), (0.01, 5.0, 0.0))),
    ] + [("bounce", f"40 balls bounce, e = {r}", "1", dict(restitution=r), lambda e, r=r: bounce(e, r)) for r in (0.5, 0.8, 1.0)] + [
        ("gas", "100 elastic balls", "1", dict(free, restitution=1.0), gas),
        ("cradle", "cradle of five", "0 0 0 0 3", dict(free, restitution=1.0), cradle),
        ("friction", "slope of 20 degrees, friction 0.5", "0 m", held, lambda e: friction(e, 20, 0.5)),
        ("friction", "slope of 35 degrees, friction 0.5", f"{way:.5f} m", slides, lambda e: friction(e, 35, 0.5)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="tower heavy pyramid spin bounce gas cradle friction; all without any")
    parser.add_argument("--pyramid", type=int, default=10, metavar="LAYERS", help="of the pyramid; 20 take MuJoCo long")
    parser.add_argument("--contact-time", type=float, default=Mujoco.contact_time, metavar="S", help="solref of MuJoCo's contacts")
    options = parser.parse_args()
    Mujoco.contact_time = options.contact_time
    every = scenes(options.pyramid)
    unknown = set(options.scenes) - {scene[0] for scene in every}
    if unknown:
        parser.error(f"no scene {', '.join(sorted(unknown))}")
    print(f"MuJoCo {mujoco.__version__}; processor ms of a simulated second in brackets")
    for name, title, due, settings, run in every:
        if options.scenes and name not in options.scenes:
            continue
        print(f"{title}; due: {due}")
        for engine in (Ours, Mujoco):
            begin = time.process_time()
            told, seconds = run(engine(**settings))
            print(f"    {engine.name:9} {told} [{1e3 * (time.process_time() - begin) / seconds:.2f}]", flush=True)


if __name__ == "__main__":
    main()
