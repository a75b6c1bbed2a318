"""`milkmem config init`, `config show`, `config path` (section 15)."""

from __future__ import annotations

import os
import sys

from milkmem import config_file
from milkmem.cli.output import Screen, print_json
from milkmem.cli.plain import field
from milkmem.cli.setup import at_terminal, config_path, say, settings
from milkmem.errors import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call


def init(call: Call) -> int:
    """Write the configuration, or print it."""
    path = config_path(call)
    from_milk = call.text("from_milk")
    if call.flag("stdout"):
        taken = {} if from_milk is None else config_file.read_milk(from_milk)[0]
        sys.stdout.write(config_file.render(taken))
        return DONE
    result = config_file.init(
        path, force=call.flag("force"), upgrade=call.flag("upgrade"), from_milk=from_milk
    )
    if call.flag("json"):
        print_json(
            {
                "path": result.path,
                "written": result.written,
                "backup": result.backup,
                "added": list(result.added),
                "dropped": list(result.dropped),
                "taken": list(result.taken),
                "left_out": list(result.left_out),
            }
        )
        return DONE
    if at_terminal(sys.stdout):
        print(f"wrote {field(result.path)}" if result.written else f"{field(result.path)} needs nothing")
    for words, names in (
        ("added", result.added),
        ("dropped, since retired", result.dropped),
        ("taken from milk", result.taken),
        ("left out of milk's, since retired or unknown", result.left_out),
    ):
        if names:
            say(f"{words}: {', '.join(names)}")
    if result.backup is not None:
        say(f"the old file is kept as {result.backup}")
    if not result.in_place:
        say("the file was written afresh: its own comments are in the kept one only")
    return DONE


def show(call: Call) -> int:
    """Print every setting with its value and where it came from."""
    in_force = settings(call)
    rows = config_file.show(in_force)
    if call.flag("json"):
        print_json(
            {
                "path": in_force.path,
                "exists": in_force.exists,
                "settings": [{"name": row.name, "value": row.value, "origin": row.origin} for row in rows],
                "warnings": in_force.warnings,
            }
        )
        return DONE
    if at_terminal(sys.stdout):
        from milkmem.cli.render import config_rows

        config_rows([(row.name, _text(row.value), row.origin) for row in rows], **Screen(call).layout())
    else:
        for row in rows:
            print("\t".join((row.name, field(_text(row.value)), field(row.origin))))
    for warning in in_force.warnings:
        say(warning)
    return DONE


def _text(value: object) -> str:
    """Return a setting's value as the configuration spells it, "" where there is none."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def path(call: Call) -> int:
    """Print the path of the configuration, whether it exists or not."""
    where = config_path(call)
    if call.flag("json"):
        print_json({"path": where, "exists": os.path.exists(where)})
    else:
        print(field(where))
    return DONE
