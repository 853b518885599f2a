// Reads a replay (docs/how/replay.md): tables, then frames by prediction and correction, bit by bit as replay_read.c.
"use strict";

const REPLAY = {
    magic: "PSREPLAY", version: 1, columns: 16, mostOnes: 20, fullBits: 53, segment: 65536, finer: 64, rotationBits: 15,
    rotationScale: 23000, gap: 0, shift: 1, turn: 4, place: 7, speed: 10, spin: 13, still: 0xffffffff
};

class ReplayCursor {
    constructor(bytes, at, end) {
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        this.at = at;
        this.end = end;
    }
    take(count) {
        const at = this.at;
        if (count > this.end - at) throw new Error("the replay is damaged: its tables end too early");
        this.at += count;
        return at;
    }
    u32() { return this.view.getUint32(this.take(4), true); }
    i32() { return this.view.getInt32(this.take(4), true); }
    f32() { return this.view.getFloat32(this.take(4), true); }
    u64() { const low = this.u32(); return low + this.u32() * 4294967296; }
    many(count, read) { return Array.from({length: count}, () => read.call(this)); }
    floats(count) { return this.many(count, this.f32); }
    count(least) {
        const count = this.u32();
        if (count > (this.end - this.at) / least) throw new Error("the replay is damaged: a count of its tables cannot be");
        return count;
    }
    text() {
        const length = this.count(1), at = this.take(length);
        return new TextDecoder().decode(new Uint8Array(this.view.buffer, this.view.byteOffset + at, length));
    }
}

class ReplayBits {
    constructor(bytes, at, end) {
        this.bytes = bytes;
        this.at = at;
        this.end = end;
        this.held = 0;
        this.count = 0;
        this.means = new Uint32Array(REPLAY.columns);
    }
    bits(count) { // at most 24
        while (this.count < count) {
            if (this.at >= this.end) throw new Error("a frame of the replay is damaged");
            this.held |= this.bytes[this.at++] << this.count;
            this.count += 8;
        }
        const value = this.held & ((1 << count) - 1);
        this.held >>>= count;
        this.count -= count;
        return value;
    }
    number(column) {
        const length = 31 - Math.clz32((this.means[column] >>> 4) + 1);
        let ones = 0, number = 0;
        while (ones < REPLAY.mostOnes && this.bits(1) !== 0) ++ones;
        if (ones < REPLAY.mostOnes) {
            number = ones * 2 ** length + this.bits(length);
        } else {
            number = this.bits(16);
            number += this.bits(16) * 65536;
            number += this.bits(REPLAY.fullBits - 32) * 4294967296;
        }
        this.means[column] += Math.min(number, 1048576) - (this.means[column] >>> 4);
        return number;
    }
    signed(column) {
        const number = this.number(column);
        return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
    }
}

function replaySum(bytes, at, end) {
    let sum = -1;
    for (; at < end; ++at) sum = (sum >>> 8) ^ replaySum.table[(sum ^ bytes[at]) & 255];
    return ~sum >>> 0;
}
replaySum.table = Int32Array.from({length: 256}, (_, i) => {
    for (let bit = 0; bit < 8; ++bit) i = (i >>> 1) ^ (i & 1 ? 0xedb88320 : 0);
    return i;
});

class Replay {
    constructor(bytes) {
        const text = (at) => String.fromCharCode(...bytes.subarray(at, at + 8)), size = bytes.length;
        if (size < 48 || text(0) !== REPLAY.magic || text(size - 8) !== REPLAY.magic) throw new Error("this is no whole replay");
        const tail = new ReplayCursor(bytes, size - 32, size), offset = tail.u64(), length = tail.u64(), sum = tail.u32();
        const version = tail.u32();
        if (version !== REPLAY.version) throw new Error("the replay has version " + version + ", this page reads " + REPLAY.version);
        if (offset + length + 32 !== size) throw new Error("the replay is damaged: its tables are not where its end says");
        if (replaySum(bytes, offset, size - 32) !== sum) throw new Error("the replay is damaged: its tables changed");
        this.bytes = bytes;
        this.readTables(new ReplayCursor(bytes, offset, size - 32));
        this.makeStates();
        this.now = -1;
    }

