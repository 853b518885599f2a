// Shows a replay with WebGL2: one geometry a shape, its bodies as instances; sun with a shadow map; the viewer's look.
"use strict";

const KINDS = {particle: 0, sphere: 1, box: 2, capsule: 3, compound: 4, plane: 5, field: 6, mesh: 7, hull: 8};
const TAN_HALF_FIELD = 0.41421356, SHADOW_SIDE = 2048, GROUND_REACH = 40, MEASURE_EVERY = 30;
const LIGHT = unit([0.42, 0.80, 0.43]);

// --- vectors --------------------------------------------------------------------------------------------------------

function add(a, b, s = 1) { return [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]; }
function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
function unit(a) { const l = Math.hypot(...a) || 1; return [a[0] / l, a[1] / l, a[2] / l]; }
function rotate(q, v) {
    const t = add(cross(q, v), v, q[3]);
    return add(v, cross(q, t), 2);
}
// Columns of a matrix whose rows are the axes: from the world to a view from `eye`.
function lookFrom(eye, right, up, back) {
    return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
            -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
}
function product(a, b) {
    const c = new Float32Array(16);
    for (let i = 0; i < 16; ++i)
        for (let k = 0; k < 4; ++k) c[i] += a[i % 4 + 4 * k] * b[k + 4 * (i >> 2)];
    return c;
}

// --- geometries -----------------------------------------------------------------------------------------------------

class Geometry {
    constructor() { this.points = []; this.normals = []; this.indices = []; }
    add(points, normals, indices, position = [0, 0, 0], rotation = [0, 0, 0, 1]) {
        const first = this.points.length / 3;
        points.forEach((p) => this.points.push(...add(rotate(rotation, p), position)));
        normals.forEach((n) => this.normals.push(...rotate(rotation, n)));
        indices.forEach((i) => this.indices.push(first + i));
    }
    addBox(size, ...pose) {
        for (let axis = 0; axis < 3; ++axis)
            for (const side of [-1, 1]) {
                const n = [0, 0, 0], u = [0, 0, 0], v = [0, 0, 0];
                n[axis] = side;
                u[(axis + 1) % 3] = 1;
                v[(axis + 2) % 3] = side;
                const corner = (a, b) => n.map((x, i) => (x + a * u[i] + b * v[i]) * size[i]);
                this.add([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], [n, n, n, n], [0, 1, 2, 0, 2, 3], ...pose);
            }
    }
    // A ball whose halves are apart by twice `half` along y.
    addCapsule(radius, half, rings, ...pose) {
        const points = [], normals = [], indices = [], round = 2 * rings;
        for (let row = 0; row <= 2 * rings + 1; ++row) { // the middle ring is there twice
            const step = row <= rings ? row : row - 1, angle = Math.PI * step / (2 * rings);
            for (let k = 0; k <= round; ++k) {
                const turn = 2 * Math.PI * k / round;
                const n = [Math.sin(angle) * Math.sin(turn), Math.cos(angle), Math.sin(angle) * Math.cos(turn)];
                normals.push(n);
                points.push([radius * n[0], radius * n[1] + (row <= rings ? half : -half), radius * n[2]]);
                const at = row * (round + 1) + k;
                if (row <= 2 * rings && k < round) indices.push(at, at + round + 1, at + 1, at + 1, at + round + 1, at + round + 2);
            }
        }
        this.add(points, normals, indices, ...pose);
    }
    addTriangles(vertices, indices) {
        const corner = (i) => vertices.slice(3 * i, 3 * i + 3);
        for (let t = 0; t < indices.length; t += 3) {
            const p = [corner(indices[t]), corner(indices[t + 1]), corner(indices[t + 2])];
            const n = unit(cross(add(p[1], p[0], -1), add(p[2], p[0], -1)));
            this.add(p, [n, n, n], [0, 1, 2]);
        }
    }
    addField(shape) {
        const {columns, rows, heights, size} = shape, points = [], normals = [], indices = [];
        const height = (c, r) => heights[Math.min(Math.max(r, 0), rows - 1) * columns + Math.min(Math.max(c, 0), columns - 1)];
        const dx = size[0] / (columns - 1), dz = size[2] / (rows - 1);
        for (let r = 0; r < rows; ++r)
            for (let c = 0; c < columns; ++c) {
                const at = r * columns + c;
                points.push([c * dx - size[0] / 2, height(c, r), r * dz - size[2] / 2]);
                normals.push(unit([(height(c - 1, r) - height(c + 1, r)) / dx, 2, (height(c, r - 1) - height(c, r + 1)) / dz]));
                if (r + 1 < rows && c + 1 < columns)
                    indices.push(at, at + columns, at + 1, at + 1, at + columns, at + columns + 1);
            }
        this.add(points, normals, indices);
    }
    addPart(part, rings, ...pose) {
        const {type, size} = part;
        if (type === KINDS.box) this.addBox(size, ...pose);
        else this.addCapsule(size[0], type === KINDS.capsule ? size[1] : 0, rings, ...pose);
    }
}

