"""Prints the table of docs/tutorial.md: invented requests, and which of four pairs answered each one correctly.

The chances below are the whole world: nothing was asked and nothing was measured. Run it as
    python3 outcomes.py > outcomes.csv
"""

import random

random.seed(1)
print("request,length,code,setup,second,small,small_docs,large,large_docs")
lengths = random.sample(range(20, 4020), 2000)  # characters
seconds = random.sample(range(86400), 2000)  # the time of day: independent of the answers
for n, (length, second) in enumerate(zip(lengths, seconds)):
    code = int(random.random() < 0.3)  # does the request contain code?
    setup = int(random.random() < 0.3)  # is it about setup?

    # The chance of a correct answer. Long requests and code are hard for the small model. Only the docs describe the
    # setup. On other topics the docs distract both models a little.
    small = 0.95 - 0.00008 * length - 0.4 * code
    large = 0.95 - 0.00002 * length - 0.05 * code
    if setup:
        chances = [0.25, small, 0.35, large]
    else:
        chances = [small, small - 0.03, large, large - 0.03]
    right = [int(random.random() < p) for p in chances]
    print(f"r{n:04}", length, code, setup, second, *right, sep=",")
