"""Policies of pipe in Python: decide on arrays, data frames and texts, run the program, start a server, read what it writes."""

from .errors import Error, InputError, PolicyError, PriceError, ProgramError, ServerError
from .policy import Decisions, Policy
from .prices import Prices, Unavailable
from .program import run
from .server import Server
from .tables import read, read_log
from .texts import TextEncoder

__all__ = [
    "Decisions", "Error", "InputError", "Policy", "PolicyError", "PriceError", "Prices", "ProgramError", "Server", "ServerError",
    "TextEncoder", "Unavailable", "read", "read_log", "run",
]  # fmt: skip
