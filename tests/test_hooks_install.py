"""`hook install`: an agent's settings changed in place, byte for byte, and given back."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from milkmem.hooks import claude_code, codex, settings
from program import BAD_CONFIG, BAD_DATA, BUSY, CANNOT_WRITE, USAGE, Program, one_line_error, tree

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = "milkmem hook run claude-code"
EVENTS = claude_code.EVENTS
NAMES = [name for name, _ in EVENTS]
NOTIFY = 'notify = ["milkmem", "hook", "run", "codex"]\n'

OTHERS = """\
{
    "model": "opus",
    "permissions": {"allow": ["Bash(npm run test:*)", "Read(~/x)"], "deny": []},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}
        ],
        "Stop": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "notify-send done",
                        "timeout": 3
                    }
                ]
            }
        ]
    },
    "env": { "A" : "1.0e5" ,"B":"\\u00e9/é" }
}
"""
TEXTS = [
    OTHERS,
    OTHERS.replace("    ", "\t"),
    OTHERS.replace("\n", "\r\n"),
    OTHERS.rstrip("\n"),
    "\ufeff" + OTHERS,
    "\n\n" + OTHERS + "\n\n",
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "  {\n\n}",
    '{"a":1}',
    '{"a":1,"hooks":{}}',
    '{"a": 1, "hooks": {"Stop": []}}\n',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"b":[1,2 , 3]}',
    '{\n  "hooks": {}\n}',
    '{\n  "hooks": {\n  }\n}',
    '{\n  "hooks": {\n    "Stop": [\n    ]\n  },\n  "z": 1e400\n}',
    '{\n  "hooks": { "SessionStart": [ {"matcher": "startup", "hooks": []} ] }\n}',
    '{\n "a": "}{][,:\\"\\\\", "b": [[], {}, [{}]],\n "c": -0.0\n}',
    '{\n  "hooks": {\n    "Stop": [{"hooks": "odd"}, 5, null, {"matcher": ""}]\n  }\n}',
    json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": COMMAND + " --strict"}]}]}}),
]


def handlers(document: Any, command: str = COMMAND) -> dict[str, int]:
    """Return how often a command stands at each event."""
    counts: dict[str, int] = {}
    for event, groups in document.get("hooks", {}).items():
        for group in groups:
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                found = [
                    each
                    for each in group["hooks"]
                    if isinstance(each, dict) and each.get("command") == command
                ]
                counts[event] = counts.get(event, 0) + len(found)
    return {event: count for event, count in counts.items() if count}


def parsed(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def foreign(document: Any) -> Any:
    """Return what is not ours in settings, without what then holds nothing."""
    document = json.loads(json.dumps(document))
    hooks = document.get("hooks", {})
    for event in list(hooks):
        hooks[event] = [
            group for group in hooks[event] if COMMAND not in json.dumps(group) or "--strict" in str(group)
        ]
        if not hooks[event]:
            del hooks[event]
    if not hooks:
        document.pop("hooks", None)
    return document


# The text


@pytest.mark.parametrize("text", TEXTS)
def test_adding_puts_our_hooks_in_and_leaves_all_else(text: str) -> None:
    """Each event gets our command once, at the end; every other byte stays, in its order."""
    with_ours = settings.added(text, COMMAND, EVENTS)
    assert handlers(parsed(with_ours)) == dict.fromkeys(NAMES, 1)
    assert foreign(parsed(with_ours)) == foreign(parsed(text))
    assert list(parsed(with_ours)) == list(parsed(text) | {"hooks": 0})
    rest = iter(with_ours)
    assert all(character in rest for character in "".join(text.split())), "a byte of the old text is gone"
    for name, seconds in EVENTS:
        assert parsed(with_ours)["hooks"][name][-1] == {
            "hooks": [{"type": "command", "command": COMMAND, "timeout": seconds}]
        }


@pytest.mark.parametrize("text", TEXTS)
def test_adding_twice_is_adding_once(text: str) -> None:
    """However often it is run, each entry is there once."""
    once = settings.added(text, COMMAND, EVENTS)
    assert settings.added(once, COMMAND, EVENTS) == once
    more = (*EVENTS, claude_code.PROMPT_EVENT)
    assert settings.added(once, COMMAND, more) == settings.added(text, COMMAND, more)


@pytest.mark.parametrize("text", TEXTS)
def test_removing_takes_our_hooks_out(text: str) -> None:
    """Without knowing the text before, nothing of ours is left and nothing of others' is gone."""
    without = settings.removed(settings.added(text, COMMAND, EVENTS), COMMAND)
    assert handlers(parsed(without)) == {}
    assert foreign(parsed(without)) == foreign(parsed(text))
    assert settings.removed(text, COMMAND) == text
    if "[]" not in text and "{}" not in text and re.search(r"[\[{]\s+[\]}]", text) is None:
        assert without == text


