"""Simulates cubic.csv: twenty rows, x uniform on [-4, 4], y = x^3 and noise of standard deviation 3."""

import pathlib
import random

random.seed(0)
rows = [(x, x**3 + random.gauss(0.0, 3.0)) for x in (random.uniform(-4.0, 4.0) for _ in range(20))]
lines = ["x,y"] + [f"{x:.6f},{y:.6f}" for x, y in rows]
pathlib.Path(__file__).with_name("cubic.csv").write_text("\n".join(lines) + "\n")