    readTables(from) {
        this.scene = from.text();
        this.frameSeconds = from.f32();
        this.eye = from.floats(3);
        this.target = from.floats(3);
        this.turnStep = 2 ** from.i32();
        this.phases = from.many(from.count(4), from.text);
        this.shapes = from.many(from.count(48), () => this.readShape(from));
        this.bodies = from.many(from.count(60), () => ({
            slot: from.u32(), shape: from.u32(), first: from.u32(), end: from.u32(), colour: from.u32(), exponent: from.i32(),
            inverseMass: from.f32(), position: from.floats(3), radius: from.f32(), rotation: from.floats(4)
        }));
        this.frames = from.many(from.count(64), () => ({
            offset: from.u64(), bytes: from.u32(), sum: from.u32(), isKey: from.u32() !== 0, seconds: from.f32(),
            gravity: from.floats(3), bodies: from.u64(), pairs: from.u64(), contacts: from.u64(), frameMs: from.f32(),
            phaseMs: from.floats(this.phases.length)
        }));
        if (this.frames.length === 0 || !this.frames[0].isKey) throw new Error("the replay is damaged: it has no first frame");
        for (const body of this.bodies)
            if (body.shape >= this.shapes.length) throw new Error("the replay is damaged: a body has no shape");
    }

    readShape(from) {
        const shape = {type: from.u32(), size: from.floats(3), density: from.f32(), friction: from.f32(), restitution: from.f32()};
        shape.children = from.many(from.count(44), () => ({
            type: from.u32(), size: from.floats(3), position: from.floats(3), rotation: from.floats(4)
        }));
        shape.columns = from.u32();
        shape.rows = from.u32();
        shape.heights = from.floats(shape.columns * shape.rows);
        shape.vertices = from.floats(3 * from.count(12));
        shape.indices = from.many(3 * from.count(12), from.u32);
        return shape;
    }

    makeStates() {
        const count = this.bodies.length;
        this.position = new Float64Array(3 * count);
        this.velocity = new Float64Array(3 * count);
        this.rotation = new Float64Array(4 * count);
        this.spin = new Float64Array(3 * count);
        this.since = new Uint32Array(2 * count); // frames since position and rotation were corrected
        this.touched = new Uint8Array(count);
        this.moves = new Uint8Array(count);
        this.falls = new Uint8Array(count);
        this.steps = Float64Array.from(this.bodies, (body) => 2 ** body.exponent);
    }

    isThere(body) { return body.first <= this.now && this.now < body.end; }

    start(i) {
        this.position.fill(0, 3 * i, 3 * i + 3);
        this.velocity.fill(0, 3 * i, 3 * i + 3);
        this.spin.fill(0, 3 * i, 3 * i + 3);
        this.rotation.set(this.bodies[i].rotation, 4 * i);
        this.since[2 * i] = this.since[2 * i + 1] = this.touched[i] = this.moves[i] = this.falls[i] = 0;
    }

    // rotation = unit of (turn, 1) x rotation
    turn(i, a, b, c) {
        const q = this.rotation, k = 4 * i, x = q[k], y = q[k + 1], z = q[k + 2], w = q[k + 3];
        const rx = x + a * w + b * z - c * y, ry = y + b * w + c * x - a * z, rz = z + c * w + a * y - b * x;
        const rw = w - a * x - b * y - c * z, scale = 1 / Math.sqrt(rx * rx + ry * ry + rz * rz + rw * rw);
        q[k] = rx * scale;
        q[k + 1] = ry * scale;
        q[k + 2] = rz * scale;
        q[k + 3] = rw * scale;
    }

    predict(i, frame) {
        const spin = this.spin, k = 3 * i;
        for (let axis = 0; axis < 3; ++axis) {
            if (this.falls[i]) this.velocity[k + axis] += frame.gravity[axis] * frame.seconds * frame.seconds / this.steps[i];
            this.position[k + axis] += this.velocity[k + axis];
        }
        if (spin[k] !== 0 || spin[k + 1] !== 0 || spin[k + 2] !== 0) this.turn(i, spin[k], spin[k + 1], spin[k + 2]);
        this.since[2 * i] += 1;
        this.since[2 * i + 1] += 1;
    }