def test_new_entries_look_like_their_surroundings() -> None:
    """Indentation, line ends and one-line style are those of the file."""
    tabs = settings.added('{\n\t"a": 1,\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}', COMMAND, EVENTS[1:2])
    assert tabs.startswith('{\n\t"a": 1,\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n')
    assert tabs.endswith("\n\t\t\t}\n\t\t]\n\t}\n}")
    windows = settings.added('{\r\n  "a": 1\r\n}\r\n', COMMAND, EVENTS)
    assert windows.count("\n") == windows.count("\r\n") > 10
    short = settings.added('{"a":1}', COMMAND, EVENTS)
    assert "\n" not in short
    assert settings.added(None, COMMAND, EVENTS[:1]) == (
        "{\n"
        '  "hooks": {\n'
        '    "SessionStart": [\n'
        "      {\n"
        '        "hooks": [\n'
        "          {\n"
        '            "type": "command",\n'
        f'            "command": "{COMMAND}",\n'
        '            "timeout": 5\n'
        "          }\n"
        "        ]\n"
        "      }\n"
        "    ]\n"
        "  }\n"
        "}\n"
    )


def test_our_handler_in_a_group_of_others_goes_alone() -> None:
    """A person may have moved our handler; what stands beside it stays."""
    ours = json.dumps({"command": COMMAND})
    text = (
        '{"hooks": {"Stop": [{"matcher": "", "hooks": [{"command": "a"}, OURS, {"command": "b"}]},'
        ' {"matcher": "x", "hooks": [OURS]}, {"hooks": []}]}}'
    ).replace("OURS", ours)
    assert settings.removed(text, COMMAND) == (
        '{"hooks": {"Stop": [{"matcher": "", "hooks": [{"command": "a"}, {"command": "b"}]}, {"hooks": []}]}}'
    )


UNUSABLE = [
    "",
    " ",
    "nonsense",
    "{",
    '{"a": 1,}',
    '{"a": 1} x',
    '// comment\n{"a": 1}',
    '{"a": NaN}',
    "[]",
    "null",
    '"hooks"',
    '{"hooks": []}',
    '{"hooks": null}',
    '{"hooks": {"Stop": {}}}',
    '{"hooks": {"Stop": null}}',
    '{"hooks": {"PreToolUse": "x"}}',
    '{"hooks": {}, "hooks": {}}',
    '{"hooks": {"Stop": [], "Stop": []}}',
    '{"hooks": {"Stop": [{"hooks": [], "hooks": []}]}}',
    '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    '{"a": "\t"}',
]


@pytest.mark.parametrize("text", UNUSABLE)
def test_settings_that_cannot_be_read_are_refused(text: str) -> None:
    """A file that is not JSON, or not of the documented form, is refused."""
    with pytest.raises(settings.Unusable):
        settings.added(text, COMMAND, EVENTS)


BLANKS = st.text(" \t\n\r", max_size=3)
SCALARS = st.sampled_from(["1", "-1.5e-7", "true", "null", '""', '"a\\"}]"', '"é\\u00e9"', f'"{COMMAND}"'])


def spaced(parts: list[str], opens: str, closes: str, blanks: list[str]) -> str:
    text = opens + blanks[0]
    for at, part in enumerate(parts):
        text += ("," if at else "") + blanks[1] + part + blanks[2]
    return text + closes


def containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    gaps = st.lists(BLANKS, min_size=3, max_size=3)
    keys = st.sampled_from(['"a"', '"b"', '"command"', '"matcher"', '""'])
    members = st.lists(st.tuples(keys, inner), max_size=3, unique_by=lambda pair: pair[0])
    return st.one_of(
        st.builds(lambda items, gap: spaced(items, "[", "]", gap), st.lists(inner, max_size=3), gaps),
        st.builds(lambda pairs, gap: spaced([f"{k}:{v}" for k, v in pairs], "{", "}", gap), members, gaps),
    )


