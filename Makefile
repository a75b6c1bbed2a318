# Two commands do all set-up: `make run` and `make test`. They need Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin
SAMPLE := .venv/sample
# What covers the core; the rest of the tests runs without the measuring, which would double their time.
CORE := $(addprefix tests/test_,$(addsuffix .py,agreement check consolidate digest forecast instants memory properties \
	recall remember rules runs simulate words))

.PHONY: run test bench torture clean

run: .venv/installed
	@rm -rf $(SAMPLE) && cp -R config/sample $(SAMPLE)
	@$(BIN)/python -m milkmem consolidate -v --elapsed 2h --data-dir $(SAMPLE) --config config/milkmem.toml
	@$(BIN)/python -m milkmem inspect --data-dir $(SAMPLE) --config config/milkmem.toml
	@echo; echo "Next: $(BIN)/milkmem inspect --help; $(BIN)/milkmem query tests --data-dir $(SAMPLE)"

test: .venv/dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n auto --cov=milkmem $(CORE)
	$(BIN)/python -m pytest -q -n auto $(addprefix --ignore=,$(CORE))

bench: .venv/dev
	rm -rf .venv/bench && $(PYTHON) -m venv .venv/bench
	.venv/bench/bin/python -m pip install --quiet --disable-pip-version-check .
	.venv/bench/bin/python -m compileall -q .venv/bench/lib
	$(BIN)/python tests/bench/bench.py .venv/bench/bin/python --alternatives \
		--write docs/benchmarks.md --readme README.md

torture: .venv/dev
	$(BIN)/python -m tests.torture --write docs/reliability.md
	$(BIN)/python tests/torture/week.py

.venv/python:
	$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/dev: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv build dist