    correct(i, from) {
        const flags = from.bits(4), moved = this.moves[i], k = 3 * i;
        const frames = (which, sudden) => moved && !sudden ? this.since[2 * i + which] : 1;
        this.touched[i] = this.moves[i] = 1;
        if (flags & 1) {
            const count = frames(0, from.bits(1));
            for (let axis = 0; axis < 3; ++axis) {
                const shift = from.signed(REPLAY.shift + axis);
                this.position[k + axis] += shift;
                this.velocity[k + axis] += shift / count;
            }
            this.since[2 * i] = 0;
        }
        if (flags & 2) {
            const count = frames(1, from.bits(1)), turn = [0, 0, 0];
            for (let axis = 0; axis < 3; ++axis) {
                turn[axis] = from.signed(REPLAY.turn + axis) * this.turnStep;
                this.spin[k + axis] += turn[axis] / count;
            }
            this.turn(i, turn[0], turn[1], turn[2]);
            this.since[2 * i + 1] = 0;
        }
        if (flags & 4) this.falls[i] ^= 1;
        if (!(flags & 8)) return;
        this.velocity.fill(0, k, k + 3);
        this.spin.fill(0, k, k + 3);
        this.moves[i] = this.falls[i] = 0;
    }

    takeState(i, from) {
        const flags = from.bits(2), k = 3 * i, q = this.rotation, half = 2 ** (REPLAY.rotationBits - 1);
        for (let axis = 0; axis < 3; ++axis) this.position[k + axis] = from.signed(REPLAY.place + axis);
        const largest = from.bits(2);
        let rest = 1;
        for (let part = 0; part < 4; ++part) {
            if (part === largest) continue;
            const value = (from.bits(REPLAY.rotationBits) - half) / REPLAY.rotationScale;
            q[4 * i + part] = value;
            rest -= value * value;
        }
        q[4 * i + largest] = Math.sqrt(rest > 0 ? rest : 0);
        this.touched[i] = 1;
        this.moves[i] = flags & 1;
        this.falls[i] = flags >> 1;
        if (!this.moves[i]) return;
        for (let axis = 0; axis < 3; ++axis) this.velocity[k + axis] = from.signed(REPLAY.speed + axis) / REPLAY.finer;
        for (let axis = 0; axis < 3; ++axis)
            this.spin[k + axis] = from.signed(REPLAY.spin + axis) * (this.turnStep / REPLAY.finer);
    }

    readFrame(number) {
        const frame = this.frames[number], end = frame.offset + frame.bytes;
        if (replaySum(this.bytes, frame.offset, end) !== frame.sum) throw new Error("frame " + number + " of the replay is damaged");
        this.now = number;
        let appeared = 0;
        for (let i = 0; i < this.bodies.length; ++i) {
            const body = this.bodies[i];
            appeared += body.first <= number;
            if (!this.isThere(body)) continue;
            if (frame.isKey || body.first === number) this.start(i);
            else if (this.moves[i]) this.predict(i, frame);
        }
        if (frame.bytes === 0) return;
        const lengths = new ReplayCursor(this.bytes, frame.offset, end);
        let at = frame.offset + 4 * Math.ceil(appeared / REPLAY.segment);
        for (let first = 0; first < appeared; first += REPLAY.segment) {
            const length = lengths.u32(), from = new ReplayBits(this.bytes, at, Math.min(at + length, end));
            if (length > 0) this.changeBodies(first, Math.min(first + REPLAY.segment, appeared), from, frame.isKey);
            at += length;
        }
    }

    changeBodies(first, end, from, isKey) {
        for (let i = first;; ++i) {
            i += from.number(REPLAY.gap);
            if (i === end) return;
            if (!(i < end && this.isThere(this.bodies[i]))) throw new Error("a frame of the replay is damaged");
            if (isKey) this.takeState(i, from);
            else this.correct(i, from);
        }
    }

    seek(number) {
        let key = number;
        while (!this.frames[key].isKey) --key;
        let next = this.now <= number && this.now >= key ? this.now + 1 : key;
        for (; next <= number; ++next) this.readFrame(next);
    }

    // x, y, z, radius (0: not there), then the rotation, of every body.
    poses(out) {
        for (let i = 0, k = 0; i < this.bodies.length; ++i, k += 8) {
            const body = this.bodies[i];
            out[k + 3] = this.isThere(body) ? body.radius : 0;
            for (let axis = 0; axis < 3; ++axis) out[k + axis] = body.position[axis] + this.position[3 * i + axis] * this.steps[i];
            for (let part = 0; part < 4; ++part) out[k + 4 + part] = this.touched[i] ? this.rotation[4 * i + part] : body.rotation[part];
        }
        return out;
    }
}

if (typeof module !== "undefined") module.exports = {Replay}; // for tests without a browser
