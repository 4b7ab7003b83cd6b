#!/usr/bin/env python3
"""Speed of pipe, of MLServer and of KServe's Python server on one policy file: REST of the Open Inference Protocol, one row.

tools/serve/oip_bench.sh installs what this needs and calls it. Every server gets the same bytes from the same load generator,
one after another in each round, so that a busy machine is busy for all. The table has medians over rounds.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

here = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def row(width):
    """One row of float32 features, and its request in JSON and in binary."""
    r = random.Random(1)
    x = [struct.unpack("f", struct.pack("f", r.gauss(0, 1)))[0] for _ in range(width)]
    about = {"name": "features", "shape": [1, width], "datatype": "FP32"}
    text = json.dumps({"id": "1", "inputs": [{**about, "data": x}]}).encode()  # KServe's server fails without an id
    head = json.dumps({"id": "1", "inputs": [{**about, "parameters": {"binary_data_size": 4 * width}}]}).encode()
    return text, head + struct.pack(f"{width}f", *x), len(head)


class Server:
    """A server in a process of its own."""

    before = []  # in front of each command

    def __init__(self, name, command, path, home=None, env=None):
        self.name, self.command, self.path, self.home, self.env = name, command, path, home, env
        self.port = None

    def start(self, log):
        self.port = free_port()
        self.process = subprocess.Popen([*self.before, *self.command(self.port)], stdout=log, stderr=log, start_new_session=True, cwd=self.home, env={**os.environ, **(self.env or {})})

    def wait(self, body):
        end, error = time.monotonic() + 120, None
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit(f"{self.name} ended with {self.process.returncode}: see the log")
            try:
                return json.loads(self.ask(body))
            except urllib.error.HTTPError as e:
                error = e.read()
            except (urllib.error.URLError, ConnectionError, TimeoutError) as e:
                error = e
            time.sleep(0.2)
        sys.exit(f"{self.name} does not answer: {error}")

    def ask(self, body):
        r = urllib.request.Request(self.url(), body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(r, timeout=10) as answer:
            return answer.read()

    def url(self):
        return f"http://127.0.0.1:{self.port}{self.path}"

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def pause(self, on):
        """Stops the server's processes while another is measured."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGSTOP if on else signal.SIGCONT)


def mlserver(python, policy, workers, folder):
    """MLServer with so many processes of inference; 0: in the process of the server."""
    home = pathlib.Path(folder) / f"mlserver{workers}"
    home.mkdir()

    def command(port):
        (home / "settings.json").write_text(json.dumps({
            "http_port": port, "grpc_port": free_port(), "metrics_port": free_port(), "parallel_workers": workers, "debug": False,
            "environments_dir": str(home), "logging_settings": None, "host": "127.0.0.1",
        }))
        (home / "model-settings.json").write_text(json.dumps({
            "name": "router", "implementation": "peer_mlserver.Policy", "parameters": {"uri": str(policy)},
        }))
        return [str(pathlib.Path(python).parent / "mlserver"), "start", str(home)]

    name = "MLServer" if workers == 0 else f"MLServer, {workers} worker" + "s" * (workers > 1)
    return Server(name, command, "/v2/models/router/infer", home, {"PYTHONPATH": str(here)})


def kserve(python, policy, workers):
    name = "KServe" if workers == 1 else f"KServe, {workers} workers"
    return Server(name, lambda port: [python, str(here / "peer_kserve.py"), str(policy), str(port), str(free_port()), str(workers)], "/v2/models/router/infer")


def same(a, b):
    """Whether two answers have the same action, and scores that differ by less than a runtime's kernels may."""
    a, b = ({o["name"]: o["data"] for o in x["outputs"]} for x in (a, b))
    return a["action"] == b["action"] and all(abs(x - y) < 1e-4 for x, y in zip(a["scores"], b["scores"]))


def constant(command, policy):
    """Go's HTTP server with an answer that it does not compute: what is left of a request when nothing is decided."""
    return Server("constant answer", lambda port: [command, f"127.0.0.1:{port}"], f"/v2/models/{policy}/infer")


