"""`milkmem doctor`: what is wrong with places, files, runs and hooks, and what to type next (section 15)."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys

from milkmem import config, files, places, runs, store
from milkmem.cli.declare import PROGRAM
from milkmem.cli.output import Screen, count, print_json
from milkmem.cli.plain import ago, duration, field
from milkmem.cli.setup import at_terminal, config_path
from milkmem.errors import DONE, REFUSED, BadConfig, BadData, MilkmemError
from milkmem.hooks import CLAUDE_CODE, CODEX, log
from milkmem.knobs import MEASURED_ELAPSED_LIMIT, Knobs
from milkmem.percept import ARCHIVE, GLOBAL, weight
from milkmem.store import Place, RunChoice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from milkmem.cli.declare import Call
    from milkmem.config import Settings
    from milkmem.hooks.install import Target
    from milkmem.percept import Document
    from milkmem.runs import Book, Moment, Run

OK = "ok"
NOTE = "note"
PROBLEM = "problem"

# The bits of a mode that let others in.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# How many edges are named one by one.
_SHOWN = 5


class Finding:
    """One thing looked at: how it is, what it is about, in words, and what to type next, "" for nothing."""

    __slots__ = ("about", "command", "level", "text")

    def __init__(self, level: str, about: str, text: str, command: str = "") -> None:
        self.level = level
        self.about = about
        self.text = text
        self.command = command


def run(call: Call) -> int:
    """Print what is found; return 1 where something is wrong."""
    examined = _Examined(call)
    findings = list(examined.findings())
    problems = sum(finding.level == PROBLEM for finding in findings)
    if call.flag("json"):
        print_json(
            {
                "places": {
                    "data_dir": examined.place.directory,
                    "session": examined.place.session,
                    "config": examined.config_path,
                },
                "problems": problems,
                "findings": [
                    {
                        "level": finding.level,
                        "about": finding.about,
                        "text": finding.text,
                        "command": finding.command,
                    }
                    for finding in findings
                ],
            }
        )
    elif at_terminal(sys.stdout):
        from milkmem.cli.render import finding_list

        rows = [(finding.level, finding.about, finding.text, finding.command) for finding in findings]
        finding_list(rows, **Screen(call).layout())
    else:
        for finding in findings:
            print("\t".join((finding.level, finding.about, field(finding.text), field(finding.command))))
    return DONE if problems == 0 else REFUSED


class _Examined:
    """What is looked at: the configuration as far as it can be read, the place, and the moment."""

    def __init__(self, call: Call) -> None:
        given = {
            "--data-dir": call.text("data_dir"),
            "--session": call.text("session"),
            "--config": call.text("config"),
        }
        self._options = {flag: text for flag, text in given.items() if text is not None}
        self.config_path = config_path(call)
        self.config_fault: BadConfig | None = None
        self.settings: Settings | None = None
        try:
            self.settings = config.load(self.config_path, must_exist=call.text("config") is not None)
        except BadConfig as fault:
            self.config_fault = fault
        data_dir = None if self.settings is None else self.settings.data_dir
        session = None if self.settings is None else self.settings.session
        self.place = Place(
            places.data_directory(call.text("data_dir"), os.environ, data_dir),
            places.session_name(call.text("session"), os.environ, session),
            places.lock_timeout(os.environ),
        )
        self.knobs = Knobs() if self.settings is None else self.settings.knobs

    def findings(self) -> Iterator[Finding]:
        """Yield what there is to say, place by place."""
        yield from _of_config(self)
        there = yield from _of_directory(self.place)
        if there:
            documents = yield from _of_files(self.place)
            yield from _of_percepts(self, documents)
            yield from _of_edges(self, documents)
            yield from _of_state(self, documents)
        yield from _of_hooks()

    def command(self, name: str, session: str | None = None) -> str:
        """Return a command of ours as it must be typed for this place, or for another session in it."""
        options = dict(self._options)
        if session is not None and session != self.place.session:
            options["--session"] = session
        return " ".join([PROGRAM, name, *(f"{flag} {shlex.quote(text)}" for flag, text in options.items())])


def _of_config(examined: _Examined) -> Iterator[Finding]:
    path, settings = examined.config_path, examined.settings
    if examined.config_fault is not None:
        yield Finding(PROBLEM, "config", examined.config_fault.message, examined.config_fault.hint)
        return
    assert settings is not None
    if not settings.exists:
        yield Finding(OK, "config", f"{path} is not there: every knob is at its default")
        return
    retired = settings.retired
    for key, line in retired:
        yield Finding(
            PROBLEM,
            "config",
            f"{path}:{line}: {key} is retired and ignored",
            examined.command("config init --upgrade"),
        )
    for warning in settings.warnings:
        yield Finding(PROBLEM, "config", warning, examined.command("config show"))
    if not retired and not settings.warnings:
        yield Finding(OK, "config", path)


def _of_directory(place: Place) -> Generator[Finding, None, bool]:
    """Yield how the data directory is, and return whether there is one to look into."""
    directory = place.directory
    try:
        there = place.exists()
    except BadData as fault:
        yield Finding(PROBLEM, "data directory", fault.message, f"{PROGRAM} --help")
        return False
    if not there:
        yield Finding(OK, "data directory", f"{directory} is not there: nothing was recorded yet")
        return False
    yield Finding(OK, "data directory", f"{directory}, session {place.session}")
    yield from _of_access(place)
    return True


def _of_access(place: Place) -> Iterator[Finding]:
    directory = place.directory
    status = os.stat(directory)
    if os.geteuid() not in (0, status.st_uid):
        yield Finding(
            PROBLEM,
            "permissions",
            f"{directory} belongs to another user",
            f"sudo chown -R {os.geteuid()} {shlex.quote(directory)}",
        )
    elif not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(
            PROBLEM,
            "permissions",
            f"{directory} cannot be written: what is recorded is lost",
            f"chmod u+rwx {shlex.quote(directory)}",
        )
    if not status.st_mode & _OTHERS:
        return
    yield Finding(
        PROBLEM,
        "permissions",
        f"{directory} is open to others ({stat.S_IMODE(status.st_mode):04o})",
        f"chmod 700 {shlex.quote(directory)}",
    )
    for path in [*map(place.file, place.stores()), place.state()]:
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if mode & _OTHERS:
            private = files.PRIVATE_DIRECTORY if stat.S_ISDIR(mode) else files.PRIVATE_FILE
            yield Finding(
                PROBLEM,
                "permissions",
                f"{path} is open to others ({stat.S_IMODE(mode):04o})",
                f"chmod {private:o} {shlex.quote(path)}",
            )


def _of_files(place: Place) -> Generator[Finding, None, dict[str, Document]]:
    """Yield how the memory files are, and return those that can be read."""
    reader = store.Reader(place, lenient=True)
    documents: dict[str, Document] = {}
    for name in place.stores():
        document = reader.read(name)
        if document is not None:
            documents[name] = document
    for fault in reader.unreadable:
        path = fault.message.partition(": ")[0]
        quoted = shlex.quote(path)
        yield Finding(PROBLEM, "files", fault.message, f"mv {quoted} {quoted}.broken")
    if not reader.unreadable:
        total = sum(len(document.get("percepts") or []) for document in documents.values())
        yield Finding(OK, "files", f"{count(len(documents), 'file')}, {count(total, 'percept')}")
    return documents


def _of_percepts(examined: _Examined, documents: dict[str, Document]) -> Iterator[Finding]:
    homes: dict[str, list[str]] = {}
    clamped = 0
    for name, document in documents.items():
        for percept in document.get("percepts") or []:
            homes.setdefault(percept["id"], []).append(name)
            clamped += weight(percept) != percept["w"]
    for percept_id, names in homes.items():
        sessions = [name for name in names if name not in (GLOBAL, ARCHIVE)]
        where = f"{field(percept_id)} stands in {' and '.join(names)}"
        if len(names) == len(sessions) > 1:
            yield Finding(NOTE, "duplicate ids", where, f"{examined.command('inspect')} --sessions")
        elif len(names) > 1:
            command = examined.command("consolidate", sessions[0] if sessions else None)
            yield Finding(PROBLEM, "duplicate ids", f"{where}: a pass keeps one", command)
    if clamped:
        yield Finding(
            NOTE, "w", f"w is outside 0 to 1 in {count(clamped, 'percept')}", examined.command("consolidate")
        )


def _of_edges(examined: _Examined, documents: dict[str, Document]) -> Iterator[Finding]:
    known = _ids(documents)
    dangling = [
        (name, edge)
        for name, document in documents.items()
        for edge in document.get("edges") or []
        if edge.get("from") not in known or edge.get("to") not in known
    ]
    for name, edge in dangling[:_SHOWN]:
        session = name if name not in (GLOBAL, ARCHIVE) else None
        parts = [edge.get("from") or "", edge.get("relation") or "", edge.get("to") or ""]
        source, relation, target = parts
        # An edge of the archive is not live, and one that lacks a part cannot be named: neither does harm.
        harmless = name == ARCHIVE or "" in parts
        ends = " ".join(shlex.quote(text) for text in ("--", source, target, relation))
        command = "" if harmless else f"{examined.command('unlink', session)} {ends}"
        text = f"{name}: {' '.join(field(part) or '?' for part in parts)}: an end is nowhere"
        yield Finding(NOTE if harmless else PROBLEM, "edges", text, command)
    if len(dangling) > _SHOWN:
        yield Finding(
            PROBLEM,
            "edges",
            f"{len(dangling) - _SHOWN} more with an end that is nowhere",
            examined.command("doctor"),
        )


def _ids(documents: dict[str, Document]) -> set[str]:
    return {percept["id"] for document in documents.values() for percept in document.get("percepts") or []}


def _of_state(examined: _Examined, documents: dict[str, Document]) -> Iterator[Finding]:
    """Yield what is wrong with all that is no memory: lock, runs, temporary files, hook log (F6)."""
    place = examined.place
    if store.is_locked(place):
        yield Finding(
            NOTE, "lock", "another command holds the memory at this moment", examined.command("doctor")
        )
    try:
        book, sitting, now = store.look_at_runs(place, RunChoice(None, examined.knobs.run_gap_minutes), None)
    except BadData as fault:
        yield Finding(PROBLEM, "runs", fault.message, f"rm {shlex.quote(place.state(store.BOOK))}")
    else:
        yield from _of_changes(examined, book, documents)
        yield from _of_runs(examined, sitting, now)
    for path, ours in store.left_over(place):
        command = examined.command("consolidate") if ours else f"rm {shlex.quote(path)}"
        yield Finding(NOTE, "left over", f"{path} is what a crash left", command)
    if any(f": {log.NOTE}" not in line for line in _lines(place.state(log.NAME))):
        path = place.state(log.NAME)
        yield Finding(NOTE, "hook log", "something went wrong in a hook", f"tail {shlex.quote(path)}")


def _of_changes(examined: _Examined, book: Book, documents: dict[str, Document]) -> Iterator[Finding]:
    place = examined.place
    changed = [name for name, seen in book.files.items() if files.fingerprint_of(place.file(name)) != seen]
    for name in changed:
        yield Finding(
            NOTE,
            "changed",
            f"{place.file(name)} was changed since {PROGRAM}'s last command, by milk or by hand",
            examined.command("inspect"),
        )
    # Where a file cannot be read, what was in it is not gone.
    gone: dict[str, list[str]] = {}
    known = _ids(documents)
    for percept_id, name in book.placed.items():
        if percept_id not in known and (name in documents or not os.path.exists(place.file(name))):
            gone.setdefault(name, []).append(percept_id)
    for name, ids in gone.items():
        shown = [field(percept_id) for percept_id in ids[:_SHOWN]]
        more = [] if len(ids) == len(shown) else [f"{len(ids) - len(shown)} more"]
        yield Finding(
            NOTE,
            "gone",
            f"{place.file(name)} lost {count(len(ids), 'percept')} that {PROGRAM} put there last, to milk or"
            f" to a hand: {', '.join(shown + more)}",
            examined.command("inspect"),
        )


def _of_runs(examined: _Examined, sitting: Run | None, now: Moment) -> Iterator[Finding]:
    named, unreadable = store.named_runs(examined.place)
    for fault in unreadable:
        path = fault.message.partition(": ")[0]
        yield Finding(PROBLEM, "runs", fault.message, f"rm {shlex.quote(path)}")
    for each in [*([] if sitting is None else [sitting]), *named]:
        if runs.is_over(each, now):
            continue
        open_for = now.seconds_since(each.started)
        if open_for > MEASURED_ELAPSED_LIMIT:
            command = examined.command("run end")
            yield Finding(
                PROBLEM,
                "runs",
                f"{each.id} has been open for {duration(open_for)}, last active"
                f" {ago(each.active.wall, now.wall)}: what is said in it counts once",
                command if each.implicit else f"{command} --run {each.id}",
            )


def _of_hooks() -> Iterator[Finding]:
    """Yield whether agents call milkmem, and as they should."""
    found = []
    for agent, targets in _targets().items():
        holding: list[str] = []
        for target in targets:
            yield from _of_target(agent, target, holding)
        if len(holding) > 1:
            paths = " and ".join(holding)
            yield Finding(
                PROBLEM,
                "hooks",
                f"{paths} both call {PROGRAM}: each turn counts twice",
                f"{PROGRAM} hook install {agent} --uninstall",
            )
        found += holding
    if not found:
        yield Finding(
            OK, "hooks", f"no agent is set up to call {PROGRAM}", f"{PROGRAM} hook install {CLAUDE_CODE}"
        )
    elif shutil.which(PROGRAM) is None:
        yield Finding(
            PROBLEM,
            "hooks",
            f"there is no {PROGRAM} on the PATH, which the hooks call",
            f"command -v {PROGRAM}",
        )


def _targets() -> dict[str, list[Target]]:
    """Return the files that can hold each agent's hooks, those of the project first."""
    from milkmem.hooks import claude_code, codex

    home = os.path.expanduser("~")
    folders: list[str | None] = []
    try:
        project = places.project_directory()
    except MilkmemError:
        project = home
    if os.path.realpath(home) != project:
        folders.append(project)
    if os.path.isabs(home):
        folders.append(None)
    environ = os.environ
    targets: dict[str, list[Target]] = {
        CLAUDE_CODE: [claude_code.hook_file(home, folder, environ) for folder in folders],
        CODEX: [codex.hook_file(home, folder, environ) for folder in folders],
    }
    if None in folders:
        targets[CODEX].append(codex.notify_file(home, environ))
    return targets


