"""Sweeps that try to make milkmem lose a fact: `make torture` runs them whole, the test suite a slice."""
