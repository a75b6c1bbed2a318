"""The quick reader of configurations: never another outcome than that of the TOML parser."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from milkmem import config_file
from milkmem.plain_toml import parse

SPACE = st.sampled_from(["", "", " ", "\t", "  "])
KEY = st.sampled_from(["memory", "hooks", "session", "a", "A-b_1", "7", "", "a.b", '"q"', "é"])
VALUE = st.sampled_from(
    [
        *("0", "-0", "+7", "14", "-1", "007", "1_000", "0x1f", "999999999999999", "9" * 5000),
        *("0.1", "-2.50", "+0.0", "1.", ".5", "1e3", "1.5e3", "nan", "-inf", "1.5.2", "- 1", "٣", "+", "--1"),
        *("true", "false", "True", "yes", "", "1979-05-27", "[1, 2]", "{ a = 1 }"),
        *('"x"', "'x'", '""', "''", '"', "'", '"""x"""', "'''x'''", r'"a\tb"', r"'a\b'", '"a"b"', '"a\'b"'),
        *(
            '"#"',
            '"x" # why',
            "3 # why",
            "true#why",
            "3 # \x07",
            "3 #\twhy",
            '"é"',
            '"\x85"',
            '"\u00a0"',
            "~",
        ),
    ]
)
LINE = (
    st.tuples(SPACE, KEY, SPACE, st.just("="), SPACE, VALUE, SPACE).map("".join)
    | st.tuples(SPACE, st.just("["), KEY, st.sampled_from(["]", "] ", "]]", "", "] # c"]), SPACE).map("".join)
    | st.sampled_from(
        ["", " ", "# a comment", "#", "# \x07", "# \ta", "\x0b", "\u3000", "a", "= 1", "[]", "]"]
    )
)
TEXT = st.tuples(st.lists(LINE, max_size=6), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans()).map(
    lambda drawn: drawn[1].join(drawn[0]) + drawn[1] * drawn[2]
)


def with_types(value: Any) -> Any:
    if type(value) is dict:
        return [(key, with_types(item)) for key, item in value.items()]
    return type(value), repr(value)


@settings(derandomize=True, deadline=None, max_examples=2_000)
@given(TEXT | st.text(max_size=20))
@example("a = 1\r")
@example("[a]\na = 1\n[a]\n")
@example("a = 1\n[a]\n")
@example("[a]\nb = 1\nb = 2\n")
def test_plain_toml_is_toml(text: str) -> None:
    """Section 3: what the quick reader returns is what the TOML parser does; what that refuses it leaves."""
    found = parse(text)
    try:
        meant = tomllib.loads(text)
    except ValueError:
        assert found is None
        return
    assert found is None or with_types(found) == with_types(meant)


@pytest.mark.parametrize(
    "text",
    [
        "",
        config_file.render(),
        config_file.render().replace("\n", "\r\n"),
        config_file.render({"data_dir": "/home/a b/é", "session": "@cwd", "global_half_life_days": 90}),
        " [memory]\t\n\tcontradict_decay=0.7 # ours",
    ],
)
def test_generated_configurations_are_plain(text: str) -> None:
    """K1: what `config init` writes, and what people make of it, needs no TOML parser."""
    assert parse(text) == tomllib.loads(text)


@pytest.mark.parametrize("text", ["a = [1]", 'a = "\\u0041"', "[a.b]", "a = 1e3", '"a" = 1', "a = 1 # \x07"])
def test_more_than_plain_toml_is_left(text: str) -> None:
    """Section 3: other TOML is left to the TOML parser."""
    assert parse(text) is None
