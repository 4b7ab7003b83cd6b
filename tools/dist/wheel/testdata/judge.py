"""Decides with the installed package and compares with the program, in a folder with costs.parquet, policies and report."""

import argparse
import contextlib
import csv
import gc
import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import re
import socket
import subprocess
import sys
import unittest
import warnings
import urllib.request
from pathlib import Path

import numpy as np
import packaging.metadata
import pandas
import polars
import pyarrow
import pyarrow.parquet

import pipe_defer
from pipe_defer import InputError, Policy, PolicyError, PriceError, run
from pipe_defer.prices import Actions

NAMES = ["length", "code", "setup"]
FIXED, ANY = "policies/auto-lambda1.onnx", "any/auto-any-price.onnx"


def program(policy, rows, *flags):
    """The decisions of the program."""
    run("decide", "--policy", policy, "--in", rows, "--out", "decisions.csv", "--scores", *flags)
    return pipe_defer.read("decisions.csv")


def setUpModule():
    """Rows of the tutorial, and policies of every kind."""
    table = pyarrow.parquet.read_table("costs.parquet")
    features = np.stack(table["features"].to_numpy())
    global FEATURES, FRAME
    FEATURES = features.astype(np.float32)
    FRAME = pandas.DataFrame({"setup": FEATURES[:, 2].astype("int64"), "id": table["id"].to_numpy(), "code": FEATURES[:, 1] > 0, "length": FEATURES[:, 0].astype("float64")})
    rows = FRAME.assign(code=FRAME["code"].astype(int))
    rows.to_csv("rows.csv", index=False)
    Path("train.json").write_text('{"train": {"methods": [], "auto": {"networks": []}}}')  # networks take longest
    run("train", "--in", "costs.parquet", "--any-price", "--config", "train.json", "--out", "any")