function geometryOf(shape, rings) {
    const geometry = new Geometry();
    if (shape.type === KINDS.compound) shape.children.forEach((part) => geometry.addPart(part, rings, part.position, part.rotation));
    else if (shape.type === KINDS.mesh || shape.type === KINDS.hull) geometry.addTriangles(shape.vertices, shape.indices);
    else if (shape.type === KINDS.field) geometry.addField(shape);
    else if (shape.type === KINDS.plane) geometry.add([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]], Array(4).fill([0, 1, 0]), [0, 1, 2, 0, 2, 3]);
    else geometry.addPart(shape, rings);
    return geometry;
}

// --- shaders --------------------------------------------------------------------------------------------------------

const COMMON = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DShadow;
uniform mat4 toClip, toLight;
uniform vec3 eye, light, centre, extent;
uniform float radius, reach, gridEdge, ownColour;
uniform int kind;
vec3 rotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
vec3 sky(vec3 d) {
    float up = clamp(d.y, -1.0, 1.0);
    if (kind < 0 && reach == 0.0) return mix(vec3(0.012, 0.014, 0.030), vec3(0.035, 0.030, 0.070), 0.5 + 0.5 * up);
    vec3 horizon = vec3(0.60, 0.67, 0.76);
    return up >= 0.0 ? mix(horizon, vec3(0.14, 0.24, 0.42), pow(up, 0.55)) : mix(horizon, vec3(0.36, 0.39, 0.44), pow(-up, 0.5));
}
vec4 display(vec3 c) {
    c *= 0.62;
    c = (c * (2.2 * c + 0.08)) / (c * (2.0 * c + 0.62) + 0.16);
    return vec4(pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2)), 1.0);
}
`;
const BODY_VERTEX = COMMON + `
layout(location = 0) in vec3 point;
layout(location = 1) in vec3 direction;
layout(location = 2) in vec4 place;
layout(location = 3) in vec4 turn;
layout(location = 4) in vec4 tint;
out vec3 world, normal, local;
out vec4 colour;
void main() {
    vec3 p = kind == 5 ? point * reach : point;
    if (kind == 5) p.xz += vec2(dot(centre - place.xyz, rotate(turn, vec3(1, 0, 0))), dot(centre - place.xyz, rotate(turn, vec3(0, 0, 1))));
    world = place.xyz + rotate(turn, p);
    normal = rotate(turn, direction);
    local = kind == 2 ? point / extent : direction;
    colour = tint;
    gl_Position = toClip * vec4(world, 1.0);
}`;
const BODY_FRAGMENT = COMMON + `
uniform sampler2DShadow shadows;
in vec3 world, normal, local;
in vec4 colour;
out vec4 picture;
float sun(vec3 n) {
    vec3 q = (toLight * vec4(world + n * (3.0 * reach / ${SHADOW_SIDE}.0 * radius / reach), 1.0)).xyz * 0.5 + 0.5;
    if (any(lessThan(q, vec3(0.0))) || any(greaterThan(q, vec3(1.0)))) return 1.0;
    float lit = 0.0;
    for (int i = 0; i < 4; ++i) lit += texture(shadows, vec3(q.xy + (vec2(i & 1, i >> 1) * 2.0 - 1.0) * 0.8 / ${SHADOW_SIDE}.0, q.z - 0.0006));
    return mix(1.0, lit * 0.25, 0.92);
}
float grid(vec2 p, float edge, float width) {
    vec2 cells = p / edge, size = fwidth(cells);
    vec2 away = abs(fract(cells - 0.5) - 0.5) / max(size, vec2(1.0e-6));
    vec2 line = (1.0 - smoothstep(width, width + 1.0, away)) * (1.0 - smoothstep(0.15, 0.5, size));
    return max(line.x, line.y);
}
void main() {
    vec3 n = normalize(gl_FrontFacing ? normal : -normal), albedo = colour.rgb * colour.rgb;
    float gloss = 0.3, haze = 0.0;
    if (kind == 5) {
        vec2 p = abs(n.y) > 0.7 ? world.xz : abs(n.x) > 0.7 ? world.yz : world.xy;
        albedo = (ownColour > 0.0 ? albedo : abs(n.y) > 0.7 ? vec3(0.40, 0.41, 0.43) : vec3(0.46, 0.48, 0.52)) *
                 (1.0 - 0.22 * grid(p, gridEdge, 0.0) - 0.30 * grid(p, 10.0 * gridEdge, 0.6));
        haze = smoothstep(2.5, 14.0, length(world - centre) / radius);
        gloss = 0.05;
    } else if (kind == 6) {
        if (ownColour == 0.0) albedo = mix(vec3(0.17, 0.25, 0.10), vec3(0.29, 0.23, 0.17), smoothstep(0.95, 0.75, n.y));
        albedo *= (1.0 - 0.18 * grid(vec2(world.y), 0.1 * radius, 0.0));
    } else if (kind == 1) {
        float cap = abs(local.y), edge = fwidth(cap) + 1.0e-4;
        albedo *= mix(1.0, 1.22, smoothstep(0.72 - edge, 0.72 + edge, cap));
    } else if (kind == 2) {
        vec3 size = abs(local);
        float high = max(size.x, max(size.y, size.z)), low = min(size.x, min(size.y, size.z)), border = size.x + size.y + size.z - high - low;
        float wide = fwidth(border);
        albedo *= 1.0 + 0.28 * smoothstep(1.0 - max(0.05, 1.5 * wide), 1.0, border) * (1.0 - smoothstep(0.04, 0.3, wide));
    }
    vec3 toEye = normalize(eye - world);
    float bright = max(dot(n, light), 0.0) * sun(n);
    vec3 ambient = mix(vec3(0.15, 0.135, 0.12), vec3(0.27, 0.33, 0.42), n.y * 0.5 + 0.5);
    vec3 lit = albedo * (ambient + vec3(1.10, 1.00, 0.84) * bright);
    lit += gloss * (pow(max(dot(n, normalize(light + toEye)), 0.0), 48.0) * bright + 0.16 * pow(1.0 - max(dot(n, toEye), 0.0), 4.0));
    picture = display(mix(lit, sky(-toEye), haze));
    if (colour.a < 1.0) picture.a = mix(sqrt(colour.a), colour.a, abs(dot(n, toEye))) * (1.0 - haze); // denser at the outline
}`;
const SHADOW_FRAGMENT = COMMON + "void main() {}";
const SKY_VERTEX = COMMON + `
uniform vec3 right, up, forward;
out vec3 ray;
void main() {
    vec2 p = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    ray = forward + right * p.x + up * p.y;
    gl_Position = vec4(p, 1.0, 1.0);
}`;
const SKY_FRAGMENT = COMMON + "in vec3 ray; out vec4 picture; void main() { picture = display(sky(normalize(ray))); }";

class Program {
    constructor(gl, vertex, fragment) {
        this.gl = gl;
        this.program = gl.createProgram();
        for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
            const shader = gl.createShader(type);
            gl.shaderSource(shader, text);
            gl.compileShader(shader);
            if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
            gl.attachShader(this.program, shader);
        }
        gl.linkProgram(this.program);
        if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program));
        this.places = new Map();
    }
    place(name) {
        if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.program, name));
        return this.places.get(name);
    }
    use(values) {
        const gl = this.gl;
        gl.useProgram(this.program);
        for (const [name, value] of Object.entries(values)) {
            if (name === "kind" || name === "shadows") gl.uniform1i(this.place(name), value);
            else if (value.length === 16) gl.uniformMatrix4fv(this.place(name), false, value);
            else if (value.length === 3) gl.uniform3fv(this.place(name), value);
            else gl.uniform1f(this.place(name), value);
        }
    }
}

// --- bodies ---------------------------------------------------------------------------------------------------------

function mix32(x) {
    x ^= x >>> 16;
    x = Math.imul(x, 0x7feb352d);
    x ^= x >>> 15;
    x = Math.imul(x, 0x846ca68b);
    return (x ^ (x >>> 16)) >>> 0;
}
const PALETTE = [[0.76, 0.18, 0.11], [0.90, 0.52, 0.09], [0.84, 0.72, 0.48], [0.62, 0.31, 0.20],
                 [0.09, 0.33, 0.60], [0.10, 0.48, 0.42], [0.30, 0.60, 0.74], [0.36, 0.24, 0.56]];

// As square roots, in bytes; the viewer's colours.
function colourOf(body, type) {
    let c = type === KINDS.mesh ? [0.48, 0.44, 0.40] : [0.42, 0.43, 0.45], alpha = 255;
    const noise = mix32(body.slot + 1), tint = 0.80 + 0.4 * (noise & 255) / 255;
    if (body.inverseMass > 0) c = PALETTE[(body.shape & 1) * 4 + ((noise >>> 8) & 3)].map((x) => x * tint);
    if (body.colour >>> 24 !== 0) {
        c = [0, 8, 16].map((shift) => ((body.colour >>> shift & 255) / 255) ** 2.2);
        alpha = body.colour >>> 24;
    }
    return [...c.map((x) => Math.round(255 * Math.sqrt(Math.min(x, 1)))), alpha];
}

const isClear = (body) => body.colour >>> 24 !== 0 && body.colour >>> 24 < 255;

// A shape's geometry, and the bodies that have it: the clear ones, or the others.
class Batch {
    constructor(gl, replay, number, rings, clear) {
        const shape = replay.shapes[number], geometry = geometryOf(shape, rings);
        this.gl = gl;
        this.type = shape.type;
        this.kind = shape.type === KINDS.particle ? KINDS.sphere : shape.type;
        this.extent = shape.type === KINDS.box ? shape.size : [1, 1, 1];
        this.bodies = replay.bodies.flatMap((body, i) => body.shape === number && isClear(body) === clear ? [i] : []);
        this.clear = clear;
        this.ownColour = this.bodies.length > 0 && replay.bodies[this.bodies[0]].colour >>> 24 !== 0 ? 1 : 0;
        this.colours = new Uint8Array(this.bodies.flatMap((i) => colourOf(replay.bodies[i], shape.type)));
        this.places = new Float32Array(8 * this.bodies.length);
        this.tints = new Uint8Array(4 * this.bodies.length);
        this.indexCount = geometry.indices.length;
        this.array = gl.createVertexArray();
        gl.bindVertexArray(this.array);
        this.fixed(0, new Float32Array(geometry.points));
        this.fixed(1, new Float32Array(geometry.normals));
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(geometry.indices), gl.STATIC_DRAW);
        this.placeBuffer = gl.createBuffer();
        this.tintBuffer = gl.createBuffer();
        this.begin(0);
    }
    // The instances that are drawn next begin with this one.
    begin(first) {
        const gl = this.gl;
        gl.bindBuffer(gl.ARRAY_BUFFER, this.placeBuffer);
        this.instanced(2, gl.FLOAT, false, 32, 32 * first);
        this.instanced(3, gl.FLOAT, false, 32, 32 * first + 16);
        gl.bindBuffer(gl.ARRAY_BUFFER, this.tintBuffer);
        this.instanced(4, gl.UNSIGNED_BYTE, true, 4, 4 * first);
    }
    fixed(place, values) {
        const gl = this.gl;
        gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
        gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
    }
    instanced(place, type, normalized, stride, offset) {
        const gl = this.gl;
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, 4, type, normalized, stride, offset);
        gl.vertexAttribDivisor(place, 1);
    }
    // Clear bodies from far to near; `depths` has how far each instance is.
    fill(poses, eye, forward) {
        const gl = this.gl, far = (i) => dot(add([poses[8 * i], poses[8 * i + 1], poses[8 * i + 2]], eye, -1), forward);
        let there = this.bodies.map((i, at) => ({i, at, depth: this.clear ? far(i) : 0})).filter(({i}) => poses[8 * i + 3] !== 0);
        if (this.clear) there = there.sort((a, b) => b.depth - a.depth);
        there.forEach(({i, at}, place) => {
            this.places.set(poses.subarray(8 * i, 8 * i + 8), 8 * place);
            this.tints.set(this.colours.subarray(4 * at, 4 * at + 4), 4 * place);
        });
        this.count = there.length;
        this.depths = there.map(({depth}) => depth);
        gl.bindBuffer(gl.ARRAY_BUFFER, this.placeBuffer);
        gl.bufferData(gl.ARRAY_BUFFER, this.places.subarray(0, 8 * this.count), gl.DYNAMIC_DRAW);
        gl.bindBuffer(gl.ARRAY_BUFFER, this.tintBuffer);
        gl.bufferData(gl.ARRAY_BUFFER, this.tints.subarray(0, 4 * this.count), gl.DYNAMIC_DRAW);
    }
    draw(first = 0, count = this.count) {
        if (count === 0) return;
        this.gl.bindVertexArray(this.array);
        if (this.clear) this.begin(first);
        this.gl.drawElementsInstanced(this.gl.TRIANGLES, this.indexCount, this.gl.UNSIGNED_INT, 0, count);
    }
}

// Instances of all batches from far to near, as runs of one batch each.
function farToNear(batches) {
    const all = batches.flatMap((batch) => batch.depths.map((depth, place) => ({batch, depth, place}))), runs = [];
    for (const {batch, place} of all.sort((a, b) => b.depth - a.depth)) {
        const last = runs[runs.length - 1];
        if (last !== undefined && last.batch === batch && last.first + last.count === place) last.count += 1;
        else runs.push({batch, first: place, count: 1});
    }
    return runs;
}

// --- picture --------------------------------------------------------------------------------------------------------

class Picture {
    constructor(canvas, replay) {
        const gl = this.gl = canvas.getContext("webgl2", {antialias: true, alpha: false, preserveDrawingBuffer: true});
        if (gl === null) throw new Error("this browser has no WebGL2, which the picture needs");
        this.canvas = canvas;
        this.replay = replay;
        this.poses = new Float32Array(8 * replay.bodies.length);
        this.programs = {body: new Program(gl, BODY_VERTEX, BODY_FRAGMENT), shadow: new Program(gl, BODY_VERTEX, SHADOW_FRAGMENT),
                         sky: new Program(gl, SKY_VERTEX, SKY_FRAGMENT)};
        const rings = replay.bodies.length > 200000 ? 3 : replay.bodies.length > 20000 ? 5 : 10;
        this.batches = [false, true].flatMap((clear) => replay.shapes.map((_, i) => new Batch(gl, replay, i, rings, clear))).filter((batch) => batch.bodies.length > 0);
        this.batches.sort((a, b) => (a.type === KINDS.plane) - (b.type === KINDS.plane));
        this.hasGround = this.batches.some((batch) => batch.type >= KINDS.plane && batch.type <= KINDS.mesh);
        this.empty = gl.createVertexArray();
        this.makeShadows();
        this.measured = -Infinity;
        this.setCamera(replay.eye, replay.target);
    }
    makeShadows() {
        const gl = this.gl;
        this.shadowTexture = gl.createTexture();
        gl.bindTexture(gl.TEXTURE_2D, this.shadowTexture);
        gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIDE, SHADOW_SIDE);
        for (const [name, value] of [["MIN_FILTER", gl.LINEAR], ["MAG_FILTER", gl.LINEAR], ["WRAP_S", gl.CLAMP_TO_EDGE], ["WRAP_T", gl.CLAMP_TO_EDGE],
                                     ["COMPARE_MODE", gl.COMPARE_REF_TO_TEXTURE], ["COMPARE_FUNC", gl.LEQUAL]])
            gl.texParameteri(gl.TEXTURE_2D, gl["TEXTURE_" + name], value);
        this.shadowFrame = gl.createFramebuffer();
        gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFrame);
        gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadowTexture, 0);
    }
    // Middle and size of the moving bodies, without the outermost hundredth.
    measure() {
        if (Math.abs(this.replay.now - this.measured) < MEASURE_EVERY) return;
        this.measured = this.replay.now;
        const there = this.replay.bodies.flatMap((body, i) => body.inverseMass > 0 && this.poses[8 * i + 3] > 0 ? [i] : []);
        const half = [0, 0, 0];
        let size = 0;
        this.centre = [0, 0, 0];
        for (let axis = 0; axis < 3 && there.length > 0; ++axis) {
            const places = Float32Array.from(there, (i) => this.poses[8 * i + axis]).sort(), cut = Math.floor(places.length / 100);
            this.centre[axis] = (places[cut] + places[places.length - 1 - cut]) / 2;
            half[axis] = (places[places.length - 1 - cut] - places[cut]) / 2;
        }
        for (const i of there) size += this.poses[8 * i + 3] / there.length;
        this.radius = Math.max(Math.hypot(...half) + size, 2 * size) || 5;
    }
    setCamera(eye, target) {
        if (Math.hypot(...add(eye, target, -1)) === 0) {
            this.replay.seek(0);
            this.replay.poses(this.poses);
            this.measure();
            target = this.centre;
            eye = add(target, [0, 0.9 * this.radius, 2.6 * this.radius]);
        }
        const away = add(eye, target, -1);
        this.target = [...target];
        this.distance = Math.hypot(...away);
        this.yaw = Math.atan2(away[0], away[2]);
        this.pitch = Math.asin(away[1] / this.distance);
    }
    axes() {
        const cp = Math.cos(this.pitch), sp = Math.sin(this.pitch), cy = Math.cos(this.yaw), sy = Math.sin(this.yaw);
        const forward = [-cp * sy, -sp, -cp * cy], right = [cy, 0, -sy];
        return {forward, right, up: cross(right, forward), eye: add(this.target, forward, -this.distance)};
    }
    orbit(dx, dy) {
        this.yaw -= 0.006 * dx;
        this.pitch = Math.min(Math.max(this.pitch + 0.006 * dy, -1.55), 1.55);
    }
    pan(dx, dy) {
        const {right, up} = this.axes(), scale = 2 * TAN_HALF_FIELD * this.distance / this.canvas.clientHeight;
        this.target = add(add(this.target, right, -dx * scale), up, dy * scale);
    }
    zoom(steps) { this.distance = Math.max(this.distance * 0.88 ** steps, 0.01); }

    lightMatrix() {
        const side = unit(cross([0, 1, 0], LIGHT)), reach = 1.35 * this.radius, deep = 4 * this.radius;
        const view = lookFrom(add(this.centre, LIGHT, deep / 2), side, cross(LIGHT, side), LIGHT);
        return product([1 / reach, 0, 0, 0, 0, 1 / reach, 0, 0, 0, 0, -2 / deep, 0, 0, 0, -1, 1], view);
    }
    draw() {
        const gl = this.gl, {canvas, programs} = this, scale = window.devicePixelRatio || 1;
        const width = Math.max(1, Math.round(canvas.clientWidth * scale)), height = Math.max(1, Math.round(canvas.clientHeight * scale));
        if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
        this.replay.poses(this.poses);
        this.measure();
        const {forward, right, up, eye} = this.axes();
        this.batches.forEach((batch) => batch.fill(this.poses, eye, forward));
        const aspect = width / height, near = 0.02 * this.distance, far = near * 20000;
        const lens = [1 / (TAN_HALF_FIELD * aspect), 0, 0, 0, 0, 1 / TAN_HALF_FIELD, 0, 0,
                      0, 0, -(far + near) / (far - near), -1, 0, 0, -2 * far * near / (far - near), 0];
        const toClip = product(lens, lookFrom(eye, right, up, forward.map((x) => -x))), toLight = this.lightMatrix();
        const shared = {eye, light: LIGHT, centre: this.centre, radius: this.radius, reach: GROUND_REACH * this.radius, gridEdge: gridEdge(this.radius)};
        gl.enable(gl.DEPTH_TEST);
        gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFrame);
        gl.viewport(0, 0, SHADOW_SIDE, SHADOW_SIDE);
        gl.clear(gl.DEPTH_BUFFER_BIT);
        for (const batch of this.batches) {
            if (batch.type === KINDS.plane || batch.clear) continue;
            programs.shadow.use({...shared, toClip: toLight, kind: batch.kind, extent: batch.extent});
            batch.draw();
        }
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        gl.viewport(0, 0, width, height);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        gl.disable(gl.DEPTH_TEST);
        gl.bindVertexArray(this.empty);
        programs.sky.use({...shared, kind: -1, reach: this.hasGround ? 1 : 0, forward, right: right.map((x) => x * TAN_HALF_FIELD * aspect), up: up.map((x) => x * TAN_HALF_FIELD)});
        gl.drawArrays(gl.TRIANGLES, 0, 3);
        gl.enable(gl.DEPTH_TEST);
        const draw = ({batch, first, count}, culled) => {
            programs.body.use({...shared, toClip, toLight, kind: batch.kind, extent: batch.extent, ownColour: batch.ownColour, shadows: 0});
            if (culled !== null) gl.enable(gl.CULL_FACE);
            gl.cullFace(culled === null ? gl.BACK : culled);
            batch.draw(first, count);
            gl.disable(gl.CULL_FACE);
        };
        for (const batch of this.batches) // one looks into a room through its walls
            if (!batch.clear) draw({batch}, batch.type === KINDS.plane ? gl.BACK : null);
        // What is clear, over it: the far sides of meshes, bodies, the near sides of meshes.
        const clear = this.batches.filter((batch) => batch.clear), isMesh = (batch) => batch.type === KINDS.mesh;
        const meshes = farToNear(clear.filter(isMesh)), bodies = farToNear(clear.filter((batch) => !isMesh(batch)));
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
        gl.depthMask(false);
        meshes.forEach((run) => draw(run, gl.FRONT));
        bodies.forEach((run) => draw(run, gl.BACK));
        meshes.forEach((run) => draw(run, gl.BACK));
        gl.depthMask(true);
        gl.disable(gl.BLEND);
    }
}

// The power of ten that gives a scene some dozens of cells.
function gridEdge(radius) { return 10 ** Math.round(Math.log10(radius / 8)); }

// --- costs ----------------------------------------------------------------------------------------------------------

const PHASE_COLOURS = {bounds: "#6aa3e8", keys: "#6fd0c5", sort: "#f5ab3d", gather: "#d5c94e", sweep: "#e0654f", events: "#a06bd0",
                       narrow: "#6fb04e", solve: "#4f7fe0", integrate: "#8e959e"};

class Costs {
    constructor(replay) {
        this.replay = replay;
        this.plot = document.getElementById("plot");
        this.sort = replay.phases.indexOf("sort");
        const whole = replay.frames.reduce((sum, frame) => sum + frame.frameMs, 0);
        this.share = whole > 0 ? replay.frames.reduce((sum, frame) => sum + frame.phaseMs[this.sort], 0) / whole : 0;
        const times = replay.frames.map((frame) => frame.frameMs).sort((a, b) => a - b);
        this.most = 1.2 * times[Math.floor(0.98 * (times.length - 1))] || 1;
        document.getElementById("name").textContent = replay.scene;
        document.getElementById("phases").replaceChildren(...replay.phases.map((name) => {
            const entry = document.createElement("span"), sample = document.createElement("i");
            sample.style.background = PHASE_COLOURS[name] || "#999";
            entry.append(sample, name + " ", document.createElement("b"));
            return entry;
        }));
    }
    // The frame that is longest in each column, its phases stacked.
    drawPlot() {
        const canvas = this.plot, scale = window.devicePixelRatio || 1, {frames, phases, now} = this.replay;
        canvas.width = canvas.clientWidth * scale;
        canvas.height = canvas.clientHeight * scale;
        const ink = canvas.getContext("2d"), {width, height} = canvas;
        for (let x = 0; x < width; ++x) {
            let first = Math.floor(x * frames.length / width), longest = first;
            for (; first < Math.floor((x + 1) * frames.length / width); ++first)
                if (frames[first].frameMs > frames[longest].frameMs) longest = first;
            let y = height;
            for (const p of [this.sort, ...phases.keys()].filter((p, at) => at === 0 || p !== this.sort)) {
                const tall = frames[longest].phaseMs[p] / this.most * height;
                ink.fillStyle = PHASE_COLOURS[phases[p]] || "#999";
                ink.fillRect(x, y - tall, 1, tall);
                y -= tall;
            }
        }
        ink.fillStyle = "#ffffff";
        ink.fillRect(Math.round((now + 0.5) * width / frames.length), 0, scale, height);
        ink.font = 11 * scale + "px system-ui, sans-serif";
        ink.fillText(this.most.toFixed(2) + " ms", 4 * scale, 13 * scale);
    }
    show() {
        const frame = this.replay.frames[this.replay.now], number = (x) => x.toLocaleString("en-US");
        const sort = frame.phaseMs[this.sort], ms = (x) => x.toFixed(x < 10 ? 3 : 1) + " ms", percent = (x) => (100 * x).toFixed(1) + "%";
        document.getElementById("counts").textContent = `${number(frame.bodies)} bodies, ${number(frame.pairs)} pairs, ${number(frame.contacts)} contacts`;
        document.getElementById("step").textContent = "step " + ms(frame.frameMs);
        document.getElementById("sort").textContent = `sort ${ms(sort)}, ${percent(frame.frameMs > 0 ? sort / frame.frameMs : 0)}; ${percent(this.share)} of the whole run`;
        document.querySelectorAll("#phases b").forEach((entry, p) => { entry.textContent = frame.phaseMs[p].toFixed(2); });
        this.drawPlot();
    }
}

// --- the page -------------------------------------------------------------------------------------------------------

function embeddedBytes() {
    const parts = [...document.querySelectorAll("script[type='text/x-replay']")].map((script) => atob(script.textContent.trim()));
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts)
        for (let i = 0; i < part.length; ++i) bytes[at++] = part.charCodeAt(i);
    return bytes;
}

class Page {
    constructor() {
        const wanted = new URLSearchParams(location.hash.slice(1));
        this.replay = new Replay(embeddedBytes());
        this.picture = new Picture(document.getElementById("picture"), this.replay);
        this.costs = new Costs(this.replay);
        this.last = this.replay.frames.length - 1;
        this.time = Math.min(Number(wanted.get("frame")) || 0, this.last); // in frames
        this.playing = !wanted.has("paused") && this.last > 0;
        this.slider = document.getElementById("frame");
        this.slider.max = this.last;
        this.speed = document.getElementById("speed");
        if (wanted.has("bare")) document.body.className = "bare";
        this.listen();
        this.before = undefined;
        this.show(Math.floor(this.time));
        requestAnimationFrame((now) => this.turn(now));
    }
    listen() {
        const {picture, slider} = this, canvas = picture.canvas, plot = this.costs.plot;
        document.getElementById("play").onclick = () => this.toggle();
        slider.oninput = () => this.go(Number(slider.value));
        plot.onclick = (event) => this.go(Math.floor(event.offsetX / plot.clientWidth * (this.last + 1)));
        canvas.onpointerdown = (event) => canvas.setPointerCapture(event.pointerId);
        canvas.onpointermove = (event) => {
            if (event.buttons === 0) return;
            if (event.buttons === 1 && !event.shiftKey) picture.orbit(event.movementX, event.movementY);
            else picture.pan(event.movementX, event.movementY);
            this.stale = true;
        };
        canvas.oncontextmenu = (event) => event.preventDefault();
        canvas.onwheel = (event) => {
            event.preventDefault();
            picture.zoom(-Math.sign(event.deltaY));
            this.stale = true;
        };
        window.onresize = () => { this.stale = true; };
        window.onkeydown = (event) => {
            const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
            if (event.key === " ") this.toggle();
            else if (step !== undefined) this.go(Math.round(this.time) + step * (event.shiftKey ? 60 : 1), true);
            else return;
            event.preventDefault();
        };
    }
    toggle() {
        if (!this.playing && this.time >= this.last) this.time = 0;
        this.playing = !this.playing;
        this.stale = true;
    }
    go(frame, hold = false) {
        this.time = Math.min(Math.max(frame, 0), this.last);
        if (hold) this.playing = false;
        this.stale = true;
    }
    turn(now) {
        const passed = this.before === undefined ? 0 : Math.min((now - this.before) / 1000, 0.25);
        this.before = now;
        if (this.playing) this.time += passed / this.replay.frameSeconds * Number(this.speed.value);
        if (this.time >= this.last) {
            this.time = this.last;
            this.playing = false;
        }
        try {
            const frame = Math.floor(this.time);
            if (this.stale || frame !== this.replay.now) this.show(frame);
        } catch (error) {
            fail(error);
            return;
        }
        requestAnimationFrame((next) => this.turn(next));
    }
    show(frame) {
        this.replay.seek(frame);
        this.picture.draw();
        this.costs.show();
        this.slider.value = frame;
        document.getElementById("play").textContent = this.playing ? "pause" : "play";
        document.getElementById("time").textContent = `${frame} of ${this.last}, ${(frame * this.replay.frameSeconds).toFixed(2)} s`;
        document.body.dataset.frame = frame;
        document.body.dataset.drawn = this.picture.batches.reduce((sum, batch) => sum + batch.count, 0);
        this.stale = false;
    }
}

function fail(error) {
    document.getElementById("failure").textContent = "The replay cannot be shown: " + error.message;
    document.body.dataset.failure = error.message;
}

document.addEventListener("DOMContentLoaded", () => {
    try {
        new Page();
    } catch (error) {
        fail(error);
    }
});
