"""Writes Parquet files in many ways, and says in files.jsonl what pyarrow reads in them.

    parquet_judge.py FOLDER STRIDE

Of all combinations of writer, codec, page version, encoding and size, each STRIDE-th is written to FOLDER. For each file
there is one line, a JSON object: its name, and per column the SHA-256 of its values, one
line of text a row: a float as the hexadecimal digits of its bits, an integer in decimal, a string as length and bytes,
nothing for a null, a list as "[" and its elements; under "read" the same of what the cost tensor has, with ids as strings and features as float32. A
combination that its writer or pyarrow refuses has "skipped".
"""
import hashlib, json, os, struct, sys
import duckdb, numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq

folder, stride = sys.argv[1], int(sys.argv[2])
actions = json.dumps({"format": 1, "experts": [{"name": "e0", "fee": 0}, {"name": "e1", "fee": 0.5}],
                      "advice": [{"name": "none", "fee": 0}, {"name": "a1", "fee": 0.25}]})
with open(os.path.join(folder, "actions.json"), "w") as f:
    f.write(actions)


def table(rows, seed, random, keys):
    """A cost tensor with further columns. random: values that do not compress."""
    g = np.random.default_rng(seed)
    d = 7
    def numbers(shape, dtype):
        if random:
            return g.standard_normal(shape).astype(dtype)
        return (g.integers(0, 9, shape) / 8 - 0.5).astype(dtype)
    def gaps(values):
        return [None if g.random() < 0.1 else v for v in values]
    def lists(values, kind):
        return pa.array(list(values), kind(pa.from_numpy_dtype(values.dtype)))
    double = np.float64 if seed % 3 == 0 else np.float32
    names = ["", "a", "ein Wort", "слово", "x" * 300]
    words = [names[i] if not random else "%s %d" % (names[i], g.integers(1 << 40)) for i in g.integers(0, 5, rows)]
    if keys == "text":
        ids = pa.array(["row-%06d" % i for i in range(rows)], pa.large_string() if seed % 2 else pa.string())
    else:
        ids = pa.array((np.arange(rows) * 7919 + (2**63 if keys == "uint64" else 2**31 if keys == "uint32" else -5)
                        ).astype(keys) if keys != "uint64" else np.arange(rows, dtype="uint64") * np.uint64(7919) + np.uint64(2**63))
    x = numbers((rows, d), double)
    features = lists(x, pa.large_list if seed % 2 else pa.list_)
    if seed % 5 == 0:
        features = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), d)
    columns = {
        "id": ids, "split": pa.array([["train", "val", "test"][i % 3] for i in range(rows)]),
        "features": features, "loss": lists(numbers((rows, 4), np.float32), pa.list_),
        "f32": pa.array(gaps(numbers(rows, np.float32).tolist()), pa.float32()),
        "f64": pa.array(numbers(rows, np.float64)),
        "i32": pa.array(g.integers(-9 if not random else -(1 << 31), 9 if not random else 1 << 31, rows).astype(np.int32)),
        "i64": pa.array(gaps(g.integers(-9 if not random else -(1 << 62), 9 if not random else 1 << 62, rows).tolist()), pa.int64()),
        "flag": pa.array(gaps((g.random(rows) < 0.5).tolist()), pa.bool_()),
        "text": pa.array(gaps(words), pa.string()), "large": pa.array(words, pa.large_string()),
        "coded": pa.array(words).dictionary_encode(),
        "ragged": pa.array(gaps([numbers(int(n), np.float32).tolist() for n in g.integers(0, 5, rows)]), pa.list_(pa.float32())),
    }
    try:
        columns["view"] = pa.array(words, pa.string_view())
    except (AttributeError, pa.ArrowException):
        pass
    return pa.table(columns)


