"""Simulates the two tables of this folder.

    line.csv            y ~ Normal(0.2 + 0.8 x, 0.3), x uniform on (-2, 2), 100 rows
    wave.csv, grid.csv  y ~ Normal(sin(4 x) + x / 2, 0.2), x uniform on (-1, 1), 2000 rows; the grid is regular, for the test
"""
import csv
import math
import random

rng = random.Random(7)


def write(name, rows):
    with open(name, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["x", "y"])
        table.writerows([round(x, 4), round(y, 4)] for x, y in rows)


def line(x):
    return x, 0.2 + 0.8 * x + rng.gauss(0, 0.3)


def wave(x):
    return x, math.sin(4 * x) + x / 2 + rng.gauss(0, 0.2)


write("line.csv", [line(rng.uniform(-2, 2)) for _ in range(100)])
write("wave.csv", [wave(rng.uniform(-1, 1)) for _ in range(2000)])
write("grid.csv", [wave(at / 200 - 1) for at in range(401)])
