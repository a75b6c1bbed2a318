"""`milkmem hook run`, `hook install`, `hook shell`: milkmem called by agents and shells (hooks.md)."""

from __future__ import annotations

import os
import sys

from milkmem import clock, places
from milkmem.cli.declare import PROGRAM
from milkmem.cli.setup import Setup, say, settings
from milkmem.errors import DONE, REFUSED, BadConfig, BadUsage, MilkmemError, Refused
from milkmem.hooks import CODEX, events, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call
    from milkmem.hooks.events import Event
    from milkmem.hooks.install import Change, Target

EVENT_LIMIT_BYTES = 16 * 1024 * 1024
_KEEP_APART = "milkmem hook install {} --per-project"


def run(call: Call) -> int:
    """Do what an agent's event asks for; whatever fails is one line, and no matter of the agent's.

    Returns 1 where something failed, which `__main__` lets pass under `--strict` only.
    """
    source = call.given("agent")
    try:
        event = _event(call)
        if event is None:
            return DONE
        source = f"{source} {event.name}"
        failure = _carry_out(Setup(call, event.cwd), event, source)
    except MilkmemError as error:
        failure = error.message
    except Exception as error:  # a defect: here only for the log, all else is `__main__`'s
        _log(call, source, f"failed with {type(error).__name__}")
        raise
    if failure == "":
        return DONE
    _log(call, source, failure)
    say(failure)
    return REFUSED


def _event(call: Call) -> Event | None:
    payload = events.decode(_input(call))
    if call.given("agent") == CODEX:
        from milkmem.hooks import codex

        payload = codex.translate(payload)
    return events.read(payload)


def _input(call: Call) -> str:
    """Return the event's JSON: the argument, else standard input, which is read here only (X6)."""
    given = call.text("event")
    if given is not None:
        return given
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(EVENT_LIMIT_BYTES + 1)
    if len(data) > EVENT_LIMIT_BYTES:
        raise BadUsage(f"the event is longer than {EVENT_LIMIT_BYTES} bytes")
    return data.decode("utf-8", "replace")


def _carry_out(setup: Setup, event: Event, source: str) -> str:
    """Do what the event asks for, print the context, and return what failed, "" if nothing did."""
    from milkmem.hooks.actions import Hook, carry_out

    hook = Hook(
        setup.place,
        setup.run_choice(),
        setup.knobs,
        at=setup.at,
        now=setup.now,
        instructions=setup.settings.instructions,
    )
    told = carry_out(hook, event)
    if told.context != "":
        print(events.envelope(event, told.context), flush=True)
    for line in told.lines:
        log.add(setup.place, setup.now.wall, source, line)
    return told.failure


def _log(call: Call, source: str, failure: str) -> None:
    """Log a failure, also where the configuration or the session cannot be made out."""
    from milkmem.store import Place

    configured = None
    try:
        configured = settings(call).data_dir
    except MilkmemError:
        pass
    try:
        directory = places.data_directory(call.text("data_dir"), os.environ, configured)
    except MilkmemError:
        return
    log.add(Place(directory, places.DEFAULT_SESSION, 0.0), clock.read().wall, source, failure)


def install(call: Call) -> int:
    """Put our hooks into an agent's settings, or take them out, and show what changes."""
    from milkmem.hooks.install import carried_out, planned

    prompt, uninstall = call.flag("prompt"), call.flag("uninstall")
    session = settings(call).session
    targets = _targets(call)
    # All is planned before anything is done, so that nothing is changed where one file cannot be.
    changes = [planned(target, prompt=prompt, uninstall=uninstall) for target in targets]
    if not call.flag("dry_run"):
        changes = [carried_out(target, prompt=prompt, uninstall=uninstall) for target in targets]
    _print(call, changes)
    if not uninstall:
        _settle_session(call, session)
        _warn_of_path()
    return DONE


def _targets(call: Call) -> list[Target]:
    """Return the files to change: all that may hold something of ours where it is to be taken out."""
    from milkmem.hooks import claude_code, codex

    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise BadConfig("there is no home directory for the agent's settings", "set HOME")
    project = places.project_directory() if call.flag("project") else None
    if call.given("agent") != CODEX:
        return [claude_code.hook_file(home, project, os.environ)]
    hooks, notify = codex.hook_file(home, None, os.environ), codex.notify_file(home, os.environ)
    chosen: Target = hooks if project is None else codex.hook_file(home, project, os.environ)
    if call.flag("notify"):
        if project is not None:
            raise BadUsage("--notify is for the user's configuration, not for a project's")
        chosen = notify
    others: list[Target] = [hooks, notify]
    calling = [other for other in others if other.path != chosen.path and _calls_us(other)]
    if call.flag("uninstall"):
        return [chosen] if project is not None else [chosen, *calling]
    if calling:
        # Codex runs what all its files name, and twice told is not twice corroborated.
        raise Refused(
            f"{calling[0].path} calls milkmem already; with both, each turn would count twice",
            "milkmem hook install codex --uninstall",
        )
    return [chosen]


def _calls_us(target: Target) -> bool:
    from milkmem import files

    found = files.read_regular(target.path)
    return found is not None and target.calls_us(found[0].decode("utf-8", "replace"))


def _print(call: Call, changes: list[Change]) -> None:
    from milkmem.cli.output import print_json

    if call.flag("json"):
        files = [
            {"path": change.path, "changed": change.needed, "backup": change.backup, "diff": _diff(change)}
            for change in changes
        ]
        print_json({"dry_run": call.flag("dry_run"), "agent": call.given("agent"), "files": files})
        return
    from milkmem.cli.plain import visible

    for change in changes:
        for line in _diff(change):
            print(visible(line))
        if not change.needed:
            held = "holds nothing of milkmem" if call.flag("uninstall") else "holds these hooks already"
            say(f"{change.path} {held}")
        elif change.backup is not None:
            say(f"{change.path} is changed; what it was is in {change.backup}")


def _diff(change: Change) -> list[str]:
    import difflib

    before, after = (
        [] if text is None else text.removesuffix("\n").split("\n") for text in (change.before, change.after)
    )
    old, new = (os.devnull if text is None else change.path for text in (change.before, change.after))
    return list(difflib.unified_diff(before, after, old, new, lineterm=""))


def _settle_session(call: Call, session: str | None) -> None:
    """Keep the projects' sessions apart where that is asked for, else say how (F2)."""
    from milkmem import config_file
    from milkmem.cli.setup import config_path, hint

    path = config_path(call)
    if not call.flag("per_project"):
        if session is None:
            say("one session serves all projects")
            hint(_KEEP_APART.format(call.given("agent")))
    elif call.flag("dry_run"):
        say(f'session = "{places.PROJECT_SESSION}" would be set in {path}')
    elif config_file.set_session(path, places.PROJECT_SESSION).written:
        say(f'session = "{places.PROJECT_SESSION}" is now set in {path}')


def _warn_of_path() -> None:
    import shutil

    if shutil.which(PROGRAM) is None:
        say(f"there is no {PROGRAM} on the PATH here; the agent must find one there")


def shell(call: Call) -> int:
    """Print what a shell evaluates to have `milkmem_turn`."""
    from milkmem.hooks.shell import script

    stated = call.text("data_dir")
    directory = places.data_directory(stated, os.environ, settings(call).data_dir)
    options = [] if stated is None else ["--data-dir", directory]
    for name in ("session", "config"):
        text = call.text(name)
        if text is not None:
            options += [f"--{name}", os.path.abspath(text) if name == "config" else text]
    print(script(call.given("shell"), directory, options, fixed=stated is not None), end="")
    return DONE
