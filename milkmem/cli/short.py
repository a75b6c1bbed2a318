"""The short way from a command line to a `Call`: no Typer, for lines that are well-formed beyond doubt.

Whatever is in doubt is left to `app`, which reads by the same declarations, and which alone shows help and
says what is wrong. An agent's hook starts in a fraction of the time that importing Typer takes.
"""

from __future__ import annotations

from milkmem.cli.declare import COMMANDS, FLAG, Argument, Call, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkmem.cli.declare import Command, Parameter


def parse(argv: Sequence[str]) -> Call | None:
    """Return the call that a command line stands for, or None where Typer must have the word.

    None says: help, an unknown command or option, a value that is none, too few or too many arguments,
    or a form that this reader leaves to Typer, such as flags run together.
    """
    for command in COMMANDS:
        words = command.name.split()
        if list(argv[: len(words)]) == words:
            return _read(command, argv[len(words) :])
    return None


def _read(command: Command, line: Sequence[str]) -> Call | None:
    options = [param for param in command.params if isinstance(param, Option)]
    by_flag = {flag: option for option in options for flag in option.flags}
    by_negative = {option.negative: option for option in options}
    values: dict[str, object] = {param.name: param.default for param in command.params}
    texts: list[tuple[Parameter, str]] = []
    loose: list[str] = []
    items = iter(line)
    for item in items:
        if item == "--":
            loose.extend(items)
        elif item == "-" or not item.startswith("-"):
            loose.append(item)
        elif item in by_negative:
            values[by_negative[item].name] = False
        elif item in by_flag and by_flag[item].kind == FLAG:
            values[by_flag[item].name] = True
        else:
            flag, attached, text = item.partition("=") if item.startswith("--") else (item, "", "")
            value = text if attached else next(items, None)
            if flag not in by_flag or by_flag[flag].kind == FLAG or value is None:
                return None
            texts.append((by_flag[flag], value))
    places = _place([param for param in command.params if isinstance(param, Argument)], loose)
    return None if places is None else _fill(command, values, texts + places)


def _place(arguments: list[Argument], loose: list[str]) -> list[tuple[Parameter, str]] | None:
    """Return which argument takes which text, or None for too few or too many.

    Optional arguments stand behind required ones, and one that takes all that is left stands last.
    """
    places: list[tuple[Parameter, str]] = []
    at = 0
    for argument in arguments:
        taken = loose[at:] if argument.multiple else loose[at : at + 1]
        if argument.required and not taken:
            return None
        places.extend((argument, text) for text in taken)
        at += len(taken)
    return places if at == len(loose) else None


def _fill(command: Command, values: dict[str, object], texts: list[tuple[Parameter, str]]) -> Call | None:
    """Return the call with each text read as its parameter reads it, or None where one is refused.

    Of an option that takes one value the last counts, and only that is read, as in Typer.
    """
    found: dict[Parameter, list[str]] = {}
    for param, text in texts:
        found.setdefault(param, []).append(text)
    try:
        for param, given in found.items():
            values[param.name] = tuple(map(param.read, given)) if param.multiple else param.read(given[-1])
    except ValueError:
        return None
    return Call(command, values)
