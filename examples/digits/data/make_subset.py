"""Cuts the small digits set out of MNIST: the first 200 training and 100 test images of each digit, in file order.

    python3 make_subset.py FOLDER_WITH_MNIST [OUTPUT_FOLDER]
"""

import gzip
import struct
import sys
from pathlib import Path


def read(path):
    data = gzip.decompress(path.read_bytes())
    rank = data[3]
    sizes = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return sizes, data[4 + 4 * rank :]


def write(path, sizes, data):
    header = bytes([0, 0, 8, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes)
    path.write_bytes(gzip.compress(header + data, compresslevel=9, mtime=0))


def subset(source, target, images, labels, names, per_digit):
    (count, rows, columns), pixels = read(source / images)
    _, digits = read(source / labels)
    taken, left = [], [per_digit] * 10
    for i in range(count):
        if left[digits[i]] > 0:
            left[digits[i]] -= 1
            taken.append(i)
    size = rows * columns
    chosen = b"".join(pixels[i * size : (i + 1) * size] for i in taken)
    write(target / names[0], (len(taken), rows, columns), chosen)
    write(target / names[1], (len(taken),), bytes(digits[i] for i in taken))


if __name__ == "__main__":
    source = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent
    train = ("train-images.gz", "train-labels.gz")
    test = ("test-images.gz", "test-labels.gz")
    subset(source, target, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", train, 200)
    subset(source, target, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", test, 100)
