"""Prints what Open Bandit Pipeline 0.5.7 estimates for logs, as JSON. Usage: openbandit.py LOGS.json

obp states that it wants an older Python: pip install --no-deps --ignore-requires-python obp==0.5.7, and numpy, scipy,
scikit-learn, pandas, PyYAML and tqdm. Its import needs packages that these estimators do not use; where they are not
installed, empty modules stand in.
"""
import importlib, json, sys, types


class Empty(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(self.__name__ + "." + name) or type(name, (), {})


for package in ("torch", "matplotlib", "seaborn", "pyieoe"):
    try:
        importlib.import_module(package)
    except ImportError:
        for name in (package, package + ".nn", package + ".nn.functional", package + ".optim", package + ".utils", package + ".utils.data", package + ".pyplot"):
            sys.modules[name] = Empty(name)

import numpy as np
from obp import ope
from sklearn.base import BaseEstimator, RegressorMixin

used = []


class Recorder(BaseEstimator, RegressorMixin):
    """Notes the weights that it is fitted with."""

    def fit(self, X, y, sample_weight=None):
        used.append(np.asarray(sample_weight, dtype=float))
        return self

    def predict(self, X):
        return np.zeros(len(X))


def estimates(log):
    n, a = len(log["Executed"]), log["Pairs"]
    action, cost = np.array(log["Executed"]), np.array(log["Cost"])
    logged, q = np.array(log["Logged"]).reshape(n, a), np.array(log["Estimates"]).reshape(n, a, 1)
    pscore = logged[np.arange(n), action]
    shared = dict(reward=cost, action=action, pscore=pscore, estimated_rewards_by_reg_model=q)
    all = {
        "ips": ope.InverseProbabilityWeighting(),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting(),
        "dm": ope.DirectMethod(),
        "dr": ope.DoublyRobust(),
        "switch": ope.SwitchDoublyRobust(lambda_=log["tau"]),
        "dros": ope.DoublyRobustWithShrinkage(lambda_=log["lambda"]),
    }
    out = {}
    for policy in ("Target", "Baseline"):
        dist = np.array(log[policy]).reshape(n, a, 1)
        out[policy] = {name: float(e.estimate_policy_value(action_dist=dist, **shared)) for name, e in all.items()}
    del used[:]
    ope.RegressionModel(n_actions=a, base_model=Recorder(), fitting_method="mrdr").fit(
        context=np.zeros((n, 1)), action=action, reward=cost, pscore=pscore, action_dist=np.array(log["Target"]).reshape(n, a, 1))
    out["MRDR"] = used[0].tolist()
    return out


json.dump([estimates(log) for log in json.load(open(sys.argv[1]))], sys.stdout)
