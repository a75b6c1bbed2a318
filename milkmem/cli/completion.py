"""`milkmem completion`: what a shell needs to complete our command line, built from the declarations.

The scripts are static but for ids, which they ask this command for; only ids that no shell could take for
anything else are printed, and no text of a fact ever reaches a shell.
"""

from __future__ import annotations

import re

from milkmem import store
from milkmem.cli.declare import ANY, COMMANDS, FLAG, GROUPS, LIVE, PROGRAM, Argument, Option
from milkmem.cli.setup import Setup
from milkmem.errors import DONE, BadUsage
from milkmem.hooks import BASH, FISH, ZSH
from milkmem.percept import ARCHIVE, RELATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call, Command

_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Which ids are meant where an argument has this metavar.
_ID_SCOPES = {"TARGET": ANY, "TARGET...": ANY, "ID...": ARCHIVE, "FROM": LIVE, "TO": LIVE}
_PATHS = ("DIR", "FILE")
_HELP = ("--help",)
_TOP_FLAGS = ("--help", "--version")


def run(call: Call) -> int:
    """Print the script of a shell, or the ids that it asks for; return the exit code."""
    shell, scope = call.text("shell"), call.text("ids")
    if scope is not None:
        for percept_id in _ids(Setup(call), scope):
            print(percept_id)
    elif shell is None:
        raise BadUsage("missing argument 'SHELL'", f"{PROGRAM} completion --help")
    else:
        print(script(shell), end="")
    return DONE


def _ids(setup: Setup, scope: str) -> list[str]:
    """Return the ids of percepts that a shell may see, sorted; what cannot be read has none."""
    memory = store.look(setup.place, archive=scope != LIVE, lenient=True).memory
    stores = {LIVE: memory.live(), ARCHIVE: (ARCHIVE,)}.get(scope, (*memory.live(), ARCHIVE))
    ids = {percept["id"] for name in stores for percept in memory.percepts(name)}
    return sorted(percept_id for percept_id in ids if _HARMLESS.fullmatch(percept_id))


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    template, case, assign = {
        BASH: (_BASH, _posix_case, "{}='{}'"),
        ZSH: (_ZSH, _posix_case, "{}='{}'"),
        FISH: (_FISH, _fish_case, "set {} {}"),
    }[shell]

    def assigned(**values: str) -> str:
        return "; ".join(assign.format(name, text) for name, text in values.items() if text != "")

    parts = {
        "TOP": " ".join(dict.fromkeys(command.name.split()[0] for command in COMMANDS)),
        "TOP_FLAGS": " ".join(_TOP_FLAGS),
        "GROUPS": "\n".join(case([group.name], assigned(sub=_subs(group.name)), 1) for group in GROUPS),
        "VALUES": "\n".join(case(keys, assigned(**values), 2) for keys, values in _values()),
        "WORDS": "\n".join(case([command.name], assigned(**_words(command)), 4) for command in COMMANDS),
    }
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template


def _subs(group: str) -> str:
    names = [command.name.split() for command in COMMANDS]
    return " ".join(name[1] for name in names if name[0] == group and len(name) > 1)


def _words(command: Command) -> dict[str, str]:
    """Return what may stand anywhere behind a command: flags, choices of its arguments, ids."""
    arguments = [param for param in command.params if isinstance(param, Argument)]
    flags = [flag for option in _options(command) for flag in (*option.flags, option.negative) if flag != ""]
    scopes = [_ID_SCOPES[argument.metavar] for argument in arguments if argument.metavar in _ID_SCOPES]
    return {
        "flags": " ".join((*flags, *_HELP)),
        "choices": " ".join(choice for argument in arguments for choice in argument.choices),
        "ids": scopes[0] if scopes else "",
    }


def _values() -> list[tuple[list[str], dict[str, str]]]:
    """Return the options that take a value, those of the same values together; a flag means one thing."""
    meanings: dict[str, tuple[str, str, str]] = {}
    for option in [option for command in COMMANDS for option in _options(command) if option.kind != FLAG]:
        ids = LIVE if option.name in RELATIONS else ""
        paths = "yes" if option.metavar in _PATHS else ""
        for flag in option.flags:
            if option.choices or flag not in meanings:
                meanings[flag] = (" ".join(option.choices), ids, paths)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for flag, meaning in meanings.items():
        alike.setdefault(meaning, []).append(flag)
    return [
        (flags, {"choices": choices, "ids": ids, "paths": paths})
        for (choices, ids, paths), flags in alike.items()
    ]


