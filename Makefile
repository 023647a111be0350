# make demo   set up everything and see it work        make test   set up everything and run the tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One thread per worker: two-thread torch collapses when every core already runs a test.
# Bytecode is kept: many tests start Python anew, and each start would compile the package again.
TESTENV := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help
.PHONY: help setup demo test smoke test-slow lint format docs bench clean

help:            ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch numpy
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

setup: $(VENV)/ready   ## make the virtual environment with everything in it

demo: setup      ## train a small model on the built-in corpus and write a report
	$(BIN)/lexigraph demo --force

test: setup lint ## format check, lint, types and the whole test suite
	$(TESTENV) $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

smoke: setup     ## the tests that answer within a minute
	$(TESTENV) $(BIN)/python -m pytest -n 2 --dist worksteal -m smoke

test-slow: setup ## the tests that are left out of make test
	$(TESTENV) $(BIN)/python -m pytest -m slow

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup    ## put every file into the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup      ## write docs/reference and docs/images from the code
	$(BIN)/python docs/generate.py

bench: setup     ## speed and memory, as ratios to peers
	$(BIN)/python benchmarks/generation.py
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/memory.py

clean:           ## remove the virtual environment and what tools left behind
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