VALUES = st.recursive(SCALARS, containers, max_leaves=8)
GAPS = st.lists(BLANKS, min_size=3, max_size=3)


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    """Return settings of any content and any white space."""
    events = draw(st.lists(st.sampled_from([*NAMES, "PreToolUse"]), unique=True, max_size=3))
    lists = [
        f"{json.dumps(name)} :{spaced(draw(st.lists(VALUES, max_size=2)), '[', ']', draw(GAPS))}"
        for name in events
    ]
    members = [f'"k{at}": {value}' for at, value in enumerate(draw(st.lists(VALUES, max_size=3)))]
    if draw(st.booleans()):
        members.insert(draw(st.integers(0, len(members))), '"hooks":' + spaced(lists, "{", "}", draw(GAPS)))
    return draw(BLANKS) + spaced(members, "{", "}", draw(GAPS)) + draw(BLANKS)


@hypothesis_settings(deadline=None)
@given(settings_texts(), st.booleans())
def test_any_settings_are_given_back(text: str, prompt: bool) -> None:
    """Whatever the settings hold and however they are spaced, uninstalling gives the bytes back."""
    target = settings.HookFile("", COMMAND, EVENTS, claude_code.PROMPT_EVENT)
    with_ours = target.installed(text, prompt)
    assert handlers(json.loads(with_ours)) == dict.fromkeys([*NAMES, *["UserPromptSubmit"] * prompt], 1)
    assert target.uninstalled(with_ours, text) == text
    without = target.uninstalled(with_ours, None)
    assert without is None or foreign(json.loads(without)) == foreign(json.loads(text))


# The files


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program with a home of its own."""
    return Program(tmp_path)


def settings_file(program: Program, text: str | None = None, agent: str = "claude-code") -> Path:
    """Return the path of an agent's settings, written with a text unless that is None."""
    path = program.home / {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}[agent]
    if text is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("text", [None, *TEXTS])
def test_uninstalling_gives_the_bytes_back(program: Program, agent: str, text: str | None) -> None:
    """Case 37: install twice is once, theirs stays untouched, uninstall gives back the original bytes."""
    path = settings_file(program, text, agent)
    program.ok("hook", "install", agent)
    once = path.read_bytes()
    program.ok("hook", "install", agent)
    assert path.read_bytes() == once
    program.ok("hook", "install", agent, "--prompt")
    document = parsed(path.read_text())
    assert set(handlers(document, f"milkmem hook run {agent}")) == {*NAMES, "UserPromptSubmit"}
    program.ok("hook", "install", agent, "--uninstall")
    assert path.exists() == (text is not None)
    if text is not None:
        assert path.read_bytes() == text.encode()
    before = tree(program.home)
    program.ok("hook", "install", agent, "--uninstall")
    assert tree(program.home) == before


def test_uninstalling_spares_what_changed_since(program: Program) -> None:
    """Where other things changed since, our entries go and the change stays."""
    path = settings_file(program, OTHERS)
    program.ok("hook", "install", "claude-code", "--prompt")
    path.write_text(path.read_text().replace('"opus"', '"haiku"'))
    program.ok("hook", "install", "claude-code", "--uninstall")
    assert path.read_text() == OTHERS.replace('"opus"', '"haiku"')


def test_the_backup_is_the_file_before_ours(program: Program) -> None:
    """`.bak` holds what the settings were, and is no more readable than they are."""
    path = settings_file(program, OTHERS)
    path.chmod(0o640)
    backup = path.with_name("settings.json.bak")
    backup.write_text("older")
    backup.chmod(0o666)
    program.ok("hook", "install", "claude-code")
    assert backup.read_text() == OTHERS
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    program.ok("hook", "install", "claude-code", "--prompt")
    assert backup.read_text() == OTHERS
    changed = path.read_text().replace('"opus"', '"haiku"')
    path.write_text(changed)
    program.ok("hook", "install", "claude-code", "--uninstall")
    assert backup.read_text() == changed


@pytest.mark.parametrize("backup", [b"nonsense", b"\xff", b'{"hooks": []}', None])
def test_a_backup_of_another_kind_is_no_trouble(program: Program, backup: bytes | None) -> None:
    """Where the backup is not what was before ours, our entries are taken out of the file itself."""
    path = settings_file(program, OTHERS)
    program.ok("hook", "install", "claude-code")
    place = path.with_name("settings.json.bak")
    place.unlink()
    if backup is not None:
        place.write_bytes(backup)
    program.ok("hook", "install", "claude-code", "--prompt")
    program.ok("hook", "install", "claude-code", "--uninstall")
    assert path.read_text() == OTHERS


