"""What holds for every test: one thread each (the runner takes a process for each core), the same examples and random
numbers every time, and no test changes what the next one finds.

`--shuffle SEED` runs the tests in another order, in which they must pass as well.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
for _name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):  # in a workflow, programs would be annotated
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

import whygrad  # noqa: E402

settings.register_profile("same", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("same")


@functools.cache
def prepare_torch() -> None:
    """What torch loads, compiles or warns of once in a process must not be seen by the first test that comes there."""
    import torch

    torch.set_warn_always(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch._decomp.decompositions_for_jvp
        import torch._dynamo


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


# Files with tests of several seconds each, which come first: at the end, one process would be busy with them while others wait.
LONG = ("tests/why/test_fix.py", "tests/why/test_cost.py", "tests/for_torch/test_ranks.py",
        "tests/for_torch/test_rank_programs.py", "tests/for_torch/test_fix_on_torch.py",
        "tests/for_torch/test_torch_pytest_plugin.py")

# Programs that tests run; some are called test_..., which pytest would import.
collect_ignore_glob = [f"{folder}/*" for folder in (
    "seeds", "why/cases", "why/programs", "why/puzzles", "for_torch/programs", "for_torch/rank_programs", "libraries/programs")]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)


def global_state() -> dict[str, Any]:
    """Of the process, as far as tests have changed it."""
    state: dict[str, Any] = {}
    for lib in filter(None, (sys.modules.get("torch"), whygrad)):
        for name in ("get_default_dtype", "is_grad_enabled", "is_inference_mode_enabled", "is_anomaly_enabled",
                     "are_deterministic_algorithms_enabled"):
            state[f"{lib.__name__}.{name}"] = getattr(lib, name)()
        state[f"{lib.__name__}.is_autocast_enabled"] = lib.is_autocast_enabled("cpu")
    return state  # without torch's, if a test has put something else in its place


@pytest.fixture(autouse=True)
def same_state() -> Iterator[None]:
    if "torch" in sys.modules:
        prepare_torch()
        # torch.manual_seed asks every kind of device, 0.3 ms for each test.
        sys.modules["torch"].default_generator.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    whygrad.manual_seed(0)
    if "whygrad.optim.optimizer" in sys.modules:
        # Explanations look at all optimizers that exist; another test may keep one alive.
        sys.modules["whygrad.optim.optimizer"].OPTIMIZERS.clear()
    before = global_state()
    yield
    after = global_state()
    changed = {name: after.get(name) for name in before if after.get(name) != before[name]}
    assert not changed, f"the test leaves changed: {changed}"
