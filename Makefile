# Two commands do everything: `make demo` shows what whygrad does, `make test` proves it against PyTorch.
# Both make their own virtual environment in .venv and can be run again and again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test suite rows lint bench libraries site serve wasm clean

help:
	@echo "make demo   install whygrad into $(VENV) and run the demonstration"
	@echo "make test   install the test tools (PyTorch among them, as the oracle) and run all checks"
	@echo "make bench  time the same programs on PyTorch and on whygrad"
	@echo "make libraries  run programs of libraries that stand on PyTorch, on PyTorch and on whygrad; writes docs/libraries.md"
	@echo "make site   build the playground and the documentation into build/site (needs npm)"
	@echo "make serve  build them and serve them on this machine"
	@echo "make wasm   run all programs of tests/why and all rows in WebAssembly, and compare with this Python"
	@echo "make clean  remove $(VENV) and caches"

$(BIN)/python:
	@echo "==> making a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "==> installing whygrad with NumPy, llvmlite, ml_dtypes and rich"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# What gpytorch, Lightning, torchvision and transformers need beside the test tools. They have a folder of their own: a torchvision
# that was built for another PyTorch cannot be imported, and other tests would try.
FIVE := anyio certifi filelock fsspec gpytorch h11 hf-xet httpcore2 httpx2 huggingface_hub idna jaxtyping joblib lightning \
	lightning-utilities linear_operator narwhals PyYAML regex scikit-learn scipy threadpoolctl tokenizers torchmetrics \
	torchvision transformers truststore wadler_lindig

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	@echo "==> installing the test tools; PyTorch is large, the first time takes a while"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@echo "==> installing the libraries of tests/compat/test_libraries.py, which is left out where they cannot be had"
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--target $(VENV)/libraries/site-packages --constraint tests/libraries/requirements.txt $(FIVE)
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
	@command -v npm >/dev/null && $(MAKE) --no-print-directory site || echo "==> no site was built: its tests are skipped"
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

# Libraries are installed without their dependencies, which would bring PyTorch: it must not be there when whygrad takes its place.
# The oracle has it in a folder of its own.
LIBRARIES := .venv-libraries
$(LIBRARIES)/.installed: tests/libraries/requirements.txt
	@echo "==> installing libraries, which takes some GB"
	$(PYTHON) -m venv $(LIBRARIES)
	$(LIBRARIES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/libraries/requirements.txt
	$(LIBRARIES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(LIBRARIES)/oracle torch==2.13.0
	@touch $@

libraries: $(LIBRARIES)/.installed
	$(LIBRARIES)/bin/python tests/libraries/run_all.py --oracle $(LIBRARIES)/oracle

# One folder for any static host. Its tests are skipped where it is not built. It is built anew if something in it has changed.
SITE_SOURCES := $(shell find src site docs examples tests/why README.md SECURITY.md -type f -not -path '*/node_modules/*' \
	-not -name '*.pyc')
site: build/site/index.html

build/site/index.html: $(VENV)/.installed $(SITE_SOURCES)
	$(BIN)/python site/build.py

serve: site
	$(BIN)/python -m http.server --directory build/site

wasm: $(VENV)/.installed-test site
	WHYGRAD_WASM_ALL=1 $(BIN)/python -m pytest tests/site/test_wasm.py

clean:
	rm -rf build site/node_modules $(VENV) $(LIBRARIES) .pytest_cache .mypy_cache .ruff_cache .hypothesis
