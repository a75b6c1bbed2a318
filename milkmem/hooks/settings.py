"""An agent's JSON settings: our hooks added to the text and taken out of it, all else left byte for byte.

The text is scanned for the places where something must go in or out and is never written afresh, so that
other hooks, keys, their order, indentation and line ends stay as they are.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # undocumented, and there since 2.6

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

HOOKS = "hooks"
COMMAND = "command"

_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r'[^ \t\r\n,\]}"]+')
_USUAL_INDENT = "  "
_BOM = "\ufeff"


class Unusable(ValueError):  # named as the errors of `errors` are
    """The settings cannot be read; its words complete "the file …"."""


class _Node:
    """A value in the text: where it stands, and where its members or items do."""

    __slots__ = ("children", "end", "opens", "start")

    def __init__(self, start: int, opens: str) -> None:
        self.start = start
        self.end = start
        self.opens = opens
        self.children: list[_Child] = []

    def get(self, key: str) -> _Node | None:
        """Return the value of a key; raises Unusable if the object has the key twice."""
        found = [child.node for child in self.children if child.key == key]
        if len(found) > 1:
            raise Unusable(f"has the key {json.dumps(key)} twice")
        return found[0] if found else None


class _Child:
    __slots__ = ("key", "node", "start")

    def __init__(self, key: str, start: int, node: _Node) -> None:
        self.key = key
        self.start = start
        self.node = node


def added(text: str | None, command: str, events: Sequence[tuple[str, int]]) -> str:
    """Return the text with our command at each event where it is not yet; None is a missing file.

    `events` are pairs of an event's name and the seconds the agent gives it. Raises Unusable.
    """
    body = "{}\n" if text is None else text.removeprefix(_BOM)
    for event, seconds in events:
        root = _scan(body)
        if not any(found == event for found, _ in _ours(body, root, command)):
            handler = {"type": COMMAND, COMMAND: command, "timeout": seconds}
            body = _with(body, root, event, {HOOKS: [handler]})
    return _bom(text) + body


def removed(text: str, command: str) -> str:
    """Return the text without our command, and without what then holds nothing; raises Unusable."""
    body = text.removeprefix(_BOM)
    while True:
        path = next((path for _, path in _ours(body, _scan(body), command)), None)
        if path is None:
            return _bom(text) + body
        body = _without(body, path)


def holds(text: str, command: str) -> bool:
    """Return whether our command stands at some event; raises Unusable."""
    body = text.removeprefix(_BOM)
    return any(True for _ in _ours(body, _scan(body), command))


def _bom(text: str | None) -> str:
    return _BOM if text is not None and text.startswith(_BOM) else ""


# Finding places.


def _scan(text: str) -> _Node:
    """Return where everything in a JSON text stands; raises Unusable for anything but an object."""
    try:
        document = json.loads(text, parse_constant=_refuse)
        root = _value(text, 0)
    except RecursionError as error:
        raise Unusable("is nested too deep") from error
    except ValueError as error:
        raise Unusable(f"is not JSON: {error}") from error
    if type(document) is not dict:
        raise Unusable("does not hold a JSON object")
    return root


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _value(text: str, at: int) -> _Node:
    at = _skip(text, at)
    node = _Node(at, text[at])
    if text[at] == '"':
        node.end = scanstring(text, at + 1)[1]
    elif text[at] in "{[":
        at = _skip(text, at + 1)
        while text[at] not in "}]":
            start, key = at, ""
            if node.opens == "{":
                key, at = scanstring(text, at + 1)
                at = _skip(text, at) + 1
            child = _Child(key, start, _value(text, at))
            node.children.append(child)
            at = _skip(text, child.node.end)
            if text[at] == ",":
                at = _skip(text, at + 1)
        node.end = at + 1
    else:
        scalar = _SCALAR.match(text, at)
        node.end = at if scalar is None else scalar.end()
    return node


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()


def _ours(text: str, root: _Node, command: str) -> Iterator[tuple[str, list[tuple[_Node, int]]]]:
    """Yield each handler of ours: its event, and the containers from the root down with an index in each.

    Raises Unusable where hooks are not of the form that the agents document.
    """
    hooks = root.get(HOOKS)
    if hooks is None:
        return
    _must(hooks, "{", f'the value of "{HOOKS}"', "an object")
    at_hooks = [child.key for child in root.children].index(HOOKS)
    for at_event, event in enumerate(hooks.children):
        _must(event.node, "[", f'"{HOOKS}" of {json.dumps(event.key)}', "a list")
        hooks.get(event.key)  # raises if the event is there twice
        for at_group, group in enumerate(event.node.children):
            handlers = group.node.get(HOOKS)
            if handlers is None or handlers.opens != "[":
                continue
            at_handlers = [child.key for child in group.node.children].index(HOOKS)
            for at_handler, handler in enumerate(handlers.children):
                if _says(text, handler.node, command):
                    path = [
                        (root, at_hooks),
                        (hooks, at_event),
                        (event.node, at_group),
                        (group.node, at_handlers),
                        (handlers, at_handler),
                    ]
                    yield event.key, path


def _must(node: _Node, opens: str, what: str, kind: str) -> None:
    if node.opens != opens:
        raise Unusable(f"is not of the form the agent documents: {what} is not {kind}")


def _says(text: str, handler: _Node, command: str) -> bool:
    said = handler.get(COMMAND) if handler.opens == "{" else None
    return said is not None and json.loads(text[said.start : said.end]) == command


# Changing the text.


def _with(text: str, root: _Node, event: str, group: dict[str, Any]) -> str:
    """Return the text with one more group of handlers at an event."""
    hooks = root.get(HOOKS)
    if hooks is None:
        return _insert(text, root, HOOKS, {event: [group]})
    groups = hooks.get(event)
    if groups is None:
        return _insert(text, hooks, event, [group])
    return _insert(text, groups, "", group)


def _insert(text: str, node: _Node, key: str, value: Any) -> str:
    """Return the text with a value at the end of a container, in the style of its surroundings."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if node.children:
        last = node.children[-1]
        before = text[: last.start]
        gap = before[len(before.rstrip(" \t\r\n")) :]
        lead = newline + gap.rpartition("\n")[2] if "\n" in gap else ""
        return (
            text[: last.node.end]
            + ("," + lead if lead else ", ")
            + _rendered(text, key, value, lead)
            + text[last.node.end :]
        )
    if node.start > 0 and "\n" not in text.strip():
        inner = _rendered(text, key, value, "")
        return text[: node.start + 1] + inner + text[node.end - 1 :]
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    outer = newline + line[: len(line) - len(line.lstrip(" \t"))]
    lead = outer + _indent(text)
    inner = lead + _rendered(text, key, value, lead) + outer
    return text[: node.start + 1] + inner + text[node.end - 1 :]


