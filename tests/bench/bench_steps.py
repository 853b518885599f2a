#!/usr/bin/env python3
"""Steps of mujoco_warp and newton with their own broad phases and with pairsieve's: bench_steps.py [--seconds S] [--csv FILE]

mujoco_warp's steps are timed by its own benchmark program: the loop of mjwarp-testspeed (`unroll`), which captures the first step and
launches it again and again. Of newton a collision pipeline's collide() and a step of its solver XPBD are captured and timed the same way.
A world has 20 boxes and balls in five layers that fall on a plane, and scenery that stands: 30 to 500 shapes together. A line gives the median of a
step in ms, the fastest of the peer's own broad phases, and how many times longer it takes. Contacts after the last step are counted:
the counts have to agree within five per cent, for orders of contacts and with them roundings differ. A case that fails is named, the
others go on, and the program ends with 1. Cases that --seconds leaves no time for are named too. Kernels are compiled when they are
first used, which takes minutes without a cache: --warm does that and measures nothing.
"""
import argparse
import csv
import itertools
import pathlib
import statistics
import sys
import time

import numpy as np
import warp as wp

MOVING = 20


def places(shapes, seed):
    """Kind, size and place of each shape; the first MOVING of them move. Scenery stands apart, in rings about the heap."""
    random = np.random.default_rng(seed)
    for i in range(shapes - 1):
        if i < MOVING:
            place = (0.33 * (i % 2), 0.33 * (i // 2 % 2), 0.16 + 0.31 * (i // 4))
        else:
            angle, ring = 2.4 * i, 1.6 + 0.11 * (i - MOVING) ** 0.75
            place = (ring * np.cos(angle), ring * np.sin(angle), 0.1)
        yield ("box" if i % 2 else "sphere"), 0.1 + 0.05 * random.random(), place


def step_times(launch, steps, device):
    """Median ms of launches that are waited for one by one, as mjwarp-testspeed does."""
    spent = []
    for _ in range(steps):
        begin = time.perf_counter()
        launch()
        wp.synchronize_device(device)
        spent.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(spent)


class MujocoWarp:
    name = "mujoco_warp"
    own = ("nxn", "sap")

    def __init__(self, device):
        import mujoco
        import mujoco_warp
        import pairsieve.mujoco_warp as adapter
        from mujoco_warp._src import cli, collision_driver

        self.mujoco, self.mjw, self.cli, self.driver = mujoco, mujoco_warp, cli, collision_driver
        self.adapter, self.device = adapter, device
        self.phases = collision_driver.nxn_broadphase, collision_driver.sap_broadphase
        adapter.install()

    def scene(self, shapes):
        bodies = []
        for i, (kind, size, place) in enumerate(places(shapes, 1)):
            size = f"{size:.3f} {size:.3f} {size:.3f}" if kind == "box" else f"{size:.3f}"
            where = " ".join(f"{x:.3f}" for x in place)
            geom = f'<geom type="{kind}" size="{size}"'
            bodies.append(f'<body pos="{where}"><freejoint/>{geom}/></body>' if i < MOVING else f'{geom} pos="{where}"/>')
        return self.mujoco.MjModel.from_xml_string(
            f'<mujoco><worldbody><geom type="plane" size="9 9 .1"/>{"".join(bodies)}</worldbody></mujoco>')

    def measure(self, shapes, worlds, phase, steps):
        """(ms, contacts) with a broad phase of its own or ours."""
        mjw, driver = self.mjw, self.driver
        if phase == "pairsieve":
            self.adapter.install()
        else:
            driver.nxn_broadphase, driver.sap_broadphase = self.phases
        with wp.ScopedDevice(self.device):
            model = self.scene(shapes)
            m = mjw.put_model(model)
            m.opt.broadphase = mjw.BroadphaseType.SAP_TILE if phase == "sap" else mjw.BroadphaseType.NXN
            m.opt.warn_overflow = 0
            d = mjw.make_data(model, nworld=worlds, nconmax=10 * MOVING, njmax=40 * MOVING)
            if self.device.is_cuda:
                spent = []
                self.unroll(m, d, steps, lambda step, trace, seconds: spent.append(1e3 * seconds))
                ms = statistics.median(spent)
            else:
                ms = step_times(lambda: mjw.step(m, d), steps, self.device)
            if d.overflow.numpy().any():
                raise RuntimeError(f"overflow {set(d.overflow.numpy().tolist())}")
            return ms, int(d.nacon.numpy()[0])

    def unroll(self, m, d, steps, after):
        flags = sys.modules["absl.flags"].FLAGS
        flags(["bench_steps", f"--nstep={steps}", f"--nworld={d.nworld}", f"--device={self.device.alias}"])
        self.cli.unroll(self.mjw.step, m, d, None, after)


class Newton:
    name = "newton"
    own = ("nxn", "sap")

    def __init__(self, device):
        import newton
        import pairsieve.newton as adapter
        from newton._src.sim import collide

        self.newton, self.adapter, self.collide, self.device = newton, adapter, collide, device
        self.sap = collide.BroadPhaseSAP

    def scene(self, shapes, worlds):
        newton = self.newton
        one = newton.ModelBuilder()
        for i, (kind, size, place) in enumerate(places(shapes, 1)):
            where = wp.transform(wp.vec3(*place), wp.quat_identity())
            body = one.add_body(xform=where) if i < MOVING else -1
            local = wp.transform_identity() if i < MOVING else where
            if kind == "box":
                one.add_shape_box(body, xform=local, hx=size, hy=size, hz=size)
            else:
                one.add_shape_sphere(body, xform=local, radius=size)
        every = newton.ModelBuilder()
        every.replicate(one, worlds)
        every.add_ground_plane()
        return every.finalize(device=self.device)

    def measure(self, shapes, worlds, phase, steps):
        self.collide.BroadPhaseSAP = self.adapter.PairsieveBroadPhase if phase == "pairsieve" else self.sap
        newton = self.newton
        with wp.ScopedDevice(self.device):
            model = self.scene(shapes, worlds)
            pipeline = newton.CollisionPipeline(model, broad_phase="nxn" if phase == "nxn" else "sap",
                                                rigid_contact_max=20 * MOVING * worlds)
            solver = newton.solvers.SolverXPBD(model, iterations=2)
            states, control, contacts = [model.state(), model.state()], model.control(), pipeline.contacts()

            def two_steps():
                for before, after in (states, reversed(states)):
                    before.clear_forces()
                    pipeline.collide(before, contacts)
                    solver.step(before, after, control, contacts, 1 / 240)

            launch = two_steps
            if self.device.is_cuda:
                with wp.ScopedCapture() as capture:
                    two_steps()

                def launch():
                    wp.capture_launch(capture.graph)

            ms = step_times(launch, max(1, steps // 2), self.device) / 2
            return ms, int(contacts.rigid_contact_count.numpy()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--worlds", type=int, nargs="*", default=[4096, 32, 1024, 256])
    parser.add_argument("--shapes", type=int, nargs="*", default=[30, 500, 250, 100])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=180, help="no case begins later")
    parser.add_argument("--peers", nargs="*", default=["mujoco_warp", "newton"])
    parser.add_argument("--warm", action="store_true", help="compile the kernels, by 2 steps of 32 worlds")
    parser.add_argument("--csv")
    options = parser.parse_args()
    begin, rows, left_out, failed = time.perf_counter(), [], [], []
    wp.config.quiet = True
    device = wp.get_device(options.device)
    print(f"{device.name}, Warp {wp.__version__}", flush=True)
    peers = [kind(device) for kind in (MujocoWarp, Newton) if kind.name in options.peers]
    worlds, steps = ([32], 2) if options.warm else (options.worlds, options.steps)
    for peer, (count, shapes) in itertools.product(peers, itertools.product(worlds, options.shapes)):
        case = f"{peer.name} {count} x {shapes}"
        if time.perf_counter() - begin > options.seconds:
            left_out.append(case)
            continue
        found = {}
        for phase in (*peer.own, "pairsieve"):
            try:
                found[phase] = peer.measure(shapes, count, phase, steps)
            except Exception as error:  # of a peer or of ours: the others are still measured
                failed.append(f"{case} by {phase}")
                print(f"{failed[-1]}: {type(error).__name__}: {error}", flush=True)
        if "pairsieve" not in found or len(found) == 1:
            continue
        best = min(set(found) - {"pairsieve"}, key=lambda phase: found[phase][0])
        ours, contacts = found["pairsieve"]
        rows += [[peer.name, count, shapes, phase, f"{ms:.4f}", f"{ms / ours:.3f}", number] for phase, (ms, number) in found.items()]
        if any(abs(number - contacts) > 0.05 * max(contacts, 100) for _, number in found.values()):
            failed.append(case)
            print(f"{case}: contacts differ: {({phase: number for phase, (_, number) in found.items()})}")
        print(f"{peer.name:11} {count:5} worlds of {shapes:3}: pairsieve {ours:8.3f} ms, {best} {found[best][0]:8.3f} ms, "
              f"{found[best][0] / ours:5.2f} times ours; {contacts} contacts [{time.perf_counter() - begin:.0f} s]", flush=True)
        if options.csv:
            write(pathlib.Path(options.csv), rows)
    if left_out:
        print(f"no time was left for {', '.join(left_out)}")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["peer", "worlds", "shapes", "broad phase", "ms", "times ours", "contacts"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