class Decide(unittest.TestCase):
    def same(self, got, want):
        np.testing.assert_array_equal(got.action, want["action"])
        for name in ("expert", "advice", "expert_index", "advice_index"):
            self.assertEqual(getattr(got, name).tolist(), want[name].tolist(), name)
        np.testing.assert_allclose(got.expected_loss, want["expected_loss"], atol=1e-5)
        np.testing.assert_allclose(got.expected_cost, want["expected_cost"], atol=1e-5)

    def test_every_form_of_rows(self):
        policy = Policy(FIXED)
        self.assertEqual((policy.feature_names, policy.experts, policy.pairs[3]), (tuple(NAMES), ("small", "large"), "large/docs"))
        want = program(FIXED, "rows.csv")
        self.assertGreater(len(set(want["action"])), 2)
        arrow = pyarrow.Table.from_pandas(FRAME)
        lists = pyarrow.FixedSizeListArray.from_arrays(FEATURES.ravel(), 3)
        for form, rows in {
            "array": FEATURES, "float64": FEATURES.astype(float), "column-major": np.asfortranarray(FEATURES), "lists": FEATURES.tolist(),
            "pandas": FRAME, "pandas, float32": pandas.DataFrame(FEATURES, columns=NAMES), "pandas, nullable": FRAME[NAMES].convert_dtypes(),
            "polars": polars.from_pandas(FRAME), "pyarrow": arrow, "pyarrow, in chunks": pyarrow.concat_tables([arrow[:700], arrow[700:]]),
            "tensor": pipe_defer.read("costs.parquet", "pyarrow"), "tensor, pandas": pipe_defer.read("costs.parquet", "pandas"),
            "tensor, polars": pipe_defer.read("costs.parquet", "polars"), "fixed lists": pyarrow.table({"features": lists}),
            "a batch of pyarrow": arrow.combine_chunks().to_batches()[0], "masked, without a mask": np.ma.array(FEATURES),
            "arrays in polars": polars.DataFrame({"features": FEATURES}), "wide integers": polars.from_pandas(FRAME).cast({"length": polars.Int128, "setup": polars.UInt128}),
        }.items():  # fmt: skip
            with self.subTest(form):
                self.same(policy.decide(rows), want)
        for none in (FRAME[:0], FEATURES[:0], [], (), np.array([])):
            self.assertEqual(len(policy.decide(none)), 0)

    def test_named_columns_before_a_column_of_lists(self):
        policy, want = Policy(FIXED), program(FIXED, "rows.csv")
        other = FEATURES[::-1].tolist()
        for form, rows in {
            "polars": polars.from_pandas(FRAME).with_columns(features=polars.Series(other)), "a column of texts": FRAME.assign(features="?"),
            "pyarrow": pyarrow.Table.from_pandas(FRAME).append_column("features", pyarrow.array(other)),
        }.items():  # fmt: skip
            with self.subTest(form):
                self.same(policy.decide(rows), want)
        some = polars.from_pandas(FRAME).drop("code").with_columns(features=polars.Series(FEATURES.tolist()))
        self.same(policy.decide(some), want)

    def test_nothing_is_copied_that_need_not_be(self):
        from pipe_defer.rows import matrix

        for form, rows, base in [
            ("array", FEATURES, FEATURES),
            ("pandas", pandas.DataFrame(FEATURES, columns=NAMES, copy=False), FEATURES),
            ("pyarrow", pyarrow.table({"features": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(flat := FEATURES.ravel()), 3)}), flat),
        ]:
            with self.subTest(form):
                self.assertTrue(np.shares_memory(matrix(rows, NAMES, 3), base))

    def test_columns(self):
        columns = Policy(FIXED).decide(FRAME).columns()
        want = program(FIXED, "rows.csv")
        for frame in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)):
            names = list(getattr(frame, "column_names", frame.columns))
            self.assertEqual(names, [n for n in want.columns if n in columns])
            self.assertEqual(list(frame["expert"].to_pylist() if isinstance(frame, pyarrow.Table) else frame["expert"]), list(want["expert"]))

    def test_prices_and_what_is_left_out(self):
        policy = Policy(ANY)
        self.same(policy.decide(FRAME), program(ANY, "rows.csv"))
        self.same(
            policy.decide(FRAME, prices={"lambda": 0.5, "experts": {"large": 0.6}, "advice": {"docs": 0.02}}, unavailable={"pairs": ["small/docs"]}),
            program(ANY, "rows.csv", "--lambda", "0.5", "--fee", "expert=large:0.6", "--fee", "advice=docs:0.02", "--without", "pair=small/docs"),
        )
        dear = policy.decide(FRAME, prices={"pairs": {"large/docs": 100}})
        self.assertNotIn(3, dear.action)
        for path in (FIXED, ANY):
            self.same(Policy(path).decide(FRAME, unavailable={"experts": ["large"]}), program(path, "rows.csv", "--without", "expert=large"))
            self.same(Policy(path).decide(FRAME, unavailable={"advice": ["docs"]}), program(path, "rows.csv", "--without", "advice=docs"))
        for wrong, says in [
            ({"prices": {"experts": {"huge": 1}}}, "'huge'.*'small', 'large'"), ({"prices": {"experts": {"large": -1}}}, "-1"),
            ({"prices": {"experts": {"large": float("nan")}}}, "nan"), ({"prices": {"advice": {"none": 1}}}, "free"), ({"prices": {"fee": 1}}, "fee"),
            ({"unavailable": {"experts": ["small", "large"]}}, "no pair"), ({"unavailable": {"pairs": ["small"]}}, "small/none"),
            ({"prices": {"lambda": 1.1e12}}, r"from 0 to 1e\+12"), ({"prices": {"pairs": {"large/docs": 3e38}}}, r"3e\+38"), ({"prices": {"lambda": True}}, "True"),
            ({"prices": {"experts": None}}, "expert.*None"), ({"prices": ["lambda"]}, "not a dict"), ({"prices": {1: 2, "a": 3}}, "1, 'a'"),
            ({"unavailable": {"experts": "large"}}, "list"), ({"unavailable": {"experts": None}}, "list"),
        ]:  # fmt: skip
            with self.subTest(wrong), self.assertRaisesRegex(PriceError, says):
                policy.decide(FRAME, **wrong)
        with self.assertRaisesRegex(PriceError, "any-price"):
            Policy(FIXED).decide(FRAME, prices={"lambda": 2})

    def test_guarantee(self):
        run("calibrate", "--policy", ANY, "--in", "costs.parquet", "--risk", "0.1", "--method", "crc", "--lambda", "1", "--out", "guarded.onnx")
        policy, want = Policy("guarded.onnx"), program("guarded.onnx", "rows.csv")
        got = policy.decide(FRAME)
        self.assertEqual((got.promised, policy.about["guarantee"]["instead"]["name"]), (True, "abstain"))
        self.assertEqual(got.accepted.tolist(), want["accepted"].tolist())
        self.assertIsNone(Policy(ANY).decide(FRAME).accepted)
        run("calibrate", "--policy", ANY, "--in", "costs.parquet", "--risk", "0.1", "--method", "crc", "--random-prices", "--out", "law.onnx")
        run("calibrate", "--policy", FIXED, "--in", "costs.parquet", "--risk", "0.1", "--method", "crc", "--out", "fixed.onnx")
        for path, given, flags, promised in [
            ("guarded.onnx", {"prices": {"lambda": 2}}, ["--lambda", "2"], False),
            ("guarded.onnx", {"prices": {"experts": {"large": 0.15}}}, ["--fee", "expert=large:0.15"], True),
            ("guarded.onnx", {"unavailable": {"experts": ["large"]}}, ["--without", "expert=large"], False),
            ("law.onnx", {}, [], False), ("law.onnx", {"prices": {"lambda": 2}}, ["--lambda", "2"], False),
            ("fixed.onnx", {}, [], True), ("fixed.onnx", {"unavailable": {"pairs": ["large/docs"]}}, ["--without", "pair=large/docs"], False),
        ]:  # fmt: skip
            with self.subTest(path, given=given):
                got, want = Policy(path).decide(FRAME, **given), program(path, "rows.csv", *flags)
                np.testing.assert_array_equal(got.accepted, want["accepted"])
                self.assertEqual(got.promised, promised)
                if given != {"unavailable": {"experts": ["large"]}}:
                    self.assertEqual(len(set(want["accepted"])), 2)

    def test_names_with_a_slash(self):
        about = {"experts": [{"name": "a"}, {"name": "a/b"}], "advice": [{"name": "none"}, {"name": "b/none"}], "unavailable": [{"expert": "a", "advice": "b/none"}]}
        actions = Actions(about)
        self.assertEqual(actions.exists.tolist(), [True, False, True, True])
        with self.assertRaisesRegex(PriceError, "two pairs"):
            actions.allowed({"pairs": ["a/b/none"]})


