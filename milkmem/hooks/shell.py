"""bash, zsh and fish: a function that does a pass in the background after each turn.

The function itself only remembers the status it was called with, and starts a POSIX shell, which finds the
log, keeps it short and runs milkmem; so the three shells differ in syntax only.
"""

from __future__ import annotations

from milkmem.hooks import FISH
from milkmem.hooks.log import LIMIT_BYTES, NAME

# Stands in single quotes in all three shells, so it holds no quotes of that kind.
# $1 is the data directory, what follows are options of milkmem's.
_TURN = f"""(
    log={{data_directory}}/.milkmem/{NAME}
    shift
    umask 077
    [ -d "${{{{log%/*}}}}" ] || log=/dev/null
    if [ -f "$log" ] && [ "$(wc -c <"$log")" -gt {LIMIT_BYTES // 4 * 3} ]; then
        rest=$(tail -c {LIMIT_BYTES // 2} "$log")
        printf "%s\\n" "$rest" >"$log"
    fi
    exec milkmem consolidate "$@" </dev/null >/dev/null 2>>"$log"
) &"""

_POSIX = """\
milkmem_turn() {{
    \\builtin local milkmem_status=$?
    \\command sh -c '{turn}' milkmem_turn {arguments} </dev/null >/dev/null 2>&1
    \\builtin return "$milkmem_status"
}}
"""

_FISH = """\
function milkmem_turn --description 'Let milkmem do a pass in the background'
    set -l milkmem_status $status
    command sh -c '{turn}' milkmem_turn {arguments} </dev/null >/dev/null 2>&1
    return $milkmem_status
end
"""


def script(shell: str, data_directory: str, options: list[str], fixed: bool) -> str:
    """Return what a shell evaluates to have `milkmem_turn`.

    `options` go to every pass. Unless `fixed`, MILKMEM_DATA_DIR at the time of a turn replaces the data
    directory.
    """
    place = '"$1"' if fixed else '"${MILKMEM_DATA_DIR:-$1}"'
    quoted = _fish_quoted if shell == FISH else _quoted
    arguments = " ".join(quoted(argument) for argument in (data_directory, *options))
    template = _FISH if shell == FISH else _POSIX
    return template.format(turn=_TURN.format(data_directory=place), arguments=arguments)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
