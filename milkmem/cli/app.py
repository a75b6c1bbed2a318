"""The long way from a command line to a `Call`: Typer, which also shows help and says what is wrong.

The commands are built from `declare`. Typer only reads the line: the target runs after it, in
`milkmem.__main__`, so that one place maps what can go wrong to exit codes (X2).
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from milkmem import __version__
from milkmem.cli.declare import (
    COMMANDS,
    ENVIRONMENT,
    FLAG,
    GROUPS,
    OWN_OPTIONS,
    PROGRAM,
    Argument,
    Call,
    Option,
)
from milkmem.cli.plain import AUTO, terminal_width, use_color
from milkmem.errors import EXIT_CODES, INTERRUPTED, BadUsage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from milkmem.cli.declare import Command, Parameter

# What Typer raises for a wrong line is click's own class up to 0.25 and a copy of it from 0.26 on, under no
# public name in either; the public class below it leads there in all.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

# Help is easier to read where its lines are not too long; a meaning goes below its name where too little is
# left beside it. All in columns.
_WIDEST = 100
_NARROWEST_MEANING = 30

_MARGIN = " "
_COMMANDS = "Commands"
_ARGUMENTS = "Arguments"
_ABOUT = "Keeps a coding agent's memory: small statements with a strength that decays."


def parse(argv: list[str]) -> Call | None:
    """Return the call that a command line stands for, or None where it asked for help and got it (X8).

    Raises BadUsage, with one line that says what is wrong (X2, X3).
    """
    page = _Page(sys.stdout)
    try:
        with contextlib.redirect_stdout(page):
            result = get_command(build()).main(argv, prog_name=PROGRAM, standalone_mode=False)
    except _UsageError as error:
        raise _bad_usage(error) from error
    finally:
        sys.stdout.write(page.getvalue())
    if result == INTERRUPTED:  # Typer's word for a KeyboardInterrupt
        raise KeyboardInterrupt
    return result if isinstance(result, Call) else None


def build() -> typer.Typer:
    """Return the Typer app of all declared commands; its commands return a `Call` and do nothing else."""
    app = _typer(_ABOUT)
    app.callback(cls=_Group, invoke_without_command=True, epilog=_surroundings())(_top)
    groups = {group.name: _typer(group.summary) for group in GROUPS}
    for group in GROUPS:
        groups[group.name].callback(cls=_Group, invoke_without_command=True)(_help_alone)
        app.add_typer(groups[group.name], name=group.name, rich_help_panel=group.panel)
    for command in COMMANDS:
        *parents, name = command.name.split()
        parent = groups[parents[0]] if parents else app
        parent.command(
            name,
            cls=_Command,
            help=f"{command.summary}\n\n{command.details}".rstrip(),
            short_help=command.summary,
            epilog=_examples(command),
            rich_help_panel=None if parents else command.panel,
            context_settings={"allow_extra_args": True},
        )(_function(command))
    return app


class _Page(io.StringIO):
    """Collects what standard output will show, as the terminal and the encoding there can show it.

    Rich ends the program by itself when a pipe breaks; here none does.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a property there as well
        return self._stream.encoding

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


