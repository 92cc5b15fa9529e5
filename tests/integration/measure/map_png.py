#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""map_png.py FILE CHUNKS ROWS FIRST END: does the picture of one region have so many chunks in a line, and rows of 18 pixels,
of which all but the last show the chunks from FIRST to END as touched, and no other as nearly so?"""
import struct
import sys
import zlib

MARGIN, ROW = 8, 18
path, chunks, rows, first, end = sys.argv[1], *map(int, sys.argv[2:])


def pieces(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        yield kind, body
        at += 12 + length


def lines(width, height, packed):
    """The filters of the PNG specification, section 9."""
    raw, before, step = zlib.decompress(packed), bytes(3 * width), 3 * width + 1
    for y in range(height):
        kind, line = raw[y * step], bytearray(raw[y * step + 1 : (y + 1) * step])
        for i in range(len(line)):
            left, up = line[i - 3] if i > 2 else 0, before[i]
            corner = before[i - 3] if i > 2 else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda near: abs(guess - near))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        before = bytes(line)
        yield before


parts = list(pieces(open(path, "rb").read()))
width, height, depth, colour = struct.unpack(">IIBB", dict(parts)[b"IHDR"][:10])
assert (depth, colour) == (8, 2), "8 bits, RGB"
image = list(lines(width, height, b"".join(body for kind, body in parts if kind == b"IDAT")))
size = (width - 2 * MARGIN) // chunks
assert size * chunks + 2 * MARGIN == width, (width, size)
for row in range(rows):
    line = image[MARGIN + row * ROW + 1]
    seen = [tuple(line[3 * (MARGIN + c * size) : 3 * (MARGIN + c * size) + 3]) for c in range(chunks)]
    if row == rows - 1:
        assert seen[first] == (0x8C, 0x95, 0x9F), seen[first]
        continue
    touched = [c for c in range(chunks) if seen[c][0] < 0x40]
    assert touched == list(range(first, end)), (row, touched)
