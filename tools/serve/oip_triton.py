#!/usr/bin/env python3
"""Asks a server by the clients of Triton, and compares every answer with what it should be.

    oip_triton.py CASE.json

oip_case.py says what CASE.json has. A line is printed for each client whose answers are right; the first wrong answer ends
with an error. It needs tritonclient, which tools/judges.sh installs.
"""

import asyncio
import sys
import time

import numpy as np
import tritonclient.grpc as triton_grpc
import tritonclient.grpc.aio as triton_grpc_aio
import tritonclient.http as triton_http
import tritonclient.http.aio as triton_http_aio
from oip_case import array, check, read, same
from tritonclient.utils import InferenceServerException


def refused(what, call, *words):
    """Ends unless a call fails with an error that has the words."""
    try:
        call()
    except InferenceServerException as e:
        text = f"{e.status()} {e.message()}"
        for w in words:
            check(w in text, f"{what}: the error is {text!r}, without {w!r}")
        return
    sys.exit(f"{what}: no error")


def triton_inputs(module, model, binary=True):
    out = []
    for t in model["inputs"]:
        i = module.InferInput(t["name"], t["shape"], t["datatype"])
        if module in (triton_http, triton_http_aio):
            i.set_data_from_numpy(array(t), binary_data=binary)
        else:
            i.set_data_from_numpy(array(t))
        out.append(i)
    return out


def compare(what, model, result):
    for t in model["outputs"]:
        same(f"{what}: {t['name']}", result.as_numpy(t["name"]), array(t))


def triton_over_http(case):
    with triton_http.InferenceServerClient(case["http"], concurrency=4) as c:
        check(c.is_server_live() and c.is_server_ready(), "not live or not ready")
        check("binary_tensor_data" in c.get_server_metadata()["extensions"], "no extension of binary tensors")
        names = {m["name"] for m in c.get_model_repository_index()}
        for m in case["models"]:
            name = m["name"]
            check(name in names and c.is_model_ready(name) and c.is_model_ready(name, "1"), f"{name} is not ready")
            meta = c.get_model_metadata(name)
            check({t["name"] for t in m["outputs"]} <= {t["name"] for t in meta["outputs"]}, f"outputs of {name}: {meta}")
            check(c.get_model_config(name)["name"] == name, f"configuration of {name}")
            for binary_in in (True, False):
                inputs = triton_inputs(triton_http, m, binary_in)
                compare(f"{name}, all outputs", m, c.infer(name, inputs, request_id="7"))
                for binary_out in (True, False):
                    for request, response in ((None, None), ("gzip", "gzip"), ("deflate", "deflate")):
                        wanted = [triton_http.InferRequestedOutput(t["name"], binary_data=binary_out) for t in reversed(m["outputs"])]
                        result = c.infer(
                            name, inputs, outputs=wanted, request_id="x-1", timeout=10_000_000, parameters={"note": "a", "n": 3, "b": True},
                            request_compression_algorithm=request, response_compression_algorithm=response,
                        )
                        compare(f"{name}, binary {binary_in} {binary_out}, {request}", m, result)
                        body = result.get_response()
                        check(body["id"] == "x-1" and body["model_name"] == name, f"{name}: {body}")
                        check([o["name"] for o in body["outputs"]] == [t["name"] for t in reversed(m["outputs"])], "order of outputs")
            version = c.infer(name, inputs).get_response()["model_version"]
            compare(f"{name} by version", m, c.infer(name, inputs, model_version=version))
            compare(f"{name}, asynchronous", m, c.async_infer(name, inputs).get_result())
            stats = c.get_inference_statistics(name)["model_stats"][0]
            check(stats["inference_stats"]["success"]["count"] >= 10, f"statistics of {name}: {stats}")
        m = case["models"][0]
        inputs = triton_inputs(triton_http, m)
        refused("unknown model", lambda: c.infer("nothing", inputs), "404", "nothing")
        refused("unknown version", lambda: c.infer(m["name"], inputs, model_version="99"), "404")
        refused("unknown output", lambda: c.infer(m["name"], inputs, outputs=[triton_http.InferRequestedOutput("x")]), "400", "x")
        refused("classes", lambda: c.infer(m["name"], inputs, outputs=[triton_http.InferRequestedOutput("scores", class_count=2)]), "400", "classification")
        refused("a sequence", lambda: c.infer(m["name"], inputs, sequence_id=4, sequence_start=True), "400", "sequence_id")
        shared = triton_http.InferInput(m["inputs"][0]["name"], m["inputs"][0]["shape"], m["inputs"][0]["datatype"])
        shared.set_shared_memory("region", 24)
        refused("shared memory", lambda: c.infer(m["name"], [shared]), "400", "shared")
        wrong = array(m["inputs"][0]).copy()
        if wrong.dtype == np.float32:
            wrong.flat[0] = np.nan
            bad = triton_http.InferInput(m["inputs"][0]["name"], m["inputs"][0]["shape"], "FP32")
            bad.set_data_from_numpy(wrong)
            refused("NaN", lambda: c.infer(m["name"], [bad] + inputs[1:]), "400", "NaN")
            bad.set_data_from_numpy(wrong, binary_data=False)
            refused("NaN in JSON", lambda: c.infer(m["name"], [bad] + inputs[1:]), "400")
    print("tritonclient.http: ok")