def _rendered(text: str, key: str, value: Any, lead: str) -> str:
    """Return a member or an item as JSON; `lead` is what its lines begin with, "" for one line."""
    name = "" if key == "" else f"{json.dumps(key)}: "
    if lead == "":
        return name + json.dumps(value)
    return name + json.dumps(value, indent=_indent(text)).replace("\n", lead)


def _indent(text: str) -> str:
    """Return what one level is indented by: what the first member of the file is."""
    first = re.match(r"\s*\{[ \t\r]*\n([ \t]+)", text)
    return _USUAL_INDENT if first is None else first[1]


def _without(text: str, path: list[tuple[_Node, int]]) -> str:
    """Return the text without the innermost child of a path, and without each container left empty by it."""
    depth = len(path) - 1
    # A group of handlers is ours if its only handler is, whatever else it says.
    while depth > 0 and (len(path[depth][0].children) == 1 or depth == 3):
        depth -= 1
    node, at = path[depth]
    children = node.children
    if at > 0:
        return text[: children[at - 1].node.end] + text[children[at].node.end :]
    if len(children) > 1:
        return text[: children[0].start] + text[children[1].start :]
    return text[: node.start + 1] + text[node.end - 1 :]


class HookFile:
    """A settings file that holds an agent's hooks: where it is, our command, and the events it is put at.

    `events` and `prompt_event` are pairs of an event's name and the seconds the agent gives it.
    """

    __slots__ = ("_command", "_events", "_prompt_event", "path")

    def __init__(
        self, path: str, command: str, events: tuple[tuple[str, int], ...], prompt_event: tuple[str, int]
    ) -> None:
        self.path = path
        self._command = command
        self._events = events
        self._prompt_event = prompt_event

    def installed(self, text: str | None, prompt: bool) -> str:
        """Return the text with our hooks, the one at each prompt only if asked for; raises Unusable."""
        return added(text, self._command, self._planned(prompt))

    def uninstalled(self, text: str, backup: str | None) -> str | None:
        """Return the text without our hooks, None where the file was made for them; raises Unusable.

        Where nothing else changed since the backup, that is the backup to the byte.
        """
        for old in (backup, None):
            if self.made_from(old, text):
                return old
        return removed(text, self._command)

    def made_from(self, old: str | None, text: str) -> bool:
        """Return whether a text is `old`, which had none of our hooks, with them and nothing else changed."""
        try:
            return not self.calls_us(old) and text in (self.installed(old, False), self.installed(old, True))
        except Unusable:
            return False

    def calls_us(self, text: str | None) -> bool:
        """Return whether a text can be read and holds a hook of ours."""
        try:
            return text is not None and holds(text, self._command)
        except Unusable:
            return False

    def _planned(self, prompt: bool) -> tuple[tuple[str, int], ...]:
        # The prompt's comes last, so that asking for it later leads to the same text.
        return (*self._events, self._prompt_event) if prompt else self._events
