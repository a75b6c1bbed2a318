"""The command line, declared once: commands, options, arguments, environment variables (X1, X8).

`app` builds the Typer commands from these declarations and `short` reads well-formed lines with them,
so the two cannot disagree. A new command is one `Command` here and one module that holds its target.
"""

from __future__ import annotations

from milkmem.hooks import AGENTS, SHELLS
from milkmem.knobs import COUNT_OR_NO_LIMIT, Bound
from milkmem.percept import ARCHIVE, AUDIENCES, GLOBAL, PRIMARY, PRODUCERS, RELATIONS, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PROGRAM = "milkmem"

FLAG = "flag"
TEXT = "text"
WHOLE = "whole"
NUMBER = "number"
CHOICE = "choice"

MEMORY = "Memory"
RECORDING = "Recording"
SETUP = "Setup"

OWN_OPTIONS = "Options"
RUN_OPTIONS = "Options of the run"
SHARED_OPTIONS = "Options shared by all commands"


class Parameter:
    """What an option and an argument have in common: a name, a meaning, and which values it takes.

    `kind` is one of FLAG, TEXT, WHOLE, NUMBER, CHOICE. Where `multiple` holds, the value is a tuple.
    """

    __slots__ = ("bound", "choices", "default", "help", "kind", "metavar", "multiple", "name")

    def __init__(
        self,
        name: str,
        help: str,
        kind: str,
        metavar: str,
        default: object,
        multiple: bool,
        choices: tuple[str, ...],
        bound: Bound | None,
    ) -> None:
        self.name = name
        self.help = help
        self.kind = kind
        self.metavar = metavar
        self.default = () if multiple else default
        self.multiple = multiple
        self.choices = choices
        self.bound = bound

    def read(self, text: str) -> str | int | float:
        """Return the value that `text` stands for.

        Raises ValueError, with words that complete "must be …", where it stands for none.
        """
        if self.kind == CHOICE and text not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        if self.bound is None:
            return text
        try:
            value = int(text) if self.kind == WHOLE else float(text)
        except ValueError:
            raise ValueError(self.bound.words) from None
        if not self.bound.allows(value):
            raise ValueError(self.bound.words)
        return value


class Option(Parameter):
    """An option: its flags, and the flag that says no where there is one; its name is its last flag's."""

    __slots__ = ("flags", "hidden", "negative", "panel")

    def __init__(
        self,
        *flags: str,
        help: str,
        kind: str = FLAG,
        name: str = "",
        metavar: str = "",
        default: object = None,
        multiple: bool = False,
        choices: tuple[str, ...] = (),
        bound: Bound | None = None,
        negative: str = "",
        hidden: bool = False,
        panel: str = OWN_OPTIONS,
    ) -> None:
        super().__init__(
            name or flags[-1].lstrip("-").replace("-", "_"),
            help,
            kind,
            metavar or "|".join(choices),
            False if kind == FLAG and default is None else default,
            multiple,
            choices,
            bound,
        )
        self.flags = flags
        self.negative = negative
        self.hidden = hidden
        self.panel = panel


class Argument(Parameter):
    """An argument: whether it must be given, and whether it takes all that is left (`multiple`)."""

    __slots__ = ("required",)

    def __init__(
        self,
        name: str,
        metavar: str,
        help: str,
        required: bool = True,
        multiple: bool = False,
        choices: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            name,
            help,
            CHOICE if choices else TEXT,
            f"{metavar}..." if multiple else metavar,
            None,
            multiple,
            choices,
            None,
        )
        self.required = required


