"""What the clients ask, and what is right.

A case is a JSON file. It has the addresses ("http" as host:port, and "grpc"), and models: each with its name, its inputs
as name, datatype, shape and data, and its outputs as name, datatype, shape and data. Numbers are compared bit for bit.
"""

import json
import sys

import numpy as np

types = {"BOOL": np.bool_, "INT64": np.int64, "FP32": np.float32}


def read():
    """The case that the command line names."""
    with open(sys.argv[1]) as f:
        return json.load(f)


def array(t):
    """The numpy array of a tensor of the case."""
    return np.array(t["data"], dtype=types[t["datatype"]]).reshape(t["shape"])


def check(condition, what):
    """Ends unless the condition holds."""
    if not condition:
        sys.exit(what)


def same(what, got, want):
    """Ends if two arrays differ in type, shape or any bit."""
    if got is None or got.dtype != want.dtype or got.shape != want.shape or got.tobytes() != want.tobytes():
        sys.exit(f"{what}: got {got!r}, not {want!r}")
