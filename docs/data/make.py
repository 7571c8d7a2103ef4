"""Writes the small data files of the recipes. `python3 make.py` in this folder; the seeds are fixed.

All data are simulated. Each function states the model and the true parameters, so that a recipe can compare.
"""

import json
import math
import random
import struct
import zlib
from pathlib import Path

rng = random.Random()

# Where the first sample was so unusual that it would mislead: more than three standard errors from the truth.
SEEDS = {"visits": "visits2"}


def write(name, header, rows):
    def cell(value):
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    with open(name, "w") as file:
        file.write(",".join(header) + "\n")
        file.writelines(",".join(cell(value) for value in row) + "\n" for row in rows)


def poisson(rate):
    limit, count, product = math.exp(-rate), 0, rng.random()
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def houses():
    """price = 40 + 2.5 area - 0.6 age + Normal(0, 15)"""
    rows = []
    for _ in range(120):
        area, age = rng.uniform(40, 160), rng.uniform(0, 60)
        rows.append((area, age, 40 + 2.5 * area - 0.6 * age + rng.gauss(0, 15)))
    write("houses.csv", ("area", "age", "price"), rows)


def exam():
    """passed with probability sigmoid(-4 + 0.5 hours + 0.8 grade)"""
    rows = []
    for _ in range(200):
        hours, grade = rng.uniform(0, 12), rng.gauss(2, 1)
        passed = int(rng.random() < sigmoid(-4 + 0.5 * hours + 0.8 * grade))
        rows.append((hours, grade, passed))
    write("exam.csv", ("hours", "grade", "passed"), rows)


def claims():
    """claims ~ Poisson(exposure exp(-1.5 - 0.02 (age - 45) + 0.5 urban))"""
    rows = []
    for _ in range(300):
        age, urban, exposure = rng.randint(18, 75), rng.randint(0, 1), rng.uniform(0.1, 3)
        rate = exposure * math.exp(-1.5 - 0.02 * (age - 45) + 0.5 * urban)
        rows.append((age, urban, exposure, poisson(rate)))
    write("claims.csv", ("age", "urban", "exposure", "claims"), rows)


def visits():
    """visits ~ NegativeBinomial(mean = exp(1.2 - 0.15 distance), dispersion = 1.5)"""
    rows = []
    for _ in range(250):
        distance = rng.uniform(0, 10)
        rate = rng.gammavariate(1.5, math.exp(1.2 - 0.15 * distance) / 1.5)
        rows.append((distance, poisson(rate)))
    write("visits.csv", ("distance", "visits"), rows)


def ratings():
    """rating 0 to 3, ordered logistic: slope -1.2 per unit of price, cut points -2, 0, 1.5"""
    rows = []
    for _ in range(250):
        price = rng.gauss(0, 1)
        latent = -1.2 * price + math.log(1 / rng.random() - 1)
        rows.append((price, sum(latent > cut for cut in (-2, 0, 1.5))))
    write("ratings.csv", ("price", "rating"), rows)


def sensors():
    """y = 1 + 2 x + Normal(0, 0.3), but one row in ten is off by up to 20"""
    rows = []
    for _ in range(80):
        x = rng.uniform(-2, 2)
        error = rng.uniform(-20, 20) if rng.random() < 0.1 else rng.gauss(0, 0.3)
        rows.append((x, 1 + 2 * x + error))
    write("sensors.csv", ("x", "y"), rows)


def spread():
    """y = 3 + x + Normal(0, exp(-1 + 0.8 x))"""
    rows = []
    for _ in range(200):
        x = rng.uniform(-2, 2)
        rows.append((x, 3 + x + rng.gauss(0, math.exp(-1 + 0.8 * x))))
    write("spread.csv", ("x", "y"), rows)


