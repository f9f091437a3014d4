# Two commands on a fresh machine: `make demo` and `make test`.  Each sets up a virtual environment first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READERS := .venv-readers

.PHONY: help demo test quick long nightly coverage docs bench lint style types all-tests quick-tests clean

help:
	@echo "make demo    set up (1.5 GB, mostly PyTorch), build data from the sample, train a small BERT: 2 minutes after set-up"
	@echo "make test    set up, then lint, type-check and run the tests: under 5 minutes on two cores"
	@echo "make quick   the same without tests that run commands: a minute"
	@echo "make long    tests that run commands in new processes: crashes, hostile input, docs, one engine"
	@echo "make nightly other engines, random kills, large bombs, readers of other trainers, benchmarks, tutorials"
	@echo "make coverage  all of these but nightly, with coverage of lines and branches"
	@echo "make docs    build the site of docs/ into site/, with warnings as errors"
	@echo "make bench   all benchmarks: five tables"
	@echo "make clean   remove the virtual environments and what the demo made"

demo: $(VENV)/.installed
	@echo "Building a corpus, a vocabulary and pairs from the sample into demo/ (seconds), then training a small BERT (1 to 2 minutes)"
	$(BIN)/bertdata demo --train

test: style # the types are checked beside the tests: mypy uses one core
	$(MAKE) --no-print-directory --jobs=2 types all-tests

quick: style
	$(MAKE) --no-print-directory --jobs=2 types quick-tests

all-tests: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto -m "not long and not nightly"

quick-tests: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto -m "not slow and not long and not nightly"

long: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile -m "long and not nightly"

nightly: $(VENV)/.installed-dev $(READERS)/.installed
	$(BIN)/python -m pytest -n auto --dist loadfile -m nightly

coverage: $(VENV)/.installed-dev # also of the processes that tests start
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest -n auto --dist loadfile -m "not nightly"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --editable '.[peers]' --constraint constraints.txt
	for name in extraction tokens pairs loader scale; do echo; echo "## $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

lint: style types

style: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

clean:
	rm -rf $(VENV) $(READERS) demo site

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[train]' --constraint constraints.txt
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

$(READERS)/.installed: tests/readers/requirements.txt constraints.txt # the trainers' own readers of exports, which want older versions
	$(PYTHON) -m venv $(READERS)
	$(READERS)/bin/pip install --quiet torch --constraint constraints.txt
	$(READERS)/bin/pip install --quiet --no-deps --requirement tests/readers/requirements.txt
	@touch $@
