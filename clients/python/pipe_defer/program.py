"""The program pipe, which this package carries."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from .errors import Error, ProgramError

# Libraries that the program loads, by its variable: the package that has the library, its folder there, and how the name begins.
_LIBRARIES = {
    "ONNXRUNTIME_LIB": ("onnxruntime", "capi", "libonnxruntime."),
    "LIGHTGBM_LIB": ("lightgbm", "lib", "lib_lightgbm."),
}


def executable() -> str:
    """The path of the program."""
    path = Path(__file__).parent / "bin" / "pipe"
    if not path.is_file():
        raise Error(f"the program is not at {path}: install the wheel of pipe-defer, not its source")
    return str(path)


def environment() -> dict[str, str]:
    """The variables of this process, and those that name the libraries of installed packages. What is set already stays."""
    variables = dict(os.environ)
    for variable, (package, folder, name) in _LIBRARIES.items():
        spec = importlib.util.find_spec(package)  # it does not import the package, which would take longer than the program
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if any(Path(place, folder).glob(name + "*")):
                variables.setdefault(variable, str(Path(place, folder)))
    return variables


def run(*arguments: "str | os.PathLike[str]", cwd: "str | os.PathLike[str] | None" = None) -> str:
    """Run a command of the program, such as run("train", "--in", "costs.parquet", "--out", "policies"), and return what it prints."""
    command = [executable(), *(os.fspath(a) for a in arguments)]
    done = subprocess.run(command, env=environment(), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        raise ProgramError(done.stderr.strip() or f"pipe ended with {done.returncode}", done.returncode, done.stdout)
    return done.stdout


def main() -> NoReturn:
    """The command pipe: this process becomes the program."""
    path = executable()
    os.execve(path, [path, *sys.argv[1:]], environment())