class _Help:
    """Lays help out for the screen, and prints the epilog as it stands, so that an example can be copied.

    The layout is ours: importing Rich for Typer's panels takes twice as long as all the rest of a start, and
    its panels cut names off where they are narrow.
    """

    help: str | None
    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help page of this command: usage, meaning, and a table for each panel (X1, X8)."""
        ctx.terminal_width = _width()
        lines = [ctx.get_usage(), ""]
        for paragraph in (self.help or "").split("\n\n"):
            lines += [*_wrapped(paragraph, _MARGIN), ""]
        panels: dict[str, dict[str, str]] = {}
        for name, command in getattr(self, "commands", {}).items():
            panel = panels.setdefault(command.rich_help_panel or _COMMANDS, {})
            panel[name] = command.short_help or command.help
        for param in ctx.command.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                default = OWN_OPTIONS if param.param_type_name == "option" else _ARGUMENTS
                panel = panels.setdefault(getattr(param, "rich_help_panel", None) or default, {})
                panel[record[0]] = record[1] or ""
        bold = use_color(AUTO, os.environ, sys.stdout)
        for name, records in panels.items():
            title, *rows = _table(f"{name}:", records)
            lines += [f"\x1b[1m{title}\x1b[0m" if bold else title, *rows, ""]
        print("\n".join(lines))
        if self.epilog is not None:
            print(self.epilog)


class _Command(_Help, TyperCommand):
    pass


class _Group(_Help, TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if len(args[0].split()) > 1:  # a fact, which no message repeats (Z6)
            raise _UsageError("a command is one word; a fact goes behind it, in quotes", ctx)
        return super().resolve_command(ctx, args)


def _typer(help: str) -> typer.Typer:
    return typer.Typer(help=help, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _help_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


def _top(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(PROGRAM, __version__)
        raise typer.Exit
    _help_alone(ctx)


def _function(command: Command) -> Callable[..., Call]:
    """Return a function with the signature that Typer reads a command's parameters from."""

    def call(ctx: typer.Context, **values: Any) -> Call:
        if ctx.args:
            raise _UsageError("too many arguments; a text of several words goes in quotes", ctx)
        for param in command.params:
            if param.multiple:
                values[param.name] = tuple(values[param.name] or ())
        return Call(command, values)

    by_name = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", by_name, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(param.name, by_name, default=_default(param), annotation=_annotation(param))
        for param in command.params
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for
    return call


def _default(param: Parameter) -> object:
    if isinstance(param, Argument) and param.required:
        return inspect.Parameter.empty
    return None if param.multiple else param.default


def _annotation(param: Parameter) -> object:
    kind: Any = bool if param.kind == FLAG else list[str] if param.multiple else str
    reader: dict[str, Any] = {}
    if param.kind != FLAG:
        reader["parser"] = _reader(param)
        reader["autocompletion"] = lambda incomplete: [
            choice for choice in param.choices if choice.startswith(incomplete)
        ]
    if isinstance(param, Option):
        flags = list(param.flags)
        if param.negative != "":
            flags[-1] += f"/{param.negative}"
        return Annotated[
            kind,
            typer.Option(
                *flags,
                help=param.help,
                metavar=param.metavar or None,
                hidden=param.hidden,
                rich_help_panel=param.panel,
                **reader,
            ),
        ]
    return Annotated[kind, typer.Argument(help=param.help, metavar=param.metavar, **reader)]


def _reader(param: Parameter) -> Callable[[object], object]:
    def read(text: object) -> object:
        if not isinstance(text, str):
            return text
        try:
            return param.read(text)
        except ValueError as error:
            raise typer.BadParameter(f"must be {error}") from error

    read.__name__ = param.kind  # what Typer shows as the type of an argument
    return read


def _bad_usage(error: Any) -> BadUsage:
    """Return Typer's usage error as ours: one line, without a text that could be a fact (Z6)."""
    path = PROGRAM if error.ctx is None else error.ctx.command_path
    message = error.format_message().rstrip(".")
    if len(getattr(error, "option_name", "").split()) > 1:
        message = "no such option; -- goes before a text that begins with -"
    return BadUsage(message[:1].lower() + message[1:], f"{path} --help")


def _examples(command: Command) -> str:
    lines = [f"{_MARGIN}Examples:"]
    for example, meaning in command.examples:
        lines += [f"{_MARGIN}  {example}", *_wrapped(meaning, f"{_MARGIN}      ")]
    return "\n".join(lines)


def _surroundings() -> str:
    codes = {str(code): meaning for code, meaning in EXIT_CODES.items()}
    return "\n".join([*_table("Environment variables:", ENVIRONMENT), "", *_table("Exit codes:", codes)])


def _table(title: str, rows: dict[str, str]) -> list[str]:
    first = f"{_MARGIN}  {'':{max(map(len, rows))}}  "
    lines = [f"{_MARGIN}{title}"]
    for name, meaning in rows.items():
        if _width() - len(first) < _NARROWEST_MEANING:
            lines += [f"{_MARGIN}  {name}", *_wrapped(meaning, f"{_MARGIN}      ")]
        else:
            wrapped = _wrapped(meaning, first) or [first]
            lines += [f"{_MARGIN}  {name}{wrapped[0][len(_MARGIN) + 2 + len(name) :]}".rstrip(), *wrapped[1:]]
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _width() - 1, initial_indent=indent, subsequent_indent=indent)


def _width() -> int:
    return min(terminal_width(os.environ, sys.stdout), _WIDEST)