def test_a_file_that_cannot_be_removed(program: Program) -> None:
    """Z5: where the file that was made for us cannot go, one line says so and it is as it was."""
    path = settings_file(program)
    program.ok("hook", "install", "claude-code")
    before = path.read_text()
    with mock.patch.object(os, "unlink", side_effect=PermissionError(13, "Permission denied")):
        one_line_error(program.run("hook", "install", "claude-code", "--uninstall"), CANNOT_WRITE, str(path))
    assert path.read_text() == before


def test_two_at_once(program: Program) -> None:
    """Z4: what another call of ours did while we waited is seen, and done once."""
    path = settings_file(program, OTHERS)
    from milkmem import files

    lock = files.lock_directory_of

    def late(place: str) -> int:
        with mock.patch.object(files, "lock_directory_of", lock):
            program.ok("hook", "install", "claude-code")
        return lock(place)

    with mock.patch.object(files, "lock_directory_of", late):
        program.ok("hook", "install", "claude-code")
    assert handlers(json.loads(path.read_text())) == dict.fromkeys(NAMES, 1)
    assert path.with_name("settings.json.bak").read_text() == OTHERS


def test_new_files_are_private(program: Program) -> None:
    """Z2: a settings file that we create is private, whatever the umask."""
    old = os.umask(0)
    try:
        program.ok("hook", "install", "claude-code")
    finally:
        os.umask(old)
    path = settings_file(program)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["settings.json"]


@pytest.mark.parametrize("there", [True, False])
def test_symbolic_links_are_written_through(program: Program, there: bool) -> None:
    """Case 38: settings that are a link into dotfiles stay one."""
    dotfiles = program.root / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "claude.json"
    if there:
        real.write_text(OTHERS)
    path = settings_file(program)
    path.parent.mkdir()
    path.symlink_to("../../dotfiles/claude.json")
    program.ok("hook", "install", "claude-code")
    assert os.readlink(path) == "../../dotfiles/claude.json"
    assert handlers(json.loads(real.read_text())) == dict.fromkeys(NAMES, 1)
    program.ok("hook", "install", "claude-code", "--uninstall")
    assert os.readlink(path) == "../../dotfiles/claude.json"
    assert real.exists() == there
    assert not there or real.read_text() == OTHERS


@pytest.mark.parametrize("text", [*UNUSABLE, OTHERS.encode("utf-16").decode("latin-1")])
@pytest.mark.parametrize("options", [(), ("--uninstall",), ("--dry-run",), ("--per-project",)])
def test_settings_that_cannot_be_parsed_are_left_alone(
    program: Program, text: str, options: tuple[str, ...]
) -> None:
    """A settings file that cannot be parsed is refused, and nothing at all is written."""
    path = settings_file(program, "")
    path.write_bytes(text.encode("latin-1") if "\x00" in text else text.encode())
    before = tree(program.root)
    one_line_error(program.run("hook", "install", "claude-code", *options), BAD_CONFIG, str(path))
    assert tree(program.root) == before


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_something_else_in_the_place_of_settings(program: Program, make: Callable[[Path], None]) -> None:
    """Case 25: a directory or FIFO in place of the file is refused at once."""
    path = settings_file(program)
    path.parent.mkdir()
    make(path)
    one_line_error(program.run("hook", "install", "claude-code"), BAD_DATA, str(path))


def test_a_dry_run_shows_and_writes_nothing(program: Program) -> None:
    """`--dry-run` prints the diff and creates nothing, not even a folder."""
    before = tree(program.root)
    result = program.ok("hook", "install", "claude-code", "--dry-run", "--per-project", "--prompt")
    assert tree(program.root) == before
    assert result.out.startswith(f"--- /dev/null\n+++ {settings_file(program)}\n")
    assert result.out.count(f'"command": "{COMMAND}"') == 4
    assert "would be set" in result.err
    path = settings_file(program, OTHERS)
    result = program.ok("hook", "install", "claude-code", "--dry-run")
    assert path.read_text() == OTHERS
    assert all(line[:1] in " +-@" for line in result.out.splitlines())


def test_the_diff_is_shown_and_escaped(program: Program) -> None:
    """X5: what is shown of the settings cannot steer a terminal."""
    settings_file(program, '{\n  "a": "\u202e\x7f\u2028"\n}')
    result = program.ok("hook", "install", "claude-code")
    assert '"a": "\\u202e\\x7f\\u2028"' in result.out
    assert f'+            "command": "{COMMAND}",' in result.out