class Refused(unittest.TestCase):
    def test_rows(self):
        policy = Policy(FIXED)
        gap, far = FRAME.copy(), FEATURES.astype(float)
        gap.loc[[3, 7], "length"] = np.nan
        far[5, 0] = 1e39
        for case, rows, says in [
            ("two columns of one name", pandas.DataFrame(np.zeros((2, 4)), columns=["length", *NAMES]), "two columns"), ("no such column", FRAME.drop(columns="code"), "no column 'code'"), ("a date", FRAME.assign(code=pandas.Timestamp("2026-01-01")), "'code'.*Datetime"),
            ("texts", FRAME.assign(code="1"), "'code'"), ("an array of texts", FEATURES.astype(str), "numbers"), ("a row", FEATURES[0], r"\(3,\)"),
            ("too narrow", FEATURES[:, :2], "rows x 3"), ("rows of two lengths", [[1, 2, 3], [1]], "lengths"), ("a lazy frame", polars.LazyFrame(FRAME), "in memory"),
            ("a text", "words", "rows x 3"), ("nothing", None, "rows x 3"), ("objects", FEATURES.astype(object), "object"), ("complex", FEATURES.astype(complex), "complex"),
            ("lists of two", pyarrow.table({"features": [[1.0, 2.0, 3.0], [1.0]]}), "lists of 3"), ("no lists", pyarrow.table({"features": [1.0]}), "lists of 3"),
            ("lists of what pyarrow does not know", polars.DataFrame({"features": [[1, 2, 3]]}, {"features": polars.List(polars.Int128)}), r"'features' has the type List\(Int128\)"),
        ]:  # fmt: skip
            with self.subTest(case), self.assertRaisesRegex(InputError, says):
                policy.decide(rows)
        class Frame:
            """A frame of a library that nothing here knows, with an array whose columns have another order."""

            columns = ["setup", "code", "length"]

            def __array__(self, dtype=None, copy=None):
                return FEATURES[:, ::-1]

        with self.assertRaisesRegex(InputError, "Frame.*pandas, polars or pyarrow"):
            policy.decide(Frame())
        masked = np.ma.array(FEATURES, mask=np.isin(np.arange(len(FEATURES)), (3, 7))[:, None].repeat(3, axis=1))
        for kind in ("float[pyarrow]", "double[pyarrow]", "Float32"):
            frame = gap[NAMES].astype("float64").astype(kind).mask(gap[NAMES].isna())
            with self.subTest(kind), self.assertRaises(InputError) as caught:
                policy.decide(frame)
            self.assertEqual(caught.exception.rows, (3, 7))
        for rows, bad in [(masked, (3, 7)), (masked.astype(int), (3, 7)), (list(masked), (3, 7)), (gap, (3, 7)), (polars.from_pandas(gap), (3, 7)), (pyarrow.Table.from_pandas(gap), (3, 7)), (gap.convert_dtypes(), (3, 7)), (far, (5,))]:
            with self.assertRaises(InputError) as caught:
                policy.decide(rows)
            self.assertEqual(caught.exception.rows, bad)

    def test_files(self):
        Path("text.onnx").write_text("no policy")
        Path("alone.onnx").write_bytes(Path(FIXED).read_bytes())
        Path("other.onnx").write_bytes(Path(ANY).read_bytes())
        Path("other.onnx.json").write_bytes(Path(FIXED + ".json").read_bytes())
        Path("broken.onnx").write_bytes(b"x")
        Path("broken.onnx.json").write_text("{")
        for path, says in [("text.onnx", "text.onnx.json is missing"), ("alone.onnx", "keep both"), ("other.onnx", "another file"), ("broken.onnx", "not JSON")]:
            with self.subTest(path), self.assertRaisesRegex(PolicyError, says):
                Policy(path)
        for opens in (Policy, pipe_defer.TextEncoder):
            with self.assertRaisesRegex(PolicyError, "policies cannot be read"):
                opens("policies")
        about = json.loads(Path(FIXED + ".json").read_text())
        for changed, says in [
            ({"kind": "cascade"}, "cascade.*run"), ({"format": 2}, "newer"), ({"encoder": {"input": "image"}}, "image.*run"), ({"kind": None}, "None"),
            ({"sha256": hashlib.sha256(b"x").hexdigest()}, "cannot open"),
        ]:  # fmt: skip
            Path("changed.onnx").write_bytes(b"x" if "sha256" in changed else Path(FIXED).read_bytes())
            Path("changed.onnx.json").write_text(json.dumps(about | changed))
            with self.subTest(changed), self.assertRaisesRegex(PolicyError, says):
                Policy("changed.onnx")
        Path("changed.onnx.json").write_text("[]")
        with self.assertRaisesRegex(PolicyError, "not the description"):
            Policy("changed.onnx")
        with self.assertRaises(FileNotFoundError):
            Policy("none.onnx")
        with self.assertRaisesRegex(pipe_defer.ProgramError, "none.onnx") as caught:
            run("inspect", "none.onnx")
        self.assertEqual(caught.exception.code, 3)
        with self.assertRaisesRegex(PolicyError, "no encoder"):
            pipe_defer.TextEncoder(FIXED)

    def test_tables(self):
        for path, error in [("none.csv", FileNotFoundError), ("text.onnx", InputError), ("policies", InputError)]:
            with self.subTest(path), self.assertRaises(error):
                pipe_defer.read(path)
        Path("bad.parquet").write_text("no table")
        Path("bad.csv.gz").write_text("no gzip")
        Path("cut.csv.gz").write_bytes(gzip.compress(Path("rows.csv").read_bytes())[:-99])
        for path in ("bad.parquet", "bad.csv.gz", "cut.csv.gz"):
            with self.subTest(path), self.assertRaisesRegex(InputError, path):
                pipe_defer.read(path)
        with self.assertRaises(FileNotFoundError):
            pipe_defer.read_log("policies")


