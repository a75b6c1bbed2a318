"""The import arrows of the package: inward only, and a core without clock, file or environment."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "milkmem"

# What each module may import from the package; a module that is not named here fails.
ARROWS = {
    "errors": set(),
    "digest": set(),
    "plain_toml": set(),
    "instants": set(),
    "percept": set(),
    "knobs": {"instants"},
    "words": {"knobs"},
    "rules": {"instants", "knobs", "percept"},
    "memory": {"instants", "percept"},
    "runs": {"instants", "knobs", "percept"},
    "consolidate": {"instants", "knobs", "memory", "percept", "rules", "runs"},
    "standing": {"knobs", "percept", "rules"},
    "recall": {"instants", "knobs", "percept", "rules", "words"},
    "remember": {"digest", "instants", "knobs", "percept", "recall", "rules", "words"},
    "forecast": {
        "consolidate",
        "instants",
        "knobs",
        "memory",
        "percept",
        "rules",
        "runs",
        "simulate",
        "standing",
    },
    "simulate": {
        "consolidate",
        "instants",
        "knobs",
        "memory",
        "percept",
        "recall",
        "remember",
        "rules",
        "runs",
    },
    "check": {"instants", "percept"},
    "codec": {"percept"},
    "files": {"errors"},
    "places": {"errors", "percept"},
    "config_text": set(),
    "config": {"config_text", "errors", "files", "knobs", "places", "plain_toml"},
    "config_file": {"config", "config_text", "errors", "files", "knobs"},
    "chance": set(),
    "clock": {"runs"},
    "store": {"check", "clock", "codec", "errors", "files", "memory", "percept", "places", "runs"},
}
CORE = (
    "percept",
    "knobs",
    "instants",
    "words",
    "rules",
    "memory",
    "runs",
    "consolidate",
    "standing",
    "recall",
)
PURE = (*CORE, "digest", "plain_toml", "remember", "check", "forecast", "simulate")
# The standard library's ways to a clock, a file, the environment, or chance.
IMPURE = {
    "datetime",
    "io",
    "os",
    "pathlib",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "sys",
    "tempfile",
    "time",
}


def imports(path: Path) -> set[str]:
    """Return the modules a file imports when it runs, those inside functions included."""
    found = set()
    for node in _running(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            assert node.module is not None
            found.add(node.module)
            if node.module in ("milkmem", "milkmem.cli", "milkmem.hooks"):
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found - {"__future__"}


def _running(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes but those under `if TYPE_CHECKING:`."""
    nodes = [tree]
    for child in ast.iter_child_nodes(tree):
        checks = (
            isinstance(child, ast.If)
            and isinstance(child.test, ast.Name)
            and child.test.id == "TYPE_CHECKING"
        )
        if not checks:
            nodes += _running(child)
    return nodes


def inner(path: Path) -> set[str]:
    """Return the package's own modules that a file imports, by their first name."""
    own = {name.removeprefix("milkmem.") for name in imports(path) if name.startswith("milkmem.")}
    return {name.split(".")[0] for name in own}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("[!_]*.py")), ids=lambda path: path.stem)
def test_arrows_point_inward(path: Path) -> None:
    """A module imports only modules further in; the command line is imported by none."""
    assert inner(path) <= ARROWS[path.stem]


@pytest.mark.parametrize("name", PURE)
def test_core_is_pure(name: str) -> None:
    """The core reads no clock, no file and no environment: time and Δt are arguments."""
    tops = {module.split(".")[0] for module in imports(PACKAGE / f"{name}.py")}
    assert not tops & IMPURE


def test_no_arrow_leads_back() -> None:
    """The declared arrows have no circle."""
    placed: set[str] = set()
    while left := {name for name in ARROWS if name not in placed}:
        ready = {name for name in left if ARROWS[name] <= placed}
        assert ready, f"a circle among {left}"
        placed |= ready


def test_only_render_imports_rich() -> None:
    """X4: screens are laid out in one module, the only one that imports Rich."""
    importers = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if any(module.split(".")[0] == "rich" for module in imports(path))
    }
    assert importers <= {"render.py", "app.py"}


def test_dependencies_are_the_declared_ones() -> None:
    """The package imports nothing outside the standard library but its five dependencies."""
    import sys

    tops = {module.split(".")[0] for path in PACKAGE.rglob("*.py") for module in imports(path)}
    outside = tops - set(sys.stdlib_module_names) - {"milkmem"}
    assert outside <= {"typer", "rich", "tomli_w", "platformdirs", "orjson", "click"}
