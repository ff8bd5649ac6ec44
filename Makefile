# Two commands do everything: `make demo` shows what whygrad does, `make test` proves it against PyTorch.
# Both make their own virtual environment in .venv and can be run again and again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test suite rows lint bench clean

help:
	@echo "make demo   install whygrad into $(VENV) and run the demonstration"
	@echo "make test   install the test tools (PyTorch among them, as the oracle) and run all checks"
	@echo "make bench  time the same programs on PyTorch and on whygrad"
	@echo "make clean  remove $(VENV) and caches"

$(BIN)/python:
	@echo "==> making a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "==> installing whygrad with NumPy, llvmlite, ml_dtypes and rich"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	@echo "==> installing the test tools; PyTorch is large, the first time takes a while"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $(VENV)/.installed $@

demo: $(VENV)/.installed
	@echo "==> running examples/demo.py"
	$(BIN)/python examples/demo.py

lint: $(VENV)/.installed-test
	@echo "==> ruff and mypy"
	$(BIN)/ruff check .
	$(BIN)/mypy

# Two chains side by side: the tests in two processes, and beside them what takes one process.
test: $(VENV)/.installed-test
	@$(MAKE) --no-print-directory --jobs 2 suite rows

suite: $(VENV)/.installed-test
	@echo "==> tests, with PyTorch as the oracle (the report is tested in Chromium, if that and its driver are installed)"
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs

rows: $(VENV)/.installed-test lint
	@echo "==> the rows again: with kernels for the smallest arrays, then on NumPy alone"
	WHYGRAD_KERNELS=always $(BIN)/python -m pytest tests/ops/test_rows.py -k "not error_in_any_rule"
	WHYGRAD_KERNELS=0 $(BIN)/python -m pytest tests/ops/test_rows.py -k "not error_in_any_rule"

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.ops
	$(BIN)/python -m benchmarks.examples
	$(BIN)/python -m benchmarks.recording
	$(BIN)/python -m benchmarks.watching
	$(BIN)/python -m benchmarks.checkpointing
	$(BIN)/python -m benchmarks.compiling
	$(BIN)/python -m benchmarks.first_use
	$(BIN)/python -m benchmarks.faults

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
