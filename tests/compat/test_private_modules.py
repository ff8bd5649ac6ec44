"""Modules of torch that only libraries import: the same program gives the same on both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import pytest
import torch
from interpreters import on_both
from oracle import outcome

import whygrad


def foreach_utils(lib: Any, utils: Any) -> Any:
    lists = [[lib.ones(1), lib.ones(2).double(), lib.ones(3)], [lib.zeros(1), None, lib.zeros(3)]]
    groups = utils._group_tensors_by_device_and_dtype(lists, with_indices=True)
    return (sorted((str(of), str(lists), indices) for of, (lists, indices) in groups.items()),
            utils._get_foreach_kernels_supported_devices(), utils._get_fused_kernels_supported_devices(),
            outcome(lambda: utils._group_tensors_by_device_and_dtype([[None]])))


def contextlib(lib: Any, module: Any) -> Any:
    class Shown(module._DecoratorContextManager):
        def __enter__(self) -> None:
            seen.append("in")

        def __exit__(self, *exc: object) -> None:
            seen.append("out")

    seen: list[str] = []
    Shown()(lambda: seen.append("call"))()
    module.context_decorator(lambda: Shown(), lambda: seen.append("made"))()
    module.context_decorator(nullcontext(), lambda: seen.append("given"))()
    return seen, *[outcome(lambda: module.context_decorator(nullcontext, Shown))[1],
                   outcome(lambda: module.context_decorator(Shown(), print))[1][0]]


def accessor(lib: Any, module: Any) -> Any:
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
    accessor = module.NamedMemberAccessor(model)
    weight = accessor.swap_tensor("0.weight", lib.ones(2, 2))
    shown = [model(lib.eye(2)).shape, type(accessor.get_tensor("0.weight")).__name__, type(weight).__name__]
    accessor.set_tensor("0.weight", weight)
    accessor.del_tensor("1.running_mean")
    shown.append([name for name, _ in accessor.named_tensors()])
    shown.append(accessor.check_keys(["0.bias", "nowhere"]))
    shown += [outcome(call) for call in (
        lambda: accessor.get_tensor("0.nothing"), lambda: accessor.swap_tensor("0.nothing", weight),
        lambda: accessor.swap_tensors_dict({"0.nothing": weight})[0], lambda: accessor.set_tensors(["a"], []),
        lambda: accessor.swap_submodule("0", 3), lambda: accessor.get_tensor("0.in_features"))]
    return shown


def data_pipes(lib: Any, module: Any) -> Any:
    class Count(module.IterDataPipe):
        def __iter__(self) -> Any:
            return iter(range(3))

    module.IterDataPipe.register_function("twice", lambda pipe: [2 * x for x in pipe])
    return (list(Count()), Count().twice(), isinstance(Count(), lib.utils.data.IterableDataset),
            outcome(lambda: Count().nothing)[0])


def loader_iterators(lib: Any, module: Any) -> Any:
    loader = lib.utils.data.DataLoader(range(4), batch_size=2)
    return (type(iter(loader)).__name__, isinstance(iter(loader), module._BaseDataLoaderIter), loader._auto_collation,
            loader._dataset_kind == module._DatasetKind.Map)


def step_functions(lib: Any, module: Any) -> Any:
    class Mine(lib.optim.Optimizer):
        def step(self) -> str:
            return "stepped"

    optimizer, seen = Mine([lib.ones(1)], {}), []
    optimizer.register_step_post_hook(lambda *about: seen.append(1))
    optimizer._patch_step_function()
    return optimizer.step(), seen


def functional_names(lib: Any, module: Any) -> Any:
    return [getattr(module, name) is getattr(lib, name) for name in (
        "tensordot", "einsum", "split", "norm", "cdist", "meshgrid", "stft", "unique", "broadcast_tensors", "atleast_1d")]


def old_functorch(lib: Any, module: Any) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function, params = module.make_functional(lib.nn.Linear(2, 1))
        stacked = module.combine_state_for_ensemble([lib.nn.BatchNorm1d(2) for _ in range(3)])
        module.vmap(lib.sin)(lib.ones(2))
    same = function(params, lib.ones(2)).shape
    return (same, [p.shape for p in (*stacked[1], *stacked[2])],
            outcome(lambda: module.make_functional(lib.nn.BatchNorm1d(1)))[0],
            [str(warning.message) for warning in told if warning.category is FutureWarning])


PROGRAMS: dict[Callable[..., Any], str] = {
    foreach_utils: "torch.utils._foreach_utils", contextlib: "torch.utils._contextlib",
    accessor: "torch.nn.utils._named_member_accessor",
    data_pipes: "torch.utils.data.datapipes.datapipe", loader_iterators: "torch.utils.data.dataloader",
    step_functions: "torch.optim.optimizer", functional_names: "torch.functional", old_functorch: "functorch",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore")
def test_same(program: Callable[..., Any]) -> None:
    name = PROGRAMS[program]
    ours = "whygrad.compat.functorch" if name == "functorch" else name.replace("torch", "whygrad", 1)
    if name == "torch.utils.data.datapipes.datapipe":
        ours = "whygrad.utils.data.datapipes"
    assert repr(program(whygrad, import_module(ours))) == repr(program(torch, import_module(name)))


def test_names() -> None:
    for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4"):
        ours, theirs = getattr(whygrad, name), getattr(torch, name)
        assert (str(ours), ours.itemsize, ours.is_floating_point, ours.is_complex) == (
            str(theirs), theirs.itemsize, theirs.is_floating_point, theirs.is_complex)
    assert issubclass(whygrad.jit.TracerWarning, Warning)
    assert not isinstance(whygrad.device("cpu"), whygrad.DeviceObjType)
    assert whygrad.nn.modules.module._IncompatibleKeys.__name__ == torch.nn.modules.module._IncompatibleKeys.__name__
    assert not whygrad.distributed.rpc.is_available()
    assert outcome(lambda: whygrad.cuda.nvtx.range_push("x")) == outcome(lambda: torch.cuda.nvtx.range_push("x"))


def test_private_modules_are_attributes_without_an_import() -> None:
    theirs, ours = on_both("import torch\n"
                           "for name in ('_contextlib', '_foreach_utils', '_python_dispatch', '_pytree', '_no_such'):\n"
                           "    print(name, type(getattr(torch.utils, name, None)).__name__)")
    assert ours == theirs