def measure(load, server, body, connections, seconds, headers=()):
    command = [*load, "-json", "-url", server.url(), "-body", body, "-c", str(connections), "-for", f"{seconds}s"]
    for h in headers:
        command += ["-H", h]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{server.name}, {connections} connections: {done.stderr}")
    out = json.loads(done.stdout)
    if list(out["status"]) != ["200"] or out.get("failed"):
        sys.exit(f"{server.name}: {out}")
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pipe", required=True, help="the program; or a command that takes the flags of pipe serve")
    p.add_argument("--load", required=True, help="the load generator")
    p.add_argument("--policy", required=True, help="router.onnx")
    p.add_argument("--width", type=int, default=384)
    p.add_argument("--mlserver", default="", help="a Python with mlserver and onnxruntime")
    p.add_argument("--kserve", default="", help="a Python with kserve and onnxruntime")
    p.add_argument("--constant", default="", help="the program of tools/serve/constant")
    p.add_argument("--realtime", action="store_true", help="the load generator and every server run with real-time priority, by chrt: other work waits")
    p.add_argument("--connections", default="1,8,64")
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--rounds", type=int, default=3)
    o = p.parse_args()
    Server.before = ["chrt", "-r", "5"] if o.realtime else []
    o.load = [*Server.before, o.load]
    policy = pathlib.Path(o.policy).resolve()
    text, binary, head = row(o.width)
    with tempfile.TemporaryDirectory() as folder:
        bodies = {"JSON": os.path.join(folder, "body.json"), "binary": os.path.join(folder, "body.bin")}
        pathlib.Path(bodies["JSON"]).write_bytes(text)
        pathlib.Path(bodies["binary"]).write_bytes(binary)
        headers = {"JSON": ["Content-Type: application/json"], "binary": [f"Inference-Header-Content-Length: {head}", "Content-Type: application/octet-stream"]}
        pipe = Server("pipe", lambda port: o.pipe.split() + ["serve", "--policy", str(policy), "--listen", f"127.0.0.1:{port}"], f"/v2/models/{policy.stem}/infer")
        servers = [pipe]
        if o.mlserver:
            servers += [mlserver(o.mlserver, policy, w, folder) for w in (0, 2)]
        if o.kserve:
            servers += [kserve(o.kserve, policy, w) for w in (1, 2)]
        if o.constant:
            servers.append(constant(o.constant, policy.stem))
        with open(os.path.join(tempfile.gettempdir(), "oip_bench.log"), "w") as log:
            try:
                run(o, servers, text, bodies, headers, log)
            finally:
                for s in servers:
                    if s.port:
                        s.pause(False)
                        s.stop()


def run(o, servers, text, bodies, headers, log):
    answers = []
    for s in servers:
        s.start(log)
        answers.append(s.wait(text))
        if answers[-1] and not same(answers[0], answers[-1]):
            sys.exit(f"{s.name} answers otherwise than {servers[0].name}: {answers[-1]}, {answers[0]}")
        s.pause(True)
    kinds = [(s, "JSON") for s in servers] + [(servers[0], "binary"), *[(s, "binary") for s in servers if s.name == "KServe"]]
    print(f"{'server':<22}{'body':<8}{'connections':>11}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'pipe is faster':>16}{'p99 of pipe':>13}")
    for connections in (int(c) for c in o.connections.split(",")):
        results = {}
        for _ in range(o.rounds):
            for s, kind in kinds:
                s.pause(False)
                results.setdefault((s.name, kind), []).append(measure(o.load, s, bodies[kind], connections, o.seconds, headers[kind]))
                s.pause(True)
        for s, kind in kinds:
            mine, ours = results[s.name, kind], results["pipe", kind]
            at = lambda key: statistics.median(r[key] for r in mine)
            line = f"{s.name:<22}{kind:<8}{connections:>11}{at('requests_per_second'):>12.0f}{at('p50_ms'):>9.2f}{at('p99_ms'):>9.2f}"
            if s.name != "pipe":  # ratios of one round each, which a busy machine slows alike
                faster = statistics.median(a["requests_per_second"] / b["requests_per_second"] for a, b in zip(ours, mine))
                p99 = statistics.median(a["p99_ms"] / b["p99_ms"] for a, b in zip(ours, mine))
                line += f"{faster:>14.1f} x{p99:>11.2f} x"
            print(line, flush=True)


if __name__ == "__main__":
    main()
