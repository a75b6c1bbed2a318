"""milkmem keeps an AI coding agent's memory honest (ADR-0090, Memory Consolidation v3)."""

__version__ = "0.1.0"