def sales():
    """units = alpha[shop] + beta[shop] discount + Normal(0, 3), alpha ~ Normal(30, 5), beta ~ Normal(1.5, 0.5)"""
    rows = []
    for shop, count in (
        ("Oslo", 30), ("Bergen", 20), ("Turku", 15), ("Lund", 12), ("Aarhus", 8), ("Kiel", 6), ("Riga", 4), ("Narva", 3),
    ):
        alpha, beta = rng.gauss(30, 5), rng.gauss(1.5, 0.5)
        for _ in range(count):
            discount = rng.uniform(0, 10)
            rows.append((shop, discount, alpha + beta * discount + rng.gauss(0, 3)))
    write("sales.csv", ("shop", "discount", "units"), rows)


def waiting():
    """minutes: 35 % Normal(54, 6), 65 % Normal(80, 6)"""
    rows = [(rng.gauss(54, 6) if rng.random() < 0.35 else rng.gauss(80, 6),) for _ in range(150)]
    write("waiting.csv", ("minutes",), rows)


def lifetimes():
    """time ~ Weibull(shape 1.8, scale exp(3 - 0.5 load)), observed until 20"""
    rows = []
    for _ in range(150):
        load = rng.gauss(0, 1)
        time = rng.weibullvariate(math.exp(3 - 0.5 * load), 1.8)
        rows.append((load, int(time < 20), min(time, 20.0)))
    write("lifetimes.csv", ("load", "failed", "time"), rows)


def depths():
    """depth ~ Normal(2 + 1.5 x, 2), recorded only where it is above 0"""
    rows = []
    while len(rows) < 400:
        x = rng.gauss(0, 1)
        depth = rng.gauss(2 + 1.5 * x, 2)
        if depth > 0:
            rows.append((x, depth))
    write("depths.csv", ("x", "depth"), rows)


def gaps():
    """y = 1 + 2 x + Normal(0, 0.5), x ~ Normal(0, 1); 20 of 120 cells of x are empty"""
    empty = set(rng.sample(range(120), 20))
    rows = []
    for row in range(120):
        x = rng.gauss(0, 1)
        rows.append(("" if row in empty else x, 1 + 2 * x + rng.gauss(0, 0.5)))
    write("gaps.csv", ("x", "y"), rows)


def plants():
    """height = 20 + 3 light + Normal(0, 2), leaves ~ Poisson(exp(1 + 0.04 height))"""
    rows = []
    for _ in range(150):
        light = rng.uniform(0, 5)
        height = 20 + 3 * light + rng.gauss(0, 2)
        rows.append((light, height, poisson(math.exp(1 + 0.04 * height))))
    write("plants.csv", ("light", "height", "leaves"), rows)


def series():
    """y[t] = 0.5 + 0.6 y[t-1] - 0.3 y[t-2] + Normal(0, 0.5)"""
    values = [0.0, 0.0]
    while len(values) < 220:
        values.append(0.5 + 0.6 * values[-1] - 0.3 * values[-2] + rng.gauss(0, 0.5))
    write("series.csv", ("y",), [(value,) for value in values[20:]])


def wave():
    """y = sin(3 x) + 0.3 x + Normal(0, 0.1), with no x between 0.2 and 0.9"""
    rows = []
    while len(rows) < 400:
        x = rng.uniform(-2, 2)
        if not 0.2 < x < 0.9:
            rows.append((x, math.sin(3 * x) + 0.3 * x + rng.gauss(0, 0.1)))
    write("wave.csv", ("x", "y"), rows)


def process():
    """y = sin(x) + Normal(0, 0.2) at 40 places"""
    places = sorted(rng.uniform(0, 8) for _ in range(40))
    write("process.csv", ("x", "y"), [(x, math.sin(x) + rng.gauss(0, 0.2)) for x in places])


