"""The same answers in WebAssembly, where indices have 32 bits, as here. `make wasm` runs all; here is a sample."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from row_samples import SAMPLES
from site_building import ROOT, TESTS, built_site, here, in_wasm

sys.path.insert(0, str(ROOT / "site"))
from play.gallery import NOT_IN_PAGE

built_site()
EVERYTHING = "WHYGRAD_WASM_ALL" in os.environ
PROGRAMS = sorted(path.relative_to(TESTS) for folder in ("cases/*", "programs/*", "puzzles")
                  for path in TESTS.glob(f"why/{folder}/*.py"))
# There are no threads, no processes and no bfloat16: a program that wants one ends there, with an error that says so.
NEED_THREADS = {"while_another_thread_steps"}
PROGRAMS = [path for path in PROGRAMS if path.stem not in NEED_THREADS and not NOT_IN_PAGE.search((TESTS / path).read_text())]
# Rows whose results are indices or counts, or that repeat by counts.
OF_INDICES = {"argmax", "argmin", "bincount", "cummax", "cummin", "embedding_bag", "histogram", "kthvalue", "max_along",
              "median_along", "mode", "nonzero", "sort", "topk", "unique", "unique_consecutive", "unique_dim", "inv_ex",
              "solve_ex", "cholesky_ex", "svd"}


ROWS = sorted(SAMPLES if EVERYTHING else OF_INDICES & SAMPLES.keys())


def calls(folder: str) -> list[tuple[str, list[str]]]:
    chosen = PROGRAMS if EVERYTHING else PROGRAMS[::40]
    return [("run_programs", [f"{folder}/{path}" for path in chosen]), ("check_rows", ROWS)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return here(calls(str(TESTS))), in_wasm(calls("/given/0"), tmp_path_factory.mktemp("wasm"))


def test_programs_have_the_same_answers(found: tuple[Any, Any]) -> None:
    assert_equal(found[0][0], found[1][0])


def test_rows_have_the_same_dtypes_and_right_derivatives(found: tuple[Any, Any]) -> None:
    assert_equal(found[0][1], found[1][1])


def assert_equal(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    different = {name: (found, theirs[name]) for name, found in ours.items() if found != theirs[name]}
    assert not different, f"{len(different)} of {len(ours)} differ: {different}"
