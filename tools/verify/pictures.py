#!/usr/bin/env python3
"""Write pictures whose pixels every decoder reads alike: PNG files, their list, and the pixels themselves.

usage: pictures.py CROPS OUT      CROPS holds *.u8, raw uint8 of 224 x 224 x 3

OUT gets NUMBER.png, pictures.jsonl (id, image) and pixels.npy (pictures x 224 x 224 x 3): every crop as it is, mirrored,
upside down and turned.
"""

import glob
import json
import os
import struct
import sys
import zlib

import numpy as np

SIDE = 224


def png(pixels):
    """One RGB picture, without filters."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def main():
    crops, out = sys.argv[1], sys.argv[2]
    os.makedirs(out, exist_ok=True)
    pictures = []
    for path in sorted(glob.glob(os.path.join(crops, "*.u8"))):
        p = np.fromfile(path, np.uint8).reshape(SIDE, SIDE, 3)
        pictures += [p, p[:, ::-1], p[::-1], p.transpose(1, 0, 2)]
    pixels = np.ascontiguousarray(pictures)
    with open(os.path.join(out, "pictures.jsonl"), "w") as f:
        for n, p in enumerate(pixels):
            with open(os.path.join(out, f"{n}.png"), "wb") as image:
                image.write(png(p))
            f.write(json.dumps({"id": n, "image": f"{n}.png"}) + "\n")
    np.save(os.path.join(out, "pixels.npy"), pixels)


if __name__ == "__main__":
    main()
