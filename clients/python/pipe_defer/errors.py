"""What goes wrong, by who can mend it. A file that is not there is Python's own FileNotFoundError."""

from collections.abc import Sequence


class Error(Exception):
    """Every error of this package."""


class InputError(Error, ValueError):
    """Rows that a policy cannot decide on. `rows` has their numbers, from 0, where the error is about some rows only."""

    def __init__(self, message: str, rows: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class PolicyError(Error):
    """A file that is no policy, or one that this module does not decide with."""


class PriceError(Error, ValueError):
    """Prices or pairs that a policy does not take."""


class ProgramError(Error):
    """The program ended with another exit code than 0. The README lists the codes; `output` is what it had printed."""

    def __init__(self, message: str, code: int, output: str) -> None:
        super().__init__(message)
        self.code, self.output = code, output


class ServerError(Error):
    """The server did not start, or refused a request: `status` and `code` are those of its answer, 0 and "" without one."""

    def __init__(self, message: str, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code