def _of_target(agent: str, target: Target, holding: list[str]) -> Iterator[Finding]:
    """Yield how one settings file is; where it calls milkmem its path is added to those that do."""
    from milkmem.hooks.install import planned

    try:
        found = files.read_regular(target.path)
        text = None if found is None else found[0].decode()
        if text is None or PROGRAM not in text:
            return
        if not target.calls_us(text):
            planned(target, prompt=False, uninstall=True)  # raises where it cannot be read
            return
        needed = planned(target, prompt=False, uninstall=False).needed
    except (MilkmemError, UnicodeDecodeError) as fault:
        text = fault.message if isinstance(fault, MilkmemError) else f"{target.path}: is not UTF-8"
        yield Finding(PROBLEM, "hooks", text, f"{PROGRAM} hook install {agent} --dry-run")
        return
    holding.append(target.path)
    if needed:
        yield Finding(
            PROBLEM,
            "hooks",
            f"{target.path} lacks some of {PROGRAM}'s hooks",
            f"{PROGRAM} hook install {agent}",
        )
    else:
        yield Finding(OK, "hooks", f"{target.path} calls {PROGRAM}")


def _lines(path: str) -> Iterable[str]:
    try:
        found = files.read_regular(path)
    except BadData:
        return ()
    return () if found is None else found[0].decode("utf-8", "replace").splitlines()
