"""A server of policies on this machine, for as long as a with statement runs."""

import atexit
import json
import os
import selectors
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from .errors import ServerError
from .program import environment, executable


class Server:
    """`pipe serve` on a free port of the loopback interface.

        with Server("policies", log="log") as server:
            answer = server.decide(features=[[300, 0, 0]])

    It starts with the block, or with start(), and stops with it. policies are files and folders of policies. config is the YAML file of a
    server (docs/serve.md). arguments are more flags of `pipe serve`. key is sent with every request. wait is how many seconds the server
    may take to start, and to stop.
    """

    def __init__(
        self, *policies: "str | os.PathLike[str]", config: "str | os.PathLike[str] | None" = None, log: "str | os.PathLike[str] | None" = None,
        arguments: Sequence[str] = (), key: str = "", wait: float = 60,
    ) -> None:  # fmt: skip
        flags = [flag for path in policies for flag in ("--policy", os.fspath(path))]
        flags += ["--config", os.fspath(config)] if config is not None else []
        flags += ["--log", os.fspath(log)] if log is not None else []
        self._command = [executable(), "serve", *flags, *arguments, "--listen", "127.0.0.1:0", "--json"]
        self._key, self._wait = key, wait
        self._process: "subprocess.Popen[bytes] | None" = None
        self._messages = tempfile.TemporaryFile()
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # a proxy would not reach this machine
        self.url = ""

    def start(self) -> "Server":
        """Start the server and return when it is ready."""
        if self._process is not None:
            raise ServerError("the server runs already")
        self._process = subprocess.Popen(self._command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._messages)
        atexit.register(self.stop)
        try:
            with selectors.DefaultSelector() as ready:
                assert self._process.stdout is not None
                ready.register(self._process.stdout, selectors.EVENT_READ)
                line = self._process.stdout.readline() if ready.select(self._wait) else b""
            if not line:
                raise ServerError(f"the server did not start within {self._wait:g} s:\n{self.messages()}")
            self.url = json.loads(line)["http"]
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the server: running requests are answered, and its log is closed."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.stop)
        process.terminate()
        try:
            process.wait(self._wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def messages(self) -> str:
        """What the server has written to its standard error: lines of JSON."""
        file = self._messages.fileno()  # read without moving the position at which the server writes
        return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace").strip()

    def decide(self, **request: Any) -> dict[str, Any]:
        """POST /v1/decide (docs/decide-api.md): features, rows, texts, images or messages, prices, unavailable, executed and others."""
        return self.ask("/v1/decide", request)

    def outcome(self, **outcome: Any) -> dict[str, Any]:
        """POST /v1/outcomes: what became of the decision `id`: loss, score, correct, label, comment."""
        return self.ask("/v1/outcomes", outcome)

    def ask(self, path: str, body: Any = None) -> dict[str, Any]:
        """A request of any endpoint that answers with a JSON object: GET, or POST with a body."""
        if self._process is None:
            raise ServerError("the server does not run: use it in a with statement")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        try:
            with self._open(urllib.request.Request(self.url + path, data, headers)) as answer:
                result: dict[str, Any] = json.load(answer)
                return result
        except urllib.error.HTTPError as err:
            text = err.read().decode("utf-8", "replace")
            raise _refused(err.code, text) from None
        except OSError as err:
            raise ServerError(f"the server does not answer: {err}\n{self.messages()}") from err

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None") -> None:
        self.stop()


def _refused(status: int, text: str) -> ServerError:
    """The error of an answer, in the form of /v1 or of /v2, or as it is."""
    try:
        error = json.loads(text)["error"]
        message, code = (error["message"], error.get("code") or "") if isinstance(error, dict) else (str(error), "")
    except (ValueError, KeyError, TypeError):
        message, code = text.strip(), ""
    return ServerError(f"{status}: {message}", status, code)
