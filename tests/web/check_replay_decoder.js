// The page's decoder gives the same bits as the reader in C, frame by frame, and refuses damaged bytes with a sentence.
// usage: node check_replay_decoder.js DECODER PROGRAM PRINT_SUMS FOLDER
"use strict";
const {execFileSync} = require("node:child_process");
const fs = require("node:fs"), path = require("node:path"), assert = require("node:assert");

const [decoder, program, printSums, folder] = process.argv.slice(2);
const {Replay} = require(path.resolve(decoder));

function sumOf(replay, poses) {
    const bits = new Uint32Array(poses.buffer);
    let sum = 1;
    for (let i = 0; i < replay.bodies.length; ++i) {
        if (poses[8 * i + 3] === 0) continue;
        for (let part = 0; part < 8; ++part) {
            if (part === 3) continue;
            sum = Math.imul(sum ^ bits[8 * i + part], 16777619);
            sum ^= sum >>> 15;
        }
    }
    return sum >>> 0;
}

fs.mkdirSync(folder, {recursive: true});
let frames = 0;
for (const [scene, bodies, count] of [["drop", 200, 400], ["chairs", 40, 200], ["gravity", 100, 150], ["landscape", 60, 60], ["galaxy", 100, 90], ["free_fall", 70000, 8]]) {
    const file = path.join(folder, scene + ".replay"); // the last has two segments
    execFileSync(program, ["run", scene, "--backend", "cpu", "--bodies", bodies, "--frames", count, "--record", file], {stdio: "ignore"});
    const wanted = execFileSync(printSums, [file], {encoding: "utf8"}).trim().split("\n").map((line) => Number(line.split(" ")[1]));
    const replay = new Replay(new Uint8Array(fs.readFileSync(file))), poses = new Float32Array(8 * replay.bodies.length);
    assert.strictEqual(wanted.length, count + 1);
    for (let f = 0; f <= count; ++f, ++frames) {
        replay.seek(f);
        assert.strictEqual(sumOf(replay, replay.poses(poses)), wanted[f], `${scene}, frame ${f}`);
    }
    for (const f of [count, 0, count >> 1, 7, count - 1]) { // by jumps
        replay.seek(f);
        assert.strictEqual(sumOf(replay, replay.poses(poses)), wanted[f], `${scene}, frame ${f} by a jump`);
    }
}
const whole = new Uint8Array(fs.readFileSync(path.join(folder, "chairs.replay")));
for (let turn = 0, at = 0; turn < 300; ++turn, at = (at + 7919 * turn + 1) % whole.length) {
    if (at >= 12 && at < 16) continue; // zeros that the page does not look at
    const bytes = whole.slice();
    bytes[at] ^= 1 << turn % 8;
    assert.throws(() => {
        const replay = new Replay(bytes);
        for (let f = 0; f < replay.frames.length; ++f) replay.seek(f);
    }, /replay/, `byte ${at} was changed`);
}
console.log(frames + " frames have the same bits, 300 damaged files are refused");
