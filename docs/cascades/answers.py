"""Prints the table of docs/cascades.md: invented requests, and what two models answered.

The chances below are the whole world: nothing was asked and nothing was measured. Run it as
    python3 answers.py > answers.csv
"""

import random

random.seed(1)
labels = ["refund", "delivery", "other"]
print("request,length,small,small_says,small_sure,large,large_says,large_sure")
for n in range(2000):
    length = random.randrange(20, 4020)  # characters: they say little about the answers
    hard = random.random() < 0.25 + length / 40000  # no feature says it
    truth = random.choice(labels)

    # The small model is wrong on most of the hard requests, and less sure there. The large one is seldom wrong.
    cells = []
    for right, sure in [(0.3 if hard else 0.97, 0.5 if hard else 0.85), (0.92 if hard else 0.98, 0.9)]:
        correct = random.random() < right
        says = truth if correct else random.choice([l for l in labels if l != truth])
        cells += [int(correct), says, round(min(0.99, max(0.01, random.gauss(sure, 0.12))), 2)]
    print(f"r{n:04}", length, *cells, sep=",")
