"""Reads PNG files of 8 bits a channel, without interlacing, and compares means over blocks; Python's own modules alone."""
import struct
import zlib

BLOCK = 6


def unfilter(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            near = left + up - corner
            guess = min((left, up, corner), key=lambda value: abs(near - value))
        else:
            return line
        line[i] = (line[i] + guess) & 255
    return line


def read_png(path):
    """Width, height, and rows of (red, green, blue) bytes one after another."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG file"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlace = struct.unpack(">IIBBBBB", data[at + 8:at + 21])
            assert depth == 8 and colours in (2, 6) and interlace == 0, f"{path}: a kind of PNG that is not read here"
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    step = 3 if colours == 2 else 4
    raw, above, rows = zlib.decompress(packed), bytearray(step * width), []
    for y in range(height):
        start = y * (1 + step * width)
        above = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + step * width]), above, step)
        rows.append(bytes(above) if step == 3 else bytes(above[i] for i in range(len(above)) if i % 4 != 3))
    return width, height, rows


def block_means(picture):
    width, height, rows = picture
    means = []
    for y in range(0, height - BLOCK + 1, BLOCK):
        for x in range(0, width - BLOCK + 1, BLOCK):
            part = [rows[y + k][3 * x:3 * (x + BLOCK)] for k in range(BLOCK)]
            means.append([sum(sum(line[c::3]) for line in part) / BLOCK ** 2 for c in range(3)])
    return means


def compare(a, b):
    """Mean and largest difference of blocks, 0 to 255."""
    assert a[:2] == b[:2], f"pictures of {a[:2]} and {b[:2]} pixels"
    differences = [abs(p - q) for one, other in zip(block_means(a), block_means(b)) for p, q in zip(one, other)]
    return sum(differences) / len(differences), max(differences)