class Call:
    """One command line as read: the command, and a value for each of its parameters by name.

    The methods raise KeyError for a name that the command does not declare.
    """

    __slots__ = ("command", "values")

    def __init__(self, command: Command, values: dict[str, object]) -> None:
        self.command = command
        self.values = values

    def flag(self, name: str) -> bool:
        """Return whether a flag is on."""
        value: Any = self.values[name]
        return bool(value)

    def text(self, name: str) -> str | None:
        """Return a text or a choice, or None where it was not given and has no default."""
        value: Any = self.values[name]
        return None if value is None else str(value)

    def given(self, name: str) -> str:
        """Return a text that the declaration makes sure of: a required argument, or one with a default."""
        value: Any = self.values[name]
        return str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a parameter that may be repeated, in the order of the line."""
        value: Any = self.values[name]
        return tuple(value)

    def number(self, name: str) -> float | None:
        """Return a number, or None where it was not given and has no default."""
        value: Any = self.values[name]
        return None if value is None else float(value)

    def whole(self, name: str) -> int | None:
        """Return a whole number, or None where it was not given and has no default."""
        value: Any = self.values[name]
        return None if value is None else int(value)


class Command:
    """One command: how it is called, what its help says, its parameters, and where its function is.

    `name` has a blank in a sub-command (`config init`). `examples` are pairs of a command line and what
    it does (X8). `target` is `module:function`; the function takes a `Call` and returns an exit code.
    """

    __slots__ = ("details", "examples", "name", "panel", "params", "summary", "target")

    def __init__(
        self,
        name: str,
        panel: str,
        summary: str,
        details: str,
        examples: tuple[tuple[str, str], ...],
        params: tuple[Parameter, ...],
        target: str,
    ) -> None:
        self.name = name
        self.panel = panel
        self.summary = summary
        self.details = details
        self.examples = examples
        self.params = params
        self.target = target

    def load(self) -> Callable[[Call], int]:
        """Import the target's module and return its function."""
        module, _, name = self.target.partition(":")
        function: Callable[[Call], int] = getattr(__import__(module, fromlist=[name]), name)
        return function


class Group:
    """A command that only holds sub-commands: its name, its place in the help, and what they do."""

    __slots__ = ("name", "panel", "summary")

    def __init__(self, name: str, panel: str, summary: str) -> None:
        self.name = name
        self.panel = panel
        self.summary = summary


_SHARE = Bound("a number from 0 to 1", lambda value: 0 <= value <= 1)
_COUNT = Bound("a whole number above 0", lambda value: value > 0)
_EVERY = Bound("a whole number, 0 for never", lambda value: value >= 0)
_DAYS = Bound("a number of days above 0", lambda value: 0 < value < float("inf"))
_RATE = Bound("a number above 0", lambda value: 0 < value < float("inf"))
_HOURS = Bound("a number from 0.1 to 24", lambda value: 0.1 <= value <= 24)
_TURNS = Bound("a whole number from 1 to 1000", lambda value: 1 <= value <= 1000)

SHARED = (
    Option(
        "--data-dir",
        kind=TEXT,
        metavar="DIR",
        help="Where the memory is, instead of MILKMEM_DATA_DIR.",
        panel=SHARED_OPTIONS,
    ),
    Option(
        "--session",
        kind=TEXT,
        metavar="NAME",
        help="The session, instead of MILKMEM_SESSION; @cwd is the project one is in.",
        panel=SHARED_OPTIONS,
    ),
    Option(
        "--config",
        kind=TEXT,
        metavar="FILE",
        help="The configuration, instead of MILKMEM_CONFIG.",
        panel=SHARED_OPTIONS,
    ),
    Option("--json", help="Print one JSON document.", panel=SHARED_OPTIONS),
    Option(
        "--color",
        kind=CHOICE,
        choices=("auto", "always", "never"),
        default="auto",
        help="When to colour the output.",
        panel=SHARED_OPTIONS,
    ),
)

# Which ids a shell's completion asks for.
LIVE = "live"
ANY = "any"
ID_SCOPES = (LIVE, ARCHIVE, ANY)

AT = Option(
    "--at",
    kind=TEXT,
    metavar="TIME",
    help="The instant to take as now (RFC 3339 or YYYY-MM-DD), for replays and tests.",
    panel=RUN_OPTIONS,
)
RUN = (
    Option("--run", kind=TEXT, metavar="ID", help="The run, instead of MILKMEM_RUN.", panel=RUN_OPTIONS),
    AT,
)

_DRY_RUN = Option("--dry-run", help="Say what would be done and write nothing.")
_ALL_SESSIONS = Option("--sessions", help="Look in every session, not only the current one.")
_FOR = Option(
    "--for", kind=CHOICE, choices=AUDIENCES, name="audience", help="Only what this reader is given."
)
_FROM = Argument("source", "FROM", "The id of the percept that the edge starts at.")
_TO = Argument("target", "TO", "The id of the percept that the edge leads to.")

