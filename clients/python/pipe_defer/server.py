"""A server of policies on this machine, for as long as a with statement runs."""

import atexit
import http.client
import json
import os
import selectors
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any

from .errors import InputError, ServerError
from .program import environment, executable


class Server:
    """`pipe serve` on a free port of the loopback interface.

        with Server("policies", log="log") as server:
            answer = server.decide(features=[[300, 0, 0]])

    It starts with the block, or with start(), and stops with it. policies are files and folders of policies. config is the YAML file of a
    server (docs/serve.md). arguments are more flags of `pipe serve`. key is sent with every request. wait is how many seconds the server
    may take to start, and to stop, and timeout how many an answer may take. url is its address, and empty while it does not run.
    """

    def __init__(
        self, *policies: "str | os.PathLike[str]", config: "str | os.PathLike[str] | None" = None, log: "str | os.PathLike[str] | None" = None,
        arguments: Sequence[str] = (), key: str = "", wait: float = 60, timeout: float = 300,
    ) -> None:  # fmt: skip
        flags = [flag for path in policies for flag in ("--policy", os.fspath(path))]
        flags += ["--config", os.fspath(config)] if config is not None else []
        flags += ["--log", os.fspath(log)] if log is not None else []
        self._command = [executable(), "serve", *flags, *arguments, "--listen", "127.0.0.1:0", "--json"]
        self._key, self._wait, self._timeout = key, wait, timeout
        self._process: "subprocess.Popen[bytes] | None" = None
        self._messages: "IO[bytes] | None" = None
        self._said = ""
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # a proxy would not reach this machine
        self.url = ""

    def start(self) -> "Server":
        """Start the server and return when it is ready."""
        if self._process is not None:
            raise ServerError("the server runs already")
        self._messages = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._messages)
        atexit.register(self.stop)
        try:
            with selectors.DefaultSelector() as ready:
                assert self._process.stdout is not None
                ready.register(self._process.stdout, selectors.EVENT_READ)
                if not ready.select(self._wait):
                    raise ServerError(f"the server did not start within {self._wait:g} s:\n{self.messages()}")
                line = self._process.stdout.readline()
            if not line:
                raise ServerError(f"the server ended with the exit code {self._process.wait(self._wait)}:\n{self.messages()}")
            self.url = json.loads(line)["http"]
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the server: running requests are answered, and its log is closed."""
        process, self._process, self.url = self._process, None, ""
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
            if self._messages is not None:
                self._said = self.messages()
                self._messages.close()
                self._messages = None

    def messages(self) -> str:
        """What the server has written to its standard error: lines of JSON. Of one that has stopped, what it had written."""
        if self._messages is None:
            return self._said
        file = self._messages.fileno()  # read without moving the position at which the server writes
        return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace").strip()

    def decide(self, **request: Any) -> dict[str, Any]:
        """POST /v1/decide (docs/decide-api.md): features, rows, texts, images or messages, prices, unavailable, executed and others."""
        answer: dict[str, Any] = self.ask("/v1/decide", request)
        return answer

    def outcome(self, **outcome: Any) -> dict[str, Any]:
        """POST /v1/outcomes: what became of the decision `id`: loss, score, correct, label, comment."""
        answer: dict[str, Any] = self.ask("/v1/outcomes", outcome)
        return answer

    def ask(self, path: str, body: Any = None) -> Any:
        """A request of any endpoint: GET, or POST with a body, in which arrays are lists. An answer that is not JSON, as of /metrics, is a str."""
        if self._process is None:
            raise ServerError("the server does not run: use it in a with statement")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        data = None if body is None else _json(body)
        try:
            with self._open(urllib.request.Request(self.url + path, data, headers), timeout=self._timeout) as answer:
                text = answer.read().decode("utf-8", "replace")
                return json.loads(text) if answer.headers.get_content_type() == "application/json" else text
        except urllib.error.HTTPError as err:
            raise _refused(err.code, err.read().decode("utf-8", "replace")) from None
        except (OSError, http.client.HTTPException) as err:
            raise ServerError(f"the server does not answer: {err}\n{self.messages()}") from err

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None") -> None:
        self.stop()


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as err:
        raise InputError(f"the request cannot be written as JSON: {err}") from err


def _plain(value: Any) -> Any:
    """An array, or a number of one, as JSON has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is neither a number, a text, a list, a dict nor an array")


def _refused(status: int, text: str) -> ServerError:
    """The error of an answer, in the form of /v1 or of /v2, or as it is."""
    try:
        error = json.loads(text)["error"]
        message, code = (error["message"], error.get("code") or "") if isinstance(error, dict) else (str(error), "")
    except (ValueError, KeyError, TypeError):
        message, code = text.strip(), ""
    return ServerError(f"{status}: {message}", status, code)
