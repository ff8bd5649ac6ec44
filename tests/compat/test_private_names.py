"""Private and small modules of torch that libraries use."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
import torch._tensor_str
import torch._utils
import torch.utils.weak
from interpreters import on_both

import whygrad
import whygrad.compat.torch_utils
import whygrad.nn.modules
import whygrad.utils.weak
from whygrad.compat import _C, tensor_str


@pytest.mark.parametrize("text", [
    "t.sym_max(1, 2), t.sym_min(1, 2.5), t.sym_max(1, 2.0), t.sym_int(2.7), t.sym_float(3), t.sym_not(True)",
    "t.sym_ite(True, 1, 2), t.sym_sum([1, 2])", "t._shape_as_tensor(t.ones(2, 3))", "t._cast_Long(t.tensor([1.7]))",
    "t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2, 3]), 5)",
    "t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2, 3]), 5, out_int32=True)",
    "t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 3]), t.tensor([1, 0, 2]))",
    "t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 3]), t.tensor([1, 0, 2]), transpose=True)",
    "t._softmax_backward_data(t.arange(3.)[None], t.tensor([[.2, .3, .5]]), -1, t.float32)",
    "sorted(t.functional.__all__)", "t._VF.tanh(t.ones(2))",
    "t.get_device_module().__name__.rpartition('.')[2], t.get_device_module('cpu').device_count()",
    "len({'tanh', 'norm', 'einsum', 'Tensor'} & {*dir(t._C._VariableFunctions)})", "t._C._functorch.is_batchedtensor(t.ones(2))",
    "t.vmap(lambda x: x * t._C._functorch.is_batchedtensor(x))(t.ones(2))",
    "t.nn.Linear(2, 2)._call_impl(t.ones(1, 2)).shape", "[hasattr(t.Tensor, name) for name in dir(t.Tensor)].count(False)"])
def test_functions(text: str) -> None:
    theirs, ours = (repr(eval(text, {"t": lib})) for lib in (torch, whygrad))
    assert ours == theirs


@pytest.mark.parametrize(("lib", "utils"), [(torch, torch._utils), (whygrad, whygrad.compat.torch_utils)])
def test_flat_lists(lib: Any, utils: Any) -> None:
    tensors = [lib.ones(2, 3), lib.zeros(4), lib.ones(2, dtype=lib.int64)]
    flat = utils._flatten_dense_tensors(tensors[:2])
    assert flat.tolist() == [1.0] * 6 + [0.0] * 4
    assert [tuple(t.shape) for t in utils._unflatten_dense_tensors(flat, tensors[:2])] == [(2, 3), (4,)]
    assert [[tuple(t.shape) for t in group] for group in utils._take_tensors(tensors, 30)] == [[(2, 3)], [(4,)], [(2,)]]
    assert utils._get_device_index("cpu", optional=True, allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        utils._get_device_index("cpu")


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_weak_keys(lib: Any) -> None:
    weak = lib.utils.weak if lib is torch else whygrad.utils.weak
    key, other = lib.ones(2), lib.ones(2)
    known = weak.WeakIdKeyDictionary({key: "a"})
    known[other] = "b"
    assert (len(known), known[key], known.get(lib.ones(2)), key in known, [k is key for k in known]) == (
        2, "a", None, True, [True, False])
    reference = weak.TensorWeakRef(key)
    assert reference() is key
    assert weak.WeakIdRef(key) == weak.WeakIdRef(key)
    assert not weak.WeakIdRef(key) == weak.WeakIdRef(other)  # noqa: SIM201 - torch has no __ne__
    del key
    gc.collect()
    assert (len(known), list(known.values()), reference()) == (1, ["b"], None)
    del known[other]
    assert not known


def test_batch_dimensions_by_level() -> None:
    """What tensordict's vmap does."""
    seen = []

    def inside(x: Any) -> Any:
        level = _C._functorch.maybe_get_level(x)
        added = _C._functorch._add_batch_dim(whygrad.ones(4, 3), -1, level)
        seen.append((level, _C._functorch.maybe_current_level(), added.shape, _C._functorch.get_unwrapped(added).shape))
        seen.append(_C._functorch._remove_batch_dim(x * added, level, 3, 1).shape)
        return x

    whygrad.vmap(inside)(whygrad.ones(3, 4))
    assert seen == [(1, 1, (4,), (3, 4)), (4, 3)]
    assert _C._functorch.maybe_get_level(whygrad.ones(2)) == -1


def test_fork_calls_at_once() -> None:
    """torch's warns that it is deprecated."""
    assert whygrad.jit.wait(whygrad.jit.fork(lambda a, b: a + b, 3, b=4)) == 7
    with pytest.raises(ZeroDivisionError):
        whygrad.jit.wait(whygrad.jit.fork(lambda: 1 / 0))


def test_global_hooks_by_name() -> None:
    module = whygrad.nn.modules.module  # type: ignore[attr-defined]
    before = len(module._global_forward_hooks)
    handle = whygrad.nn.modules.module.register_module_forward_hook(lambda *args: None)  # type: ignore[attr-defined]
    assert len(module._global_forward_hooks) == before + 1
    handle.remove()


def test_types_of_annotations() -> None:
    from torch.nn import common_types as theirs

    from whygrad.nn import common_types as ours

    names = [name for name in vars(theirs) if name.startswith(("_size", "_ratio"))]
    assert names
    assert [str(getattr(ours, name)).replace("typing.", "") for name in names] == [
        str(getattr(theirs, name)).replace("typing.", "") for name in names]


@pytest.mark.parametrize("text", [
    "s._tensor_str(t.arange(6.).reshape(2, 3), 7)", "s._add_suffixes('Mine([1])', ['size=(2,)', 'name=' + 'x' * 80], 5, False)",
    "s._add_suffixes('Mine([1])', ['size=(2,)'], 5, True)", "s._str_intern(t.ones(2), tensor_contents='here')",
    "s.PRINT_OPTS.linewidth, s.PRINT_OPTS.edgeitems", "t._C._is_tracing()"])
def test_printing_of_subclasses(text: str) -> None:
    theirs, ours = (repr(eval(text, {"t": t, "s": s})) for t, s in ((torch, torch._tensor_str), (whygrad, tensor_str)))
    assert ours == theirs


def _accumulate_hooks(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    seen = [x._post_accumulate_grad_hooks]
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    seen.append(len(x._post_accumulate_grad_hooks))
    (x * 2).sum().backward()
    handle.remove()
    x._post_accumulate_grad_hooks = None
    (x * 2).sum().backward()
    return seen, t.autograd._is_checkpoint_valid()


def test_hooks_after_accumulation() -> None:
    assert _accumulate_hooks(whygrad) == _accumulate_hooks(torch)


def test_classes_that_are_not_there() -> None:
    """They are classes for isinstance, or an ImportError for a program that is prepared for it: never modules."""
    theirs, ours = on_both("""
import torch
try:
    from torch.distributed.tensor import DTensor
except ImportError:
    DTensor = None
print(isinstance(1, DTensor))
try:
    from torch.distributed.tensor import NoSuchClass
except ImportError:
    print("none")
""")
    assert ours == theirs
