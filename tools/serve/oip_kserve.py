#!/usr/bin/env python3
"""Asks a server by the clients of KServe over REST and gRPC, and compares every answer with what it should be.

    oip_kserve.py CASE.json

oip_case.py says what CASE.json has. It needs kserve: python3 -m venv V && V/bin/pip install 'kserve==0.21.*'. Its messages
have the names of those of tritonclient, so the two cannot be in one process.
"""

import asyncio

import kserve
from oip_case import array, check, read, same


def tensors(model, binary):
    out = []
    for t in model["inputs"]:
        i = kserve.InferInput(t["name"], t["shape"], t["datatype"])
        i.set_data_from_numpy(array(t), binary_data=binary)
        out.append(i)
    return out


async def ask(case):
    rest = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2", timeout=20, retries=1))
    base = "http://" + case["http"]
    check(await rest.is_server_live(base) and await rest.is_server_ready(base), "not live or not ready")
    grpc = kserve.InferenceGRPCClient(case["grpc"], timeout=20)
    check(await grpc.is_server_live() and await grpc.is_server_ready(), "not live or not ready over gRPC")
    for m in case["models"]:
        name = m["name"]
        check(await rest.is_model_ready(base, name) and await grpc.is_model_ready(name), f"{name} is not ready")
        for binary in (False, True):
            request = kserve.InferRequest(model_name=name, infer_inputs=tensors(m, binary), request_id="k")
            got = await rest.infer(base, request, model_name=name)
            check(got.id == "k", f"{name}: id {got.id}")
            for t in m["outputs"]:
                same(f"kserve {name} {t['name']}", got.get_output_by_name(t["name"]).as_numpy(), array(t))
        for binary in (False, True):
            request = kserve.InferRequest(model_name=name, infer_inputs=tensors(m, binary), request_id="k")
            got = await grpc.infer(request)
            for t in m["outputs"]:
                same(f"kserve gRPC {name} {t['name']}", got.get_output_by_name(t["name"]).as_numpy(), array(t))
    await rest.close()
    await grpc.close()
    print("kserve over REST and gRPC: ok")


if __name__ == "__main__":
    asyncio.run(ask(read()))