def test_the_result_as_json(program: Program) -> None:
    """Section 16: with `--json` one document says which files changed."""
    path = settings_file(program, OTHERS)
    document = program.json("hook", "install", "claude-code")
    (file,) = document["files"]
    assert (document["schema_version"], document["dry_run"], document["agent"]) == (1, False, "claude-code")
    assert (file["path"], file["changed"], file["backup"]) == (str(path), True, f"{path}.bak")
    assert any(COMMAND in line for line in file["diff"])
    assert program.json("hook", "install", "claude-code")["files"][0]["changed"] is False


def test_the_projects_settings(program: Program) -> None:
    """`--project` is the settings of the project around the working directory."""
    project = program.root / "shop"
    (project / "src").mkdir(parents=True)
    (project / ".git").mkdir()
    for agent, name in (("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")):
        program.ok("hook", "install", agent, "--project", cwd=project / "src")
        assert set(handlers(json.loads((project / name).read_text()), f"milkmem hook run {agent}")) == set(
            NAMES
        )
        program.ok("hook", "install", agent, "--project", "--uninstall", cwd=project / "src")
        assert not (project / name).exists()
    assert not list(program.home.iterdir())


def test_the_agents_own_variables_name_the_place(program: Program, tmp_path: Path) -> None:
    """The agents' folders may be elsewhere; their own variables say where."""
    program.env |= {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    program.ok("hook", "install", "claude-code")
    program.ok("hook", "install", "codex")
    assert (tmp_path / "c" / "settings.json").exists()
    assert (tmp_path / "x" / "hooks.json").exists()


def test_codex_gives_the_end_of_a_session_little_time(program: Program) -> None:
    """Codex warns at every start of a hook that asks for more than it gives a session's end."""
    program.ok("hook", "install", "codex")
    document = json.loads(settings_file(program, agent="codex").read_text())
    assert document["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] == 1
    assert len({json.dumps(handler["hooks"][0]["command"]) for (handler,) in document["hooks"].values()}) == 1


CODEX_TOMLS = [
    "",
    'model = "gpt"\n\n[features]\nhooks = true\n',
    '# mine\r\nmodel = "gpt"\r\n',
    "[a]\nnotify = 1",
    'x = """\nnotify = ["milkmem", "hook", "run", "codex"]\n"""\n',
]


@pytest.mark.parametrize("text", [None, *CODEX_TOMLS])
def test_codex_notify_is_one_line(program: Program, text: str | None) -> None:
    """`--notify` puts one line first into config.toml, once, and uninstalling takes it out to the byte."""
    path = program.home / ".codex" / "config.toml"
    if text is not None:
        path.parent.mkdir()
        path.write_bytes(text.encode())
    program.ok("hook", "install", "codex", "--notify")
    program.ok("hook", "install", "codex", "--notify")
    data = path.read_bytes().decode()
    assert data == (NOTIFY.replace("\n", "\r\n") if "\r\n" in (text or "") else NOTIFY) + (text or "")
    assert tomllib.loads(data) == tomllib.loads(text or "") | {"notify": ["milkmem", "hook", "run", "codex"]}
    assert not settings_file(program, agent="codex").exists()
    program.ok("hook", "install", "codex", "--uninstall")
    assert path.exists() == (text is not None)
    assert text is None or path.read_bytes() == text.encode()


def test_codex_notify_of_others_is_left_alone(program: Program) -> None:
    """Codex has room for one notify program: another's is refused, and not uninstalled."""
    path = program.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('notify = ["bell"] # milkmem\n')
    one_line_error(program.run("hook", "install", "codex", "--notify"), BAD_CONFIG, str(path), "already")
    program.ok("hook", "install", "codex")
    program.ok("hook", "install", "codex", "--uninstall")
    program.ok("hook", "install", "codex", "--notify", "--uninstall")
    assert path.read_text() == 'notify = ["bell"] # milkmem\n'
    path.write_text("broken milkmem")
    one_line_error(program.run("hook", "install", "codex", "--notify"), BAD_CONFIG, str(path), "TOML")
    program.ok("hook", "install", "codex")
    program.ok("hook", "install", "codex", "--uninstall")
    assert path.read_text() == "broken milkmem"


def test_codex_notify_in_another_form_is_left_to_a_person(program: Program) -> None:
    """A line that was written differently is not guessed at."""
    path = program.home / ".codex" / "config.toml"
    path.parent.mkdir()
    text = "notify=['milkmem', 'hook', 'run', 'codex']\n"
    path.write_text(text)
    program.ok("hook", "install", "codex", "--notify")
    one_line_error(program.run("hook", "install", "codex", "--uninstall"), BAD_CONFIG, "by hand")
    assert path.read_text() == text


def test_codex_is_told_once(program: Program) -> None:
    """A turn told twice would corroborate itself: hooks and notify, user and project exclude each other."""
    for first, second in (
        ((), ("--notify",)),
        (("--notify",), ()),
        (("--notify",), ("--project",)),
        ((), ("--project",)),
    ):
        project = program.root / "shop"
        project.mkdir(exist_ok=True)
        program.ok("hook", "install", "codex", *first)
        before = tree(program.root)
        one_line_error(program.run("hook", "install", "codex", *second, cwd=project), 1, "twice")
        assert tree(program.root) == before
        program.ok("hook", "install", "codex", "--uninstall")
    one_line_error(program.run("hook", "install", "codex", "--notify", "--project"), USAGE, "--notify")


def test_per_project_sets_the_session(program: Program) -> None:
    """`--per-project` sets `session = "@cwd"` in milkmem's own configuration; without it a line says how."""
    plain = program.ok("hook", "install", "claude-code")
    assert "hint: milkmem hook install claude-code --per-project" in plain.err
    config = program.config("# mine\n[memory]\nrun_gap_minutes = 60\n")
    program.ok("hook", "install", "claude-code", "--per-project")
    assert tomllib.loads(config.read_text()) == {"session": "@cwd", "memory": {"run_gap_minutes": 60}}
    again = program.ok("hook", "install", "claude-code", "--per-project")
    assert "hint:" not in again.err
    assert "hint:" not in program.ok("hook", "install", "claude-code").err


def test_a_broken_configuration_of_ours_comes_first(program: Program) -> None:
    """K1: hooks that could not work are not installed."""
    program.config("nonsense = 1\n")
    before = tree(program.root)
    one_line_error(program.run("hook", "install", "claude-code", "--per-project"), BAD_CONFIG, "nonsense")
    assert tree(program.root) == before


def test_the_agent_must_find_the_program(program: Program) -> None:
    """A person is told where `milkmem` is not on the PATH, since the agent will look there."""
    assert (
        "no milkmem on the PATH" in program.ok("hook", "install", "codex", env={"PATH": "/nonexistent"}).err
    )


def test_no_home_is_a_configuration_error(program: Program) -> None:
    """Without a home directory there are no settings to change."""
    unset: dict[str, str | None] = {"HOME": None, "MILKMEM_CONFIG": str(program.root / "none.toml")}
    with mock.patch("pwd.getpwuid", side_effect=KeyError):
        one_line_error(program.run("hook", "install", "codex", env=unset), BAD_CONFIG, "home directory")


def test_a_write_that_fails_leaves_the_settings(program: Program) -> None:
    """Z5: where the file cannot be replaced, it is as it was, and no temporary file stays."""
    path = settings_file(program, OTHERS)
    with mock.patch.object(os, "rename", side_effect=OSError(28, "No space left on device")):
        one_line_error(program.run("hook", "install", "claude-code"), CANNOT_WRITE)
    assert path.read_text() == OTHERS
    assert not [each for each in path.parent.iterdir() if each.name.endswith(".tmp")]


def test_settings_that_change_meanwhile_are_read_again(program: Program) -> None:
    """Z4: what the agent writes between our reading and our writing is not lost."""
    path = settings_file(program, OTHERS)
    from milkmem import files

    keep = files.back_up
    times = [3]

    def back_up(*args: Any) -> str:
        if times[0]:
            times[0] -= 1
            path.write_text(
                path.read_text().replace('"opus"', '"opus", "n": 1')
                if times[0] == 2
                else path.read_text() + " "
            )
        return keep(*args)

    with mock.patch.object(files, "back_up", back_up):
        program.ok("hook", "install", "claude-code")
    assert json.loads(path.read_text())["n"] == 1
    assert handlers(json.loads(path.read_text())) == dict.fromkeys(NAMES, 1)
    path.write_text(OTHERS)
    times[0] = 99
    with mock.patch.object(files, "back_up", back_up):
        one_line_error(program.run("hook", "install", "claude-code"), BUSY)


def test_command_strings_are_constant() -> None:
    """Codex trusts hooks by their exact command string."""
    from milkmem.hooks import AGENTS, command

    assert [command(agent) for agent in AGENTS] == ["milkmem hook run claude-code", "milkmem hook run codex"]
    assert codex.PROMPT_EVENT[0] not in [name for name, _ in codex.EVENTS]