SIZES = {  # rows, seed, random values, type of the ids, bytes of a page, rows of a row group
    "one row": (1, 1, True, "text", 1 << 20, None), "small pages": (600, 2, False, "int64", 64, None),
    "a page": (512, 3, True, "int32", 1 << 20, None), "groups": (1500, 4, False, "uint32", 1 << 12, 177),
    "large": (4000, 5, True, "text", 1 << 14, 4000), "repeats": (3000, 6, False, "uint64", 1 << 20, None),
}
ENCODINGS = {  # by type of column; others are plain
    "plain": {}, "dictionary": None,
    "delta": {"i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "id": "int:DELTA_BINARY_PACKED", "flag": "RLE"},
    "delta length": {c: "DELTA_LENGTH_BYTE_ARRAY" for c in ("split", "text", "large", "view")},
    "delta bytes": {c: "DELTA_BYTE_ARRAY" for c in ("split", "text", "large", "view")},
    "stream split": {c: "BYTE_STREAM_SPLIT" for c in ("f32", "f64", "i32", "i64", "features.list.element", "loss.list.element")},
}


def arrow(path, t, size, codec, version, encoding, checksum=False):
    _, _, _, keys, page, group = size
    wanted = ENCODINGS[encoding]
    options = {}
    if wanted is not None:
        wanted = {c: e.removeprefix("int:") for c, e in wanted.items() if not (e.startswith("int:") and keys == "text")}
        names = [c if not pa.types.is_nested(t.schema.field(c).type) else c + ".list.element" for c in t.column_names]
        t = t.set_column(t.column_names.index("coded"), "coded", t["coded"].cast(pa.string()))
        options = {"use_dictionary": False, "column_encoding": {c: wanted.get(c, "PLAIN") for c in names}}
    pq.write_table(t.replace_schema_metadata({"pipe.actions": actions}), path, compression=codec, data_page_version=version,
                   data_page_size=page, row_group_size=group, write_page_checksum=checksum, write_batch_size=min(page, 100), **options)


def polars(path, t, size, codec):
    t = t.set_column(t.column_names.index("coded"), "coded", t["coded"].cast(pa.string()))
    pl.from_arrow(t).write_parquet(path, compression=codec, data_page_size=size[4], row_group_size=size[5])


def duck(path, t, size, codec, version):
    if "view" in t.column_names:
        t = t.drop_columns(["view"])
    duckdb.sql("copy (select * from t) to '%s' (format parquet, codec '%s', parquet_version '%s', row_group_size %d)" %
               (path, codec, version, size[5] or 122880))


def combinations():
    for i, codec in enumerate(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]):
        for version in "1.0", "2.0":
            for e, encoding in enumerate(ENCODINGS):
                for s, size in enumerate(SIZES):
                    yield ("pyarrow", codec, version, encoding, size), lambda path, t, c=codec, v=version, e=encoding, z=size, k=(i + s) % 2 == 0: \
                        arrow(path, t, SIZES[z], c, v, e, k)
    for size in SIZES:
        for codec in "uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4":
            yield ("polars", codec, size), lambda path, t, c=codec, z=size: polars(path, t, SIZES[z], c)
        for codec in "uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4", "lz4_raw":
            for version in "v1", "v2":
                yield ("duckdb", codec, version, size), lambda path, t, c=codec, v=version, z=size: duck(path, t, SIZES[z], c, v)
        for codec in None, "snappy", "gzip", "brotli", "zstd", "lz4":
            yield ("pandas", str(codec), size), lambda path, t, c=codec: t.to_pandas().to_parquet(path, compression=c)


def text(v, kind):
    if v is None:
        return ""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return "[" + " ".join(text(x, kind.value_type) for x in v)
    if pa.types.is_float32(kind):
        return struct.pack(">f", v).hex()
    if pa.types.is_float64(kind):
        return struct.pack(">d", v).hex()
    if isinstance(v, str):
        return "%d:%s" % (len(v.encode()), v)
    return str(int(v))


def digest(column):
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    h = hashlib.sha256()
    h.update("".join(text(v, kind) + "\n" for v in column.to_pylist()).encode())
    return h.hexdigest()


duckdb.sql("set enable_progress_bar = false")
lines = open(os.path.join(folder, "files.jsonl"), "w")
for i, (name, write) in enumerate(combinations()):
    if i % stride:
        continue
    file = "-".join(name).replace(" ", "_").replace(".", "") + ".parquet"
    path = os.path.join(folder, file)
    size = SIZES[name[-1]]
    line = {"file": file}
    try:
        write(path, table(*size[:4]))
        t = pq.read_table(path)
        line["read"] = {"id": digest(pa.array([str(v) for v in t["id"].to_pylist()])),
                        "features": digest(pa.array([[np.float32(x) for x in v] for v in t["features"].to_pylist()], pa.list_(pa.float32()))),
                        "loss": digest(t["loss"])}
        line["columns"] = {c: digest(t[c]) for c in t.column_names}
    except Exception as e:
        line["skipped"] = "%s: %s" % (type(e).__name__, e)
    lines.write(json.dumps(line) + "\n")
lines.close()