def _options(command: Command) -> list[Option]:
    return [param for param in command.params if isinstance(param, Option) and not param.hidden]


def _posix_case(keys: list[str], does: str, depth: int) -> str:
    pattern = "|".join(f"'{key}'" for key in keys)
    return f"{'    ' * (depth + 1)}{pattern}) {does} ;;".replace(")  ;;", ") ;;")


def _fish_case(keys: list[str], does: str, depth: int) -> str:
    pattern = " ".join(f"'{key}'" for key in keys)
    indent = "    " * (depth + 1)
    return f"{indent}case {pattern}\n{indent}    {does}" if does else f"{indent}case {pattern}"


# What bash and zsh share: from the words on the line to what may come next.
_POSIX = """\
    case "$first" in
@GROUPS@
    esac
    [ -z "$sub" ] || first="$first $second"
    if [ "$place" -eq 1 ]; then
        choices='@TOP@' flags='@TOP_FLAGS@'
    elif [ "$place" -eq 2 ] && [ -n "$sub" ]; then
        choices="$sub" flags='--help'
    else
        case "$previous" in
@VALUES@
            *)
                case "$first" in
@WORDS@
                esac ;;
        esac
    fi
    case "$current" in
        -*) choices="$flags" ids='' ;;
    esac
"""

_BASH = (
    """\
_milkmem() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" place="$COMP_CWORD"
    local first="${COMP_WORDS[1]}" second="${COMP_WORDS[2]}" sub='' choices='' flags='' ids='' paths='' word
    COMPREPLY=()
"""
    + _POSIX
    + """\
    for word in $choices; do
        [[ "$word" != "$current"* ]] || COMPREPLY+=("$word")
    done
    if [ -n "$ids" ]; then
        while IFS= read -r word; do
            [[ "$word" != "$current"* ]] || COMPREPLY+=("$word")
        done < <(command milkmem completion --ids "$ids" 2>/dev/null </dev/null)
    fi
    if [ -n "$paths" ]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do
            COMPREPLY+=("$word")
        done < <(compgen -f -- "$current")
    fi
}
complete -F _milkmem milkmem
"""
)

_ZSH = (
    """\
#compdef milkmem
_milkmem() {
    emulate -L zsh
    local current="${words[CURRENT]}" previous="${words[CURRENT-1]}" place=$((CURRENT - 1))
    local first="${words[2]}" second="${words[3]}" sub='' choices='' flags='' ids='' paths=''
"""
    + _POSIX
    + """\
    [ -z "$choices" ] || compadd -- ${=choices}
    [ -z "$ids" ] || compadd -- ${(f)"$(command milkmem completion --ids "$ids" 2>/dev/null </dev/null)"}
    [ -z "$paths" ] || _files
}
if [ "${funcstack[1]}" = _milkmem ]; then
    _milkmem "$@"
else
    compdef _milkmem milkmem
fi
"""
)

_FISH = """\
function __milkmem_candidates
    set -l line (commandline -opc)
    set -l current (commandline -ct)
    set -l first "$line[2]"
    set -l place (count $line)
    set -l sub
    set -l choices
    set -l flags
    set -l ids
    set -l paths
    switch "$first"
@GROUPS@
    end
    if test -n "$sub"
        set first "$first $line[3]"
    end
    if test $place -eq 1
        set choices @TOP@
        set flags @TOP_FLAGS@
    else if test $place -eq 2 -a -n "$sub"
        set choices $sub
        set flags --help
    else
        switch "$line[-1]"
@VALUES@
            case '*'
                switch "$first"
@WORDS@
                end
        end
    end
    if string match -q -- '-*' "$current"
        set choices $flags
        set ids
    end
    for word in $choices
        echo $word
    end
    if test -n "$ids"
        command milkmem completion --ids $ids 2>/dev/null </dev/null
    end
    if test -n "$paths"
        __fish_complete_path "$current"
    end
end
complete -c milkmem -e
complete -c milkmem -f -a '(__milkmem_candidates)'
"""