class Texts(unittest.TestCase):
    """A policy behind an encoder that is fitted to texts, and an encoder and a policy apart."""

    def test_texts(self):
        rng = np.random.default_rng(0)
        words = np.array("how does the setup of this code work for a long and difficult question about prices".split())
        texts = [" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(400)]
        hard = np.array(["code" in t for t in texts])
        with open("questions.csv", "w", newline="") as file:
            write = csv.writer(file)
            write.writerow(["id", "text", "small", "large"])
            write.writerows([i, t, int(not h), 1] for i, (t, h) in enumerate(zip(texts, hard)))
        run("featurize", "--text", "text", "--in", "questions.csv", "--dim", "8", "--out", "encoder.onnx")
        Path("questions.json").write_text(json.dumps({
            "outcomes": {"file": "questions.csv", "columns": {"id": "id"}, "wide": {"value": "correct", "pairs": [{"expert": e, "column": e} for e in ("small", "large")]}},
            "fees": {"experts": {"small": 0, "large": 0.2}}, "features": [{"text": {"column": "text", "encoder": "encoder.onnx"}}], "split": {"validation": 0.25},
        }))  # fmt: skip
        run("import", "--config", "questions.json", "--out", "questions.parquet")
        run("train", "--in", "questions.parquet", "--config", "train.json", "--out", "texts")
        run("convert", "encoder.onnx", "--merge", "texts/auto-lambda1.onnx", "--out", "merged.onnx")
        want = program("merged.onnx", "questions.csv", "--text", "text")
        self.assertEqual(len(set(want["action"])), 2)
        encoder, policy = pipe_defer.TextEncoder("encoder.onnx"), Policy("merged.onnx")
        self.assertTrue(policy.text)
        for rows in (texts, pandas.Series(texts), polars.Series(texts), pyarrow.chunked_array([texts[:9], texts[9:]])):
            np.testing.assert_array_equal(policy.decide(rows).action, want["action"])
        apart = Policy("texts/auto-lambda1.onnx", encoder=encoder)
        np.testing.assert_array_equal(apart.decide(texts).action, want["action"])
        with self.assertRaisesRegex(PolicyError, "merged.onnx has its encoder inside"):
            Policy("merged.onnx", encoder=encoder)
        self.assertEqual(encoder.encode([]).shape, (0, 8))
        self.assertEqual(len(policy.decide([])), 0)
        self.assertEqual(policy.decide([""]).expert.tolist(), policy.decide(["", "code"]).expert[:1].tolist())
        with self.assertRaisesRegex(InputError, "row 1"):
            policy.decide(["a", None])
        for reads in (policy.decide, encoder.encode):
            with self.assertRaisesRegex(InputError, "row 1 has half of a character") as caught:
                reads(["ok", "\ud800", "\U0001f600", "a\udfff"])
            self.assertEqual(caught.exception.rows, (1, 3))
        for rows in ("a", pandas.DataFrame({"text": texts}), {"text": texts}, pyarrow.table({"text": texts}), None):
            with self.assertRaisesRegex(InputError, "give a list of texts"):
                policy.decide(rows)


class Served(unittest.TestCase):
    def test_server(self):
        with pipe_defer.Server("policies", log="served") as server:
            self.assertEqual(server.ask("/v1/policies")["policies"][0]["name"], "auto-lambda1")
            answer = server.decide(features=FEATURES[:50].tolist(), top=1)
            self.assertEqual([d["index"] for d in answer["decisions"]], Policy(FIXED).decide(FEATURES[:50]).action.tolist())
            self.assertEqual(server.outcome(id=answer["decisions"][0]["id"], correct=True)["accepted"], 1)
            with self.assertRaises(pipe_defer.ServerError) as caught:
                server.decide(features=[[1]])
            self.assertEqual(caught.exception.status, 422)
            self.assertEqual(server.decide(features=FEATURES[:1], top=np.int64(1))["decisions"][0]["index"], answer["decisions"][0]["index"])
            for features in ([[float("nan")]], [[object()]]):
                with self.assertRaisesRegex(InputError, "JSON"):
                    server.decide(features=features)
            self.assertIn("# TYPE pipe_", server.ask("/metrics"))
            server.messages()
            server.ask("/v1/policies/reload", {})
            self.assertTrue(all(json.loads(line) for line in server.messages().splitlines()))
            with self.assertWarns(UserWarning), self.assertRaises(FileNotFoundError):
                pipe_defer.read_log("served")
            url = server.url
        with self.assertRaises(OSError):
            urllib.request.urlopen(url + "/healthz", timeout=5)
        with self.assertRaisesRegex(pipe_defer.ServerError, "does not run"):
            server.decide(features=[[1, 2, 3]])
        for library in ("pandas", "polars", "pyarrow"):
            self.assertEqual(len(pipe_defer.read_log("served", library=library)), 51)
        self.assertEqual(server.url, "")
        self.assertIn("stopped", server.messages())
        self.assertEqual(pipe_defer.read_log("served", "outcomes")["correct"].tolist(), [True])

    def test_no_server(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ResourceWarning)
            pipe_defer.Server("policies")
            for server, says in [(pipe_defer.Server("none.onnx"), "(?s)ended with the exit code 3.*none.onnx"), (pipe_defer.Server("policies", wait=0), "within 0 s")]:
                with self.assertRaisesRegex(pipe_defer.ServerError, says):
                    server.start()
            del server
            gc.collect()
        self.assertEqual([str(w.message) for w in said], [])

    def test_no_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent, pipe_defer.Server("policies", timeout=0.2) as server:
            server.url = "http://127.0.0.1:%d" % silent.getsockname()[1]
            with self.assertRaisesRegex(pipe_defer.ServerError, "timed out"):
                server.ask("/v1/policies")


class Tables(unittest.TestCase):
    def test_report(self):
        report = json.loads(Path("report/report.json").read_text())
        for library in ("pandas", "polars", "pyarrow"):
            frame = pipe_defer.read("report/report.csv", library)
            self.assertEqual(len(frame), len(report["rows"]))
        pandas_frame = pipe_defer.read("report/report.csv")
        self.assertEqual([r["method"] for r in report["rows"]], pandas_frame["method"].tolist())

    def test_decisions(self):
        for kind in ("csv", "jsonl", "parquet"):
            run("decide", "--policy", FIXED, "--in", "rows.csv", "--out", "d." + kind)
        frames = [pipe_defer.read("d." + kind) for kind in ("csv", "jsonl", "parquet")]
        for frame in frames:
            self.assertEqual(frame["id"].tolist(), FRAME["id"].tolist())
            self.assertEqual(frame["action"].tolist(), frames[0]["action"].tolist())


class Page(unittest.TestCase):
    def test_blocks(self):
        """What docs/python.md shows runs, all but the block that trains again, and prints what the comments say."""
        names, ran = {}, 0
        for block in re.findall("^```python\n(.*?)^```$", Path(PAGE).read_text(), re.M | re.S):
            if '"train"' in block:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(block, names)
            for line in re.findall(r"^print\(.*# ([\[(].*)$", block, re.M):
                self.assertIn(line, printed.getvalue().splitlines())
                ran += 1
        self.assertGreater(ran, 1)


class Package(unittest.TestCase):
    def test_metadata(self):
        about = importlib.metadata.distribution("pipe-defer")
        packaging.metadata.Metadata.from_email(about.read_text("METADATA"), validate=True)
        self.assertEqual(about.version, VERSION)

    def test_command(self):
        pipe = Path(sys.executable).parent / "pipe"
        done = subprocess.run([pipe, "inspect", "none.onnx"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3, done.stderr)
        doctor = subprocess.run([pipe, "doctor"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
        self.assertIn("onnxruntime/capi", doctor.stdout, doctor.stderr)
        elsewhere = subprocess.run([pipe, "doctor"], capture_output=True, text=True, env=dict(os.environ, ONNXRUNTIME_LIB="/none"))
        self.assertNotEqual(elsewhere.returncode, 0, "a variable that is set was replaced")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--version", required=True)
    arguments.add_argument("--page", required=True)
    known, rest = arguments.parse_known_args()
    VERSION, PAGE = known.version, known.page
    unittest.main(argv=[sys.argv[0], *rest])