async def triton_over_http_aio(case):
    async with triton_http_aio.InferenceServerClient(case["http"]) as c:
        check(await c.is_server_live() and await c.is_server_ready(), "not live or not ready")
        for m in case["models"]:
            inputs = triton_inputs(triton_http_aio, m)
            results = await asyncio.gather(*[c.infer(m["name"], inputs) for _ in range(8)])
            for r in results:
                compare(f"{m['name']} aio", m, r)
    print("tritonclient.http.aio: ok")


def triton_over_grpc(case):
    with triton_grpc.InferenceServerClient(case["grpc"]) as c:
        check(c.is_server_live() and c.is_server_ready(), "not live or not ready")
        check(c.get_server_metadata().name == "pipe", "name of the server")
        names = {m.name for m in c.get_model_repository_index().models}
        for m in case["models"]:
            name = m["name"]
            check(name in names and c.is_model_ready(name), f"{name} is not ready")
            check(c.get_model_metadata(name).inputs[0].name != "", f"inputs of {name}")
            check(c.get_model_config(name).config.name == name, f"configuration of {name}")
            inputs = triton_inputs(triton_grpc, m)
            compare(f"{name}, all outputs", m, c.infer(name, inputs))
            for compression in (None, "gzip", "deflate"):
                wanted = [triton_grpc.InferRequestedOutput(t["name"]) for t in reversed(m["outputs"])]
                result = c.infer(name, inputs, outputs=wanted, request_id="x-2", compression_algorithm=compression, client_timeout=20, timeout=10_000_000)
                compare(f"{name}, {compression}", m, result)
                body = result.get_response()
                check(body.id == "x-2" and [o.name for o in body.outputs] == [t["name"] for t in reversed(m["outputs"])], f"{name}: {body}")
            check(c.get_inference_statistics(name).model_stats[0].inference_count > 0, f"statistics of {name}")
            done = []
            for _ in range(4):
                c.async_infer(name, inputs, callback=lambda result, error: done.append((result, error)))
            end = time.monotonic() + 20
            while len(done) < 4 and time.monotonic() < end:
                time.sleep(0.01)
            check(len(done) == 4, "answers of async_infer")
            for result, error in done:
                check(error is None, f"async_infer: {error}")
                compare(f"{name}, asynchronous", m, result)
        m = case["models"][0]
        inputs = triton_inputs(triton_grpc, m)
        refused("unknown model", lambda: c.infer("nothing", inputs), "NOT_FOUND", "nothing")
        refused("missing input", lambda: c.infer(case["models"][-1]["name"], []), "INVALID_ARGUMENT", "missing")
        refused("classes", lambda: c.infer(m["name"], inputs, outputs=[triton_grpc.InferRequestedOutput("scores", class_count=2)]), "INVALID_ARGUMENT", "classification")
    print("tritonclient.grpc: ok")


async def triton_over_grpc_aio(case):
    async with triton_grpc_aio.InferenceServerClient(case["grpc"]) as c:
        check(await c.is_server_live(), "not live")
        for m in case["models"]:
            inputs = triton_inputs(triton_grpc_aio, m)
            for r in await asyncio.gather(*[c.infer(m["name"], inputs) for _ in range(8)]):
                compare(f"{m['name']} aio", m, r)
    print("tritonclient.grpc.aio: ok")


def main():
    case = read()
    triton_over_http(case)
    asyncio.run(triton_over_http_aio(case))
    triton_over_grpc(case)
    asyncio.run(triton_over_grpc_aio(case))


if __name__ == "__main__":
    main()