_PATTERN = (
    Option(
        "--hours-per-run",
        kind=NUMBER,
        metavar="H",
        default=2.0,
        bound=_HOURS,
        help="How long a run lasts.",
    ),
    Option(
        "--turns-per-run",
        kind=WHOLE,
        metavar="N",
        default=10,
        bound=_TURNS,
        help="The turns of a run; each ends in a pass.",
    ),
)

GROUPS = (
    Group("config", MEMORY, "Set up and show the configuration."),
    Group("run", RECORDING, "Start, end and show a run."),
    Group("hook", SETUP, "Have milkmem called by an agent or a shell."),
)

COMMANDS = (
    Command(
        "consolidate",
        MEMORY,
        "Do one pass: decay, edges, pruning, archiving, promotion, size cap.",
        "Silent where standard output is no terminal, unless -v or --json asks for the report.",
        (
            ("milkmem consolidate", "one pass with the running time measured since the last"),
            ("milkmem consolidate --elapsed 2h --dry-run", "what two hours of running would do"),
        ),
        (
            Option(
                "--elapsed",
                kind=TEXT,
                metavar="DURATION",
                help="The running time since the last pass, such as 90s, 15m, 2h or 1.5d.",
            ),
            _DRY_RUN,
            Option("-v", "--verbose", help="Print the report, a terminal or not."),
            *RUN,
            *SHARED,
        ),
        "milkmem.cli.consolidate:run",
    ),
    Command(
        "query",
        MEMORY,
        "Recall percepts by words.",
        "Without words every percept matches. What is printed counts as used.",
        (
            ("milkmem query staging port", "the percepts that hold most of these words"),
            ("milkmem query release --limit 20 --no-touch", "more of them, without counting as use"),
        ),
        (
            Argument("words", "WORDS", "The words to look for.", required=False, multiple=True),
            Option(
                "--min-confidence",
                kind=NUMBER,
                metavar="W",
                default=0.4,
                bound=_SHARE,
                help="The least w that is recalled.",
            ),
            Option(
                "--limit",
                kind=WHOLE,
                metavar="N",
                default=5,
                bound=_COUNT,
                help="The most percepts to print.",
            ),
            _FOR,
            Option(
                "--touch",
                negative="--no-touch",
                default=True,
                help="Whether what is printed counts as used.",
            ),
            *RUN,
            *SHARED,
        ),
        "milkmem.cli.query:run",
    ),
    Command(
        "forget",
        MEMORY,
        "Remove percepts for good, with their edges and every trace.",
        "A target is an id, the beginning of one, or a text. #X is the beginning of an id and nothing else.",
        (
            ("milkmem forget 3f2a9c01", "one percept, after showing it"),
            ("milkmem forget --yes --all old-server", "every percept with this text, unasked"),
        ),
        (
            Argument("targets", "TARGET", "An id, the beginning of one, or a text.", multiple=True),
            Option("--yes", help="Do not ask."),
            Option("--all", help="Take every match of an ambiguous target."),
            _ALL_SESSIONS,
            _DRY_RUN,
            *SHARED,
        ),
        "milkmem.cli.forget:run",
    ),
    Command(
        "inspect",
        MEMORY,
        "List percepts, or show one in full with its standing.",
        "The standing is its rank with every term, whether it may be promoted, and when it fades.",
        (
            ("milkmem inspect --sort w --min-w 0.5", "the strong ones, strongest first"),
            ("milkmem inspect 3f2a9c01", "one percept, and why it stands where it does"),
        ),
        (
            Argument("target", "TARGET", "An id, the beginning of one, or a text.", required=False),
            Option(
                "--scope",
                kind=CHOICE,
                choices=(GLOBAL, SESSION, ARCHIVE),
                help="Only percepts of this store.",
            ),
            Option("--producer", kind=TEXT, metavar="NAME", help="Only percepts of this producer."),
            Option("--min-w", kind=NUMBER, metavar="W", bound=_SHARE, help="Only percepts of at least w."),
            Option(
                "--sort",
                kind=CHOICE,
                choices=("rank", "w", "age", "evidence"),
                default="rank",
                help="What to order by.",
            ),
            Option("--archive", help="The archive too."),
            _ALL_SESSIONS,
            AT,
            *SHARED,
        ),
        "milkmem.cli.inspect:run",
    ),
    Command(
        "config init",
        MEMORY,
        "Write a configuration with every knob and its meaning.",
        "An existing file stays as it is unless --force or --upgrade is given; both keep it as .bak.",
        (
            ("milkmem config init --stdout", "print it and write nothing"),
            ("milkmem config init --from-milk ~/.milk/config.json", "take over what milk was told"),
        ),
        (
            Option("--stdout", help="Print it and write nothing."),
            Option("--force", help="Write a fresh file over an existing one."),
            Option("--upgrade", help="Keep what the file sets, drop retired keys, add what is missing."),
            Option("--from-milk", kind=TEXT, metavar="FILE", help="Take the knobs of milk's configuration."),
            *SHARED,
        ),
        "milkmem.cli.config:init",
    ),
    Command(
        "config show",
        MEMORY,
        "Print each knob, its value, and where that came from.",
        "",
        (
            ("milkmem config show", "every knob in force"),
            ("milkmem config show --config ./milkmem.toml", "what this file would put in force"),
        ),
        SHARED,
        "milkmem.cli.config:show",
    ),
    Command(
        "config path",
        MEMORY,
        "Print which configuration file is read.",
        "",
        (
            ("milkmem config path", "the file, there or not"),
            ("milkmem config path --json", "the same as JSON"),
        ),
        SHARED,
        "milkmem.cli.config:path",
    ),
    Command(
        "record",
        RECORDING,
        "Record a fact, or reinforce the percept that it restates.",
        "With - as the text, each line of standard input is one fact.",
        (
            ('milkmem record "The staging server listens on port 4100"', "one fact"),
            ("milkmem record - --producer escalation < facts.txt", "one fact a line"),
        ),
        (
            Argument("text", "TEXT", "The fact; - reads one a line from standard input."),
            Option(
                "--producer",
                kind=CHOICE,
                choices=PRODUCERS,
                default=PRIMARY,
                metavar="NAME",
                help=f"Who says so: {', '.join(PRODUCERS)}.",
            ),
            Option("--for", kind=CHOICE, choices=AUDIENCES, name="audience", help="Who alone is given it."),
            Option("--theme", kind=TEXT, metavar="TEXT", help="What it is about."),
            *(
                Option(
                    f"--{relation}",
                    kind=TEXT,
                    metavar="ID",
                    multiple=True,
                    help=f"Link it: it {relation} this percept. May be repeated.",
                )
                for relation in RELATIONS
            ),
            *RUN,
            *SHARED,
        ),
        "milkmem.cli.record:run",
    ),
    Command(
        "learn",
        RECORDING,
        "Record a core fact, which never fades.",
        "A core fact is global, of full strength, and exempt from everything automatic.",
        (
            ('milkmem learn "Never push to main"', "a fact to keep for good"),
            ('milkmem learn "We deploy on Tuesdays" --json', "the same, with the percept as JSON"),
        ),
        (Argument("text", "TEXT", "The fact; - reads one a line from standard input."), *RUN, *SHARED),
        "milkmem.cli.record:learn",
    ),
    Command(
        "link",
        RECORDING,
        "Join two percepts by an edge.",
        "A positive edge strengthens its target at each pass; contradicts weakens both ends.",
        (
            ("milkmem link 3f2a9c01 extends 9c01d2e3", "the first adds to the second"),
            ("milkmem link 3f2a9c01 contradicts 9c01d2e3", "both cannot be true"),
        ),
        (
            _FROM,
            Argument("relation", "RELATION", "How the first bears on the second.", choices=RELATIONS),
            _TO,
            *SHARED,
        ),
        "milkmem.cli.link:link",
    ),
    Command(
        "unlink",
        RECORDING,
        "Remove the edge between two percepts.",
        "",
        (
            ("milkmem unlink 3f2a9c01 9c01d2e3", "every edge from the first to the second"),
            ("milkmem unlink 3f2a9c01 9c01d2e3 contradicts", "this one only"),
        ),
        (
            _FROM,
            _TO,
            Argument("relation", "RELATION", "Only this relation.", required=False, choices=RELATIONS),
            *SHARED,
        ),
        "milkmem.cli.link:unlink",
    ),
    Command(
        "inject",
        RECORDING,
        "Print the block of facts to put before a prompt.",
        "With - as the prompt, it is read from standard input. What is printed counts as used.",
        (
            ("milkmem inject --for primary", "what the primary agent should know"),
            ('milkmem inject "Deploy the staging server" --max 5', "what bears on this prompt"),
        ),
        (
            Argument("prompt", "PROMPT", "The prompt; - reads it from standard input.", required=False),
            _FOR,
            Option(
                "--max",
                kind=WHOLE,
                metavar="N",
                bound=COUNT_OR_NO_LIMIT,
                help="The most percepts, instead of percept_inject_max.",
            ),
            Option(
                "--max-bytes",
                kind=WHOLE,
                metavar="N",
                bound=COUNT_OR_NO_LIMIT,
                help="The most bytes of content, instead of percept_inject_max_bytes.",
            ),
            *RUN,
            *SHARED,
        ),
        "milkmem.cli.inject:run",
    ),
    Command(
        "restore",
        RECORDING,
        "Bring percepts back from the archive.",
        "",
        (
            ("milkmem restore 3f2a9c01", "one percept, to the store that it came from"),
            ("milkmem restore 3f2a9c01 9c01d2e3", "two at once"),
        ),
        (Argument("ids", "ID", "An id, or the beginning of one.", multiple=True), *SHARED),
        "milkmem.cli.restore:run",
    ),
    Command(
        "run start",
        RECORDING,
        "Start a run and print its id.",
        "",
        (
            ("export MILKMEM_RUN=$(milkmem run start)", "a run of its own for all that follows"),
            ("milkmem run start --run nightly", "a run under a chosen id"),
        ),
        (*RUN, *SHARED),
        "milkmem.cli.run:start",
    ),
    Command(
        "run end",
        RECORDING,
        "End a run.",
        "",
        (
            ("milkmem run end", "the current run"),
            ("milkmem run end --run nightly", "the run of this id"),
        ),
        (*RUN, *SHARED),
        "milkmem.cli.run:end",
    ),
    Command(
        "run show",
        RECORDING,
        "Print the current run.",
        "",
        (
            ("milkmem run show", "its id, its start and its running time"),
            ("milkmem run show --json", "the same as JSON, with what it awarded"),
        ),
        (*RUN, *SHARED),
        "milkmem.cli.run:show",
    ),
    Command(
        "hook run",
        SETUP,
        "Do what an agent's event asks for; the agent calls this.",
        "The event is JSON on standard input. Whatever fails is logged and no matter of the agent's.",
        (
            ("milkmem hook run claude-code < event.json", "one event of Claude Code"),
            ("milkmem hook run codex --strict < event.json", "the same of Codex, and 1 where it fails"),
        ),
        (
            Argument("agent", "AGENT", "Whose event it is.", choices=AGENTS),
            Argument("event", "JSON", "The event, instead of standard input.", required=False),
            Option("--strict", help="Exit 1 where something fails."),
            *RUN,
            *SHARED,
        ),
        "milkmem.cli.hook:run",
    ),
    Command(
        "hook install",
        SETUP,
        "Put milkmem into an agent's settings, or take it out, and show what changes.",
        "All else in the settings stays as it is. What they were is kept as .bak.",
        (
            ("milkmem hook install claude-code --dry-run", "what would change"),
            ("milkmem hook install codex --project --prompt", "here only, with facts before each prompt"),
        ),
        (
            Argument("agent", "AGENT", "Whose settings to change.", choices=AGENTS),
            Option("--project", help="The settings of the project one is in, not the user's."),
            Option("--prompt", help="Put facts that bear on a prompt before it, too."),
            Option("--per-project", help='Set session = "@cwd", so that projects\' sessions stay apart.'),
            Option("--notify", help="Codex before its hooks: only the notify line of config.toml."),
            Option("--uninstall", help="Take out what this command put in."),
            _DRY_RUN,
            *SHARED,
        ),
        "milkmem.cli.hook:install",
    ),
    Command(
        "hook shell",
        SETUP,
        "Print a shell function, milkmem_turn, that does a pass in the background.",
        "",
        (
            ('eval "$(milkmem hook shell bash)"', "in ~/.bashrc; in ~/.zshrc with zsh"),
            ("milkmem hook shell fish | source", "in ~/.config/fish/config.fish"),
        ),
        (Argument("shell", "SHELL", "The shell.", choices=SHELLS), *SHARED),
        "milkmem.cli.hook:shell",
    ),
    Command(
        "forecast",
        SETUP,
        "Tell what happens next to each percept if nothing is said or used again.",
        "Times are running days from the last pass. With a target, w is drawn as a curve.",
        (
            ("milkmem forecast", "every percept, the nearest event first"),
            ("milkmem forecast 3f2a9c01 --days 14", "one percept, with all that becomes of it"),
        ),
        (
            Argument("target", "TARGET", "An id, the beginning of one, or a text.", required=False),
            Option(
                "--days",
                kind=NUMBER,
                metavar="D",
                default=60.0,
                bound=_DAYS,
                help="How many running days to look ahead.",
            ),
            *_PATTERN,
            *RUN,
            *SHARED,
        ),
        "milkmem.cli.forecast:run",
    ),
    Command(
        "simulate",
        SETUP,
        "Show when facts graduate, fade and are archived under a way of working and other knobs.",
        "The knobs in force come first, then one setting for each --set, side by side. Nothing is written.",
        (
            ("milkmem simulate --hours-per-run 8 --set session_half_life_days=7", "long runs, slower decay"),
            (
                "milkmem simulate --from-here --days 90 --set reconfirm_boost=0.1,edge_cadence=run",
                "what is kept now",
            ),
        ),
        (
            Option(
                "--runs-per-day",
                kind=NUMBER,
                metavar="R",
                default=1.0,
                bound=_RATE,
                help="How many runs a day has.",
            ),
            *_PATTERN,
            Option(
                "--restated",
                kind=WHOLE,
                metavar="N",
                bound=_EVERY,
                help="Each fact is restated in the first run and every N runs; 1, or 0 with --from-here.",
            ),
            Option(
                "--used",
                kind=WHOLE,
                metavar="N",
                default=0,
                bound=_EVERY,
                help="Each fact is used in the first run and every N runs; 0 for never.",
            ),
            Option(
                "--days",
                kind=NUMBER,
                metavar="D",
                default=30.0,
                bound=_DAYS,
                help="How many days to play.",
            ),
            Option(
                "--set",
                kind=TEXT,
                metavar="KNOB=VALUE",
                multiple=True,
                help="A setting to compare; commas join knobs that change together. May be repeated.",
            ),
            Option(
                "--from-here", help="Play on a copy of the memory instead of one new fact of each producer."
            ),
            AT,
            *SHARED,
        ),
        "milkmem.cli.simulate:run",
    ),
    Command(
        "doctor",
        SETUP,
        "Look for what is wrong: places, permissions, files, configuration, runs, hooks.",
        "Each finding comes with the next command to type. Nothing is written.",
        (
            ("milkmem doctor", "where everything is, and what is wrong with it"),
            ("milkmem doctor --json", "the same as JSON; the exit code is 1 where something is wrong"),
        ),
        SHARED,
        "milkmem.cli.doctor:run",
    ),
    Command(
        "completion",
        SETUP,
        "Print a shell's completion of milkmem's command line.",
        "It asks milkmem for ids only; the text of a fact never reaches the shell.",
        (
            ('eval "$(milkmem completion bash)"', "in ~/.bashrc; in ~/.zshrc with zsh, after compinit"),
            ("milkmem completion fish | source", "in ~/.config/fish/config.fish"),
        ),
        (
            Argument("shell", "SHELL", "The shell.", required=False, choices=SHELLS),
            Option("--ids", kind=CHOICE, choices=ID_SCOPES, help="Print these ids.", hidden=True),
            *SHARED,
        ),
        "milkmem.cli.completion:run",
    ),
)

ENVIRONMENT: dict[str, str] = {
    "MILKMEM_DATA_DIR": "where the memory is; an absolute path",
    "MILKMEM_SESSION": "the session",
    "MILKMEM_RUN": "the run, for callers that know better than the clock",
    "MILKMEM_CONFIG": "the configuration file",
    "MILKMEM_LOCK_TIMEOUT": "the seconds to wait for another command to finish",
    "MILKMEM_DEBUG": "1: an error also says where in the program it came up",
    "NO_COLOR": "anything: no colour",
}
