# Two commands on a fresh machine: `make demo` and `make test`.  Each sets up a virtual environment first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test quick long docs lint clean

help:
	@echo "make demo   set up, then run the whole job on the sample, show pairs, train a small model"
	@echo "make test   set up, then lint, type-check and run all tests"
	@echo "make quick  the same without the slow tests"
	@echo "make long   tests on other engines, of many crashes and of damage everywhere"
	@echo "make docs   build the site of docs/ into site/, with warnings as errors"
	@echo "make clean  remove the virtual environment and what the demo made"

demo: $(VENV)/.installed
	$(BIN)/bertdata demo --train

test: lint
	$(BIN)/python -m pytest -n auto -m "not long"

quick: lint
	$(BIN)/python -m pytest -n auto -m "not slow and not long"

long: $(VENV)/.installed-engines
	$(BIN)/python -m pytest -n auto --dist loadfile -m long

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo site

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[train]' --constraint constraints.txt
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

$(VENV)/.installed-engines: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --editable '.[engines]' --constraint constraints.txt
	$(BIN)/pip install --quiet --no-deps beam-pyspark-runner==0.0.3 # it asks for a Beam of 2023, and runs with this one
	@touch $@
