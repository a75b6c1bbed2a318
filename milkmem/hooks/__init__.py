"""Hooks: milkmem called by an agent or a shell, one file for each, beside what they have in common."""

from __future__ import annotations

CLAUDE_CODE = "claude-code"
CODEX = "codex"
AGENTS = (CLAUDE_CODE, CODEX)

BASH = "bash"
ZSH = "zsh"
FISH = "fish"
SHELLS = (BASH, ZSH, FISH)


# What a percept tag begins with.
TAG = "<milk:percept:"


def command(agent: str) -> str:
    """Return the command string that an agent is given, always the same: agents trust hooks by it."""
    return f"milkmem hook run {agent}"
