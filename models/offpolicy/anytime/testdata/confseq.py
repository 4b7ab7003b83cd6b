"""Makes confseq.json: lower ends of the predictable plug-in empirical Bernstein sequence by confseq 0.0.11.

confseq has no wheel for every Python, so its plain modules are read from an unpacked wheel:
    pip download --no-deps confseq==0.0.11 --only-binary=:all: --platform manylinux_2_17_x86_64 --python-version 310
    python -m zipfile -e confseq-*.whl FOLDER
    python confseq.py FOLDER > confseq.json
"""
import json, sys, types

sys.path.insert(0, sys.argv[1])
for name in ("multiprocess", "matplotlib", "matplotlib.pyplot"):  # of plots and processes, which are not used
    sys.modules[name] = types.ModuleType(name)
import numpy as np

np.float_ = np.float64  # NumPy 2 has only the other name
from confseq.betting_strategies import lambda_predmix_eb
from confseq.predmix import predmix_empbern_lower_cs

x = np.round(np.random.default_rng(5).beta(2, 5, 300), 6)
json.dump({
    "x": x.tolist(),
    "lambda": lambda_predmix_eb(x, truncation=0.5, alpha=0.025).tolist(),
    "lower": predmix_empbern_lower_cs(x, alpha=0.025, truncation=0.5).tolist(),
}, sys.stdout)