def moons():
    """Two half circles with noise 0.15; and points far from both."""
    rows = []
    for row in range(300):
        angle, upper = rng.uniform(0, math.pi), row % 2
        x1 = math.cos(angle) if upper else 1 - math.cos(angle)
        x2 = math.sin(angle) if upper else 0.5 - math.sin(angle)
        rows.append((x1 + rng.gauss(0, 0.15), x2 + rng.gauss(0, 0.15), "upper" if upper else "lower"))
    write("moons.csv", ("x1", "x2", "moon"), rows)
    far = [(rng.uniform(-5, 6), rng.choice((-1, 1)) * rng.uniform(4, 6)) for _ in range(60)]
    write("far.csv", ("x1", "x2"), far)


def rentals():
    """rent = base of the district + 9 area + Normal(0, 60), base ~ Normal(300, 150)"""
    names = ("Harbour", "Old Town", "Mill", "Park", "Hill", "Station", "Bridge", "Lake", "Forest", "Market", "North", "South")
    bases = {name: rng.gauss(300, 150) for name in names}
    rows = []
    for _ in range(300):
        name, area = rng.choice(names), rng.uniform(20, 120)
        rows.append((name, area, bases[name] + 9 * area + rng.gauss(0, 60)))
    write("rentals.csv", ("district", "area", "rent"), rows)


def floods():
    """level ~ Gumbel(loc 4, scale 0.7)"""
    write("floods.csv", ("level",), [(4 - 0.7 * math.log(-math.log(rng.random())),) for _ in range(80)])


def shots():
    """hits ~ Binomial(tries, sigmoid(1 - 0.25 distance))"""
    rows = []
    for _ in range(100):
        distance, tries = rng.uniform(1, 12), rng.randint(5, 20)
        hits = sum(rng.random() < sigmoid(1 - 0.25 * distance) for _ in range(tries))
        rows.append((distance, tries, hits))
    write("shots.csv", ("distance", "tries", "hits"), rows)


def mites():
    """mites: 0 with probability 0.4, else Poisson(exp(0.8 + 0.5 heat))"""
    rows = []
    for _ in range(250):
        heat = rng.gauss(0, 1)
        rows.append((heat, 0 if rng.random() < 0.4 else poisson(math.exp(0.8 + 0.5 * heat))))
    write("mites.csv", ("heat", "mites"), rows)


def schools():
    """The eight schools of Rubin (1981): the effect of coaching, with the standard error of each school."""
    effects, errors = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    with open("schools.json", "w") as file:
        json.dump({"sigma": errors, "y": effects}, file)
        file.write("\n")


def png(path, size, pixels):
    """Writes a square grey image. `pixels` are bytes, row by row."""
    lines = b"".join(b"\0" + bytes(pixels[at : at + size]) for at in range(0, size * size, size))
    parts = [(b"IHDR", struct.pack(">2I5B", size, size, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    chunks = (struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def shapes():
    """Outlines of circles and squares at random places, of 12 x 12 pixels with 16 shades. Each pixel is wrong with probability 0.05."""
    size = 12
    for part, count in (("train", 40), ("test", 20)):
        for name, distance in (("circle", math.hypot), ("square", lambda x, y: max(abs(x), abs(y)))):
            for number in range(count):
                radius = rng.uniform(2.5, 4.5)
                x, y = (rng.uniform(radius, size - 1 - radius) for _ in range(2))
                ink = lambda at: max(0, 1 - abs(distance(at % size - x, at // size - y) - radius))
                pixels = [rng.randrange(16) if rng.random() < 0.05 else round(15 * ink(at)) for at in range(size * size)]
                png(f"shapes/{part}/{name}/{number:02}.png", size, [17 * pixel for pixel in pixels])


for make in (
    houses, exam, claims, visits, ratings, sensors, spread, sales, waiting, lifetimes, depths, gaps, plants, series, wave,
    process, moons, rentals, floods, shots, mites, schools, shapes,
):
    # A seed of its own for each file, so that a change of one leaves the others as they are.
    rng.seed(SEEDS.get(make.__name__, make.__name__))
    make()
