"""The programs of examples/: how each is built and run. decide(cases) gives what the program prints for every case."""

import functools
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")


class Missing(Exception):
    """A tool is not there."""


class NotFetched(Exception):
    """The tools are there, but they could not download what the program needs."""


def run(*args, **kwargs):
    """Standard output of a program. If it fails, the error is a RuntimeError with the beginning and the end of what it said."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL, **kwargs)
    if done.returncode:
        said = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", done.stderr + done.stdout).split())
        said = said if len(said) < 600 else said[:400] + " ... " + said[-200:]
        raise RuntimeError(f"{' '.join(map(str, args))[:200]}: exit status {done.returncode}: {said}")
    return done.stdout


def fetch(*args, **kwargs):
    """run, of a download."""
    try:
        run(*args, **kwargs)
    except RuntimeError as failed:
        raise NotFetched(failed) from failed


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing(f"no {tool} here")


def library():
    """The shared library of ONNX Runtime."""
    at = os.environ.get("ONNXRUNTIME_LIB") or os.path.join(ROOT, "third_party/onnxruntime/lib")
    found = [at] if os.path.isfile(at) else [f for f in sorted(glob.glob(os.path.join(at, "libonnxruntime*"))) if "providers" not in f]
    if not found:
        raise Missing(f"no library of ONNX Runtime in {at}")
    return os.path.abspath(found[0])


class Program:
    """A program that is run once per case: build makes it and returns its command."""

    def __init__(self, name, build, tokenizes, folder, kept, environment=lambda: {}):
        self.name, self.build, self.tokenizes, self.folder, self.kept, self.environment = name, build, tokenizes, folder, kept, environment

    def decide(self, cases):
        command = self.build(self.folder, self.kept)
        environment = {**os.environ, **self.environment()}
        return [run(*command, c.policy, c.rows if self.tokenizes else c.ids, *filter(None, [c.prices]), env=environment) for c in cases]


def build_python(folder, kept):
    return [sys.executable, os.path.join(EXAMPLES, "python/decide.py")]


def build_go(folder, kept):
    need("go")
    run("go", "build", "-o", os.path.join(folder, "decide-go"), "./examples/go", cwd=ROOT)
    return [os.path.join(folder, "decide-go")]


def javascript(folder, kept):
    """A copy of the files for node and the browser, beside our package and those that run.sh installed."""
    at = os.path.join(folder, "javascript")
    if not os.path.isdir(os.path.join(kept, "node_modules/@huggingface/tokenizers")):
        raise RuntimeError(f"no packages in {kept}/node_modules: run.sh installs them")
    if not os.path.exists(at):
        made = tempfile.mkdtemp(dir=folder)
        shutil.copytree(os.path.join(EXAMPLES, "javascript"), made, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
        modules = os.path.join(made, "node_modules")
        shutil.copytree(os.path.join(ROOT, "clients/node"), os.path.join(modules, "pipe-defer"))
        for name in os.listdir(os.path.join(kept, "node_modules")):
            os.symlink(os.path.join(kept, "node_modules", name), os.path.join(modules, name))
        os.rename(made, at)
    return at


def build_node(folder, kept):
    need("node")
    return ["node", os.path.join(javascript(folder, kept), "node.mjs")]


def build_java(folder, kept):
    need("java", "javac", "mvn")
    pom, lib, classes = os.path.join(EXAMPLES, "java/pom.xml"), os.path.join(kept, "java"), os.path.join(folder, "java")
    with open(pom) as f:
        wanted = f.read()
    stamp = os.path.join(lib, "pom.xml")
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        shutil.rmtree(lib, ignore_errors=True)
        fetch("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory=" + lib)
        shutil.copy(pom, stamp)
    run("javac", "-cp", lib + "/*", "-d", classes, os.path.join(EXAMPLES, "java/Decide.java"))
    return ["java", "-cp", os.pathsep.join([lib + "/*", classes]), "Decide"]


def build_rust(folder, kept):
    need("cargo")
    target, manifest = os.path.join(kept, "cargo"), os.path.join(EXAMPLES, "rust/Cargo.toml")
    fetch("cargo", "fetch", "--quiet", "--locked", "--manifest-path", manifest)
    run("cargo", "build", "--quiet", "--offline", "--locked", "--manifest-path", manifest, "--target-dir", target)
    return [os.path.join(target, "debug/decide")]


def build_cpp(folder, kept):
    need("g++", "go")
    home = os.path.join(kept, "cpp")
    os.makedirs(home, exist_ok=True)
    headers = ["-I", run("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yalue/onnxruntime_go", cwd=ROOT).strip(), "-I", os.path.join(home, "usr/include")]
    if subprocess.run(["g++", "-fsyntax-only", "-x", "c++", *headers, "-include", "nlohmann/json.hpp", "/dev/null"], capture_output=True).returncode:
        need("apt-get", "dpkg-deb")
        with tempfile.TemporaryDirectory(dir=home) as at:
            fetch("apt-get", "-qq", "download", "nlohmann-json3-dev", cwd=at)
            run("dpkg-deb", "-x", *glob.glob(at + "/*.deb"), home)
    out, lib = os.path.join(folder, "cpp"), library()
    os.makedirs(out, exist_ok=True)
    os.symlink(lib, os.path.join(out, "libonnxruntime.so.1"))  # the name that programs look for
    program = os.path.join(out, "decide")
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", *headers, os.path.join(EXAMPLES, "cpp/decide.cpp"), lib, "-Wl,-rpath," + out, "-o", program)
    return [program]


# The page that fills in the form of index.html for every case, one after the other, and sends what it shows.
DRIVER = """<!DOCTYPE html><iframe></iframe><script type="module">
const text = async (path) => (await fetch(path)).text();
const frame = document.querySelector('iframe');
for (const [n, c] of (await (await fetch('/cases')).json()).entries()) {
  await new Promise((loaded) => { frame.onload = loaded; frame.src = '/index.html?policy=' + encodeURIComponent('/file' + c.policy); });
  const { form, shown } = { form: frame.contentDocument.querySelector('form'), shown: frame.contentDocument.querySelector('pre') };
  form.elements.rows.value = await text('/file' + encodeURI(c.rows));
  if (c.prices) form.elements.prices.value = await text('/file' + encodeURI(c.prices));
  form.requestSubmit();
  while (!shown.className) await new Promise((later) => setTimeout(later, 20));
  await fetch('/shown/' + n, { method: 'POST', body: shown.className + '\\n' + shown.textContent });
}
</script>"""


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serves the example's page, the files of the cases under /file, and takes what the page shows."""

    extensions_map = {".mjs": "text/javascript", ".html": "text/html", ".wasm": "application/wasm", "": "application/octet-stream"}

    def do_GET(self):
        if self.path in ("/driver", "/cases"):
            body = (DRIVER if self.path == "/driver" else json.dumps([vars(c) for c in self.server.cases])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()

    def do_POST(self):
        n = int(self.path.removeprefix("/shown/"))
        self.server.shown[n] = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.send_response(204)
        self.end_headers()
        if len(self.server.shown) == len(self.server.cases):
            self.server.all.set()

    def translate_path(self, path):
        file = urllib.parse.unquote(path).removeprefix("/file")
        ours = {f for c in self.server.cases for f in (c.policy, c.policy + ".json", c.rows, c.prices)}
        return file if file in ours else super().translate_path(path)

    def log_message(self, *_):
        pass


class Browser:
    """The page, in a browser without a window."""

    name = "browser"

    def __init__(self, folder, kept):
        self.folder, self.kept = folder, kept

    def decide(self, cases):
        names = [os.environ.get("PIPE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
        browser = next(filter(None, (shutil.which(n) for n in names if n)), None)
        if not browser:
            raise Missing("no Chromium here")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=javascript(self.folder, self.kept)))
        server.cases, server.shown, server.all = cases, {}, threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            window = subprocess.Popen([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + profile,
                                       f"http://127.0.0.1:{server.server_port}/driver"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                done = server.all.wait(120)
            finally:
                window.terminate()
                window.wait(20)
                server.shutdown()
        if not done:
            raise RuntimeError(f"the page answered {len(server.shown)} of {len(cases)} cases in 120 s")
        for n, case in enumerate(cases):
            state, _, text = server.shown[n].partition("\n")
            if state != "done":
                raise ValueError(f"{case.name}: the page says: {text[:300]}")
        return [server.shown[n].partition("\n")[2] for n in range(len(cases))]


def all_of(folder, kept):
    """All programs. Those that cannot make tokens of texts get the ids of the tokens."""
    with_library = lambda: {"ORT_DYLIB_PATH": library()}
    return [
        Program("rust", build_rust, False, folder, kept, with_library),  # what builds longest comes first
        Program("java", build_java, False, folder, kept),
        Browser(folder, kept),
        Program("c++", build_cpp, False, folder, kept),
        Program("go", build_go, True, folder, kept, lambda: {"ONNXRUNTIME_LIB": library()}),
        Program("python", build_python, True, folder, kept),
        Program("node", build_node, True, folder, kept),
    ]
