"""Where the program begins and ends: a command line in, an exit code out, each failure mapped once (X2)."""

from __future__ import annotations

import gc
import io
import os
import sys

from milkmem.cli import short
from milkmem.errors import DEFECT, DONE, INTERRUPTED, REFUSED, CannotWrite, MilkmemError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO

_HOOK = ["hook", "run"]
_STRICT = "--strict"


def entry() -> None:
    """Carry out the program's own command line and end with its exit code (X2).

    Collecting garbage does not repay itself in a life this short, nor does taking everything apart at its
    end: by then the files are closed, the lock goes with the process, and standard output is flushed.
    """
    gc.disable()
    code = main()
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Carry out one command line and return its exit code (X2); None is the program's own.

    Data goes to standard output, what went wrong to standard error (X3). Never raises but for a
    SystemExit that is not of its making.
    """
    argv = sys.argv[1:] if argv is None else argv
    lost = io.BytesIO()
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(lost, encoding="utf-8")
    if sys.stderr is None:  # where print would take standard output instead
        sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    code = DONE
    try:
        try:
            code = _carry_out(argv)
            sys.stdout.flush()
            if lost.getvalue() != b"":
                raise CannotWrite("standard output is closed")
        except MilkmemError as error:
            code = _fail(error.code, error.message, error.hint, error)
            sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)
    except KeyboardInterrupt:
        _drop(sys.stdout)
        code = INTERRUPTED
    except Exception as error:  # the one place where a defect turns into a line and an exit code
        _drop(sys.stdout)
        code = _fail_unforeseen(error)
    return _spared(argv, code)


def _spared(argv: list[str], code: int) -> int:
    """Return the exit code as an agent may see it: a hook's failure is none of the agent's."""
    if code == DONE or argv[: len(_HOOK)] != _HOOK:
        return code
    return REFUSED if _STRICT in argv else DONE


def _carry_out(argv: list[str]) -> int:
    call = short.parse(argv)
    if call is None:
        from milkmem.cli import app

        call = app.parse(argv)
    return DONE if call is None else call.command.load()(call)


def _fail_unforeseen(error: Exception) -> int:
    """Say what no other module foresaw; an OSError without a file's name is that of a standard stream."""
    if isinstance(error, OSError) and error.filename is None and error.strerror is not None:
        return _fail(CannotWrite.code, f"cannot write: {error.strerror}", "", error)
    message = f"a defect: {type(error).__name__}{_place(error.__traceback__)}"
    return _fail(DEFECT, message, "set MILKMEM_DEBUG=1 to see how it came to that", error)


def _place(trace: TracebackType | None) -> str:
    """Return where an error came up: module and line, never its words, which may hold a fact (Z6)."""
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" in {trace.tb_frame.f_globals.get('__name__')}, line {trace.tb_lineno}"


def _fail(code: int, message: str, hint: str, error: BaseException) -> int:
    """Say on standard error what went wrong; one that is closed or broken changes nothing (X3)."""
    from milkmem.cli.plain import visible

    lines = [f"milkmem: {visible(message)}"]
    if hint != "":
        lines.append(f"hint: {visible(hint)}")
    try:
        if os.environ.get("MILKMEM_DEBUG") == "1":
            _print_trace(error)
        print(*lines, sep="\n", file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)
    return code


def _print_trace(error: BaseException) -> None:
    """Print where an error and those that led to it came up, the first first, without their words (Z6)."""
    import traceback

    before = error.__cause__ or error.__context__
    if before is not None:
        _print_trace(before)
    traceback.print_tb(error.__traceback__)
    print(type(error).__name__, file=sys.stderr)


def _drop(stream: TextIO) -> None:
    from milkmem.cli.streams import drop

    drop(stream)


if __name__ == "__main__":
    entry()
