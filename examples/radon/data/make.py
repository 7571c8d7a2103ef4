"""Simulates radon levels in houses of 40 counties: the truth is known, so the example can be checked.

    level_j ~ Normal(1.4 + 0.7 * uranium_j, 0.35)          a county's level
    log_radon ~ Normal(level_county - 0.6 * floor, 0.75)   a house; floor is 1 on the first floor, 0 in the basement
"""
import csv
import random

rng = random.Random(20)
uranium = [round(rng.gauss(0, 0.5), 4) for _ in range(40)]
level = [1.4 + 0.7 * u + rng.gauss(0, 0.35) for u in uranium]
with open("counties.csv", "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["uranium"])
    table.writerows([u] for u in uranium)
with open("radon.csv", "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["county", "floor", "log_radon"])
    for county in range(40):
        for _ in range(rng.choice([2, 4, 8, 16, 40])):
            floor = int(rng.random() < 0.2)
            table.writerow([county, floor, round(level[county] - 0.6 * floor + rng.gauss(0, 0.75), 4)])
