"""Equality, number theory, bits of numbers, copies of views, Python functions on elements: against torch."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from expressions import check_error, check_text, lines
from oracle import assert_same, pair

import whygrad

ALIKE = """
torch.equal(x, x)
torch.equal(x, v)
torch.equal(n, n.double())
holes.equal(holes)
torch.allclose(x, x + 1e-10)
torch.allclose(holes, holes, equal_nan=True)
torch.isclose(x, y, rtol=0.5, atol=0.1)
torch.isclose(x, x[0])
torch.isclose(i, i + 1, atol=1.0)
torch.isclose(torch.tensor([math.inf, 1.0]), torch.tensor([math.inf, math.inf]))
torch.isclose(z, z + 1e-9)
torch.isin(i, n)
torch.isin(i, 2, invert=True)
torch.isin(3, i)
torch.isin(x, x[0])
torch.gcd(i, torch.tensor(6))
i.lcm(torch.tensor([2, 3, 4, 5]))
i.gcd(i[0])
torch.nextafter(x, y)
torch.heaviside(x.detach(), torch.tensor(0.5, dtype=x.dtype))
torch.ldexp(x, n[:4])
torch.ldexp(w, v)
torch.ldexp(i, i)
(x * 1).ldexp_(n[:4])
torch.frexp(x)
torch.frexp(torch.tensor([math.inf, math.nan, 0.0, -3.0]))
x.sum_to_size(1, 4)
x.sum_to_size(4)
x.sum_to_size((3, 4))
x.sum_to_size(())
cube.sum_to_size(3, 1)
torch.fill(x, 3)
torch.fill(x, s)
torch.zero_(x * 1)
torch.fill_(x * 1, 2.0)
torch.unravel_index(torch.tensor([1, 5, 11]), (3, 4))
torch.unravel_index(torch.tensor(7), 12)
torch.nonzero_static(i, size=20, fill_value=-3)
torch.nonzero_static(ties, size=2)
torch.hash_tensor(x)
torch.hash_tensor(i, dim=1, keepdim=True)
torch.constant_pad_nd(x, (1, 2, 0, -1), 0.5)
torch.typename(x)
torch.typename('text')
x.new_empty_strided((2, 3), (3, 1)).shape
"""

COPIES = """
torch.alias_copy(x)
torch.as_strided_copy(x, (2, 2), (1, 3), 1)
torch.diagonal_copy(x, 1)
torch.expand_copy(x[:1], (3, 4))
torch.narrow_copy(x, 1, 1, 2)
x.narrow_copy(0, 0, 2)
torch.permute_copy(cube, (2, 0, 1))
torch.select_copy(x, 0, 1)
torch.slice_copy(x, 1, 0, 4, 2)
torch.split_copy(x, 2)
torch.split_with_sizes_copy(x, [1, 2])
torch.squeeze_copy(x[:1])
torch.squeeze_copy(x[:1], 0)
torch.t_copy(x)
torch.transpose_copy(x, 0, 1)
torch.unbind_copy(x)
torch.unfold_copy(x, 1, 2, 1)
torch.unsqueeze_copy(x, 1)
torch.view_copy(x, (4, 3))
torch.view_as_real_copy(z)
"""

ERRORS = """
torch.equal(x, 3)
torch.allclose(x, single)
torch.isclose(x, y, rtol=-1)
torch.isclose(x, y, atol=-1)
torch.isclose(x, v)
torch.isclose(x, 3.0)
torch.isin(1, 1)
torch.isin(z, z)
torch.isin(b, b)
torch.gcd(x, x)
torch.lcm(i, 4)
torch.gcd(b, b)
torch.nextafter(i, i)
torch.heaviside(x, i)
torch.heaviside(z, z)
torch.ldexp(x, 2)
n.ldexp_(w)
torch.frexp(i)
x.sum_to_size(5)
torch.fill(x, v)
torch.unravel_index(v, (3, 4))
torch.unravel_index(n, (3, -4))
torch.nonzero_static(x, size=-1)
torch.hash_tensor(x, mode=1)
(x * 1).apply_(3)
torch.ones(2).map_(torch.ones(2, dtype=torch.int64), lambda p, q: p)
torch.ones(2, requires_grad=True).apply_(abs)
"""


@pytest.mark.parametrize("text", lines(ALIKE))
def test_alike(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", lines(COPIES))
def test_copies(text: str) -> None:
    check_text(text, node=False)


@pytest.mark.parametrize("text", lines(ERRORS))
def test_errors(text: str) -> None:
    check_error(text)


def test_copies_do_not_share_memory() -> None:
    x = whygrad.zeros(2, 3)
    whygrad.view_copy(x, (6,)).fill_(1)
    assert x.sum().item() == 0


def test_python_functions_on_elements() -> None:
    for lib in (torch, whygrad):
        x = lib.tensor([1.0, 2.0, 3.0])
        assert x.apply_(lambda p: p + 1) is x
        assert x.map_(lib.tensor([2.0, 2.0, 2.0]), lambda p, q: p * q).tolist() == [4.0, 6.0, 8.0]
        assert x.map2_(x, lib.ones(3), lambda p, q, r: p + q + r).tolist() == [9.0, 13.0, 17.0]
        assert x._version == 0


def test_in_place_number_theory() -> None:
    theirs, ours = pair(np.array([12, 18]))
    assert_same(theirs.gcd_(torch.tensor(8)), ours.gcd_(whygrad.tensor(8)))
    assert_same(theirs.lcm_(torch.tensor(3)), ours.lcm_(whygrad.tensor(3)))


def test_half_precision_complex_numbers_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="complex32"):
        whygrad.ones(2).chalf()


def test_missing_names_say_what_they_are() -> None:
    with pytest.raises(AttributeError, match=r"'to_sparse_bsr': whygrad's sparse tensors are sparse_coo_tensor"):
        whygrad.ones(2).to_sparse_bsr()
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'tosparse'$"):
        whygrad.ones(2).tosparse()
    with pytest.raises(AttributeError, match="'sparse_bsr_tensor': whygrad's sparse tensors are"):
        whygrad.sparse_bsr_tensor  # noqa: B018
    with pytest.raises(AttributeError, match="'quantize_per_tensor': whygrad has no quantized tensors"):
        whygrad.quantize_per_tensor  # noqa: B018
    assert not hasattr(whygrad.ones(2), "sspaddmm")


def test_functions_of_nn_in_the_torch_namespace() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    for lib in (torch, whygrad):
        t, weight = lib.from_numpy(x.copy()), lib.ones(3, dtype=lib.float64)
        functional = lib.nn.functional
        assert lib.equal(lib.layer_norm(t, (4,)), functional.layer_norm(t, (4,)))
        assert lib.equal(lib.batch_norm(t, weight, None, None, None, True, 0.1, 1e-5, False),
                         functional.batch_norm(t, None, None, weight, training=True))
        assert lib.equal(lib.embedding(t[0], lib.tensor([1, 0])), t[0][[1, 0]])
        assert lib.equal(lib.dropout(t, 0.5, False), t)
        assert lib.equal(lib.kl_div(t, t.exp(), 2), functional.kl_div(t, t.exp(), reduction="sum"))
        assert lib.equal(t.prelu(lib.tensor(0.5, dtype=lib.float64)), lib.where(t > 0, t, 0.5 * t))
        assert lib.equal(t.hardshrink(), functional.hardshrink(t))
        assert t.to_dense() is t
        assert t.is_set_to(t.view(2, 3, 4))
        assert not t.is_set_to(t.clone())


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
@pytest.mark.parametrize("call", ["T.ones(3).put_(T.tensor([0]), T.ones(1))",
                                  "F.max_unpool1d(T.ones(1, 1, 2), T.zeros(1, 1, 2, dtype=T.int64), 2)",
                                  "F.max_unpool2d(T.ones(1, 1, 2, 2), T.zeros(1, 1, 2, 2, dtype=T.int64), 2)"])
def test_functions_that_are_not_deterministic(call: str, lib: object) -> None:
    """They are here, but a program that is refused by torch is refused."""
    names = {"T": lib, "F": lib.nn.functional}
    try:
        lib.use_deterministic_algorithms(True)
        with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
            eval(call, names)
        lib.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="does not have a deterministic implementation"):
            eval(call, names)
        lib.ones(3).put_(lib.tensor([0]), lib.ones(1), accumulate=True)
        lib.use_deterministic_algorithms(False, warn_only=True)
        assert lib.is_deterministic_algorithms_warn_only_enabled()
        assert lib.get_deterministic_debug_mode() == 0
    finally:
        lib.use_deterministic_algorithms(False)


UNINITIALISED = ["torch.empty(2)", "torch.empty(2, dtype=torch.int8)", "torch.empty(2, dtype=torch.bool)",
                 "torch.empty_like(torch.zeros(2, 3).t())", "torch.empty_strided((2,), (2,))", "torch.zeros(1).resize_(3)",
                 "torch.zeros(1).new_empty(2)", "torch.empty(2, dtype=torch.complex64)", "torch.Tensor(2)",
                 "torch.empty_permuted((2, 2), (1, 0))", "torch.empty(2, dtype=torch.bfloat16).float()"]


@pytest.mark.parametrize("text", UNINITIALISED)
def test_memory_that_nothing_was_written_to(text: str) -> None:
    found = []
    for lib in (torch, whygrad):
        try:
            lib.use_deterministic_algorithms(True)
            found.append(eval(text, {"torch": lib}))
            lib.utils.deterministic.fill_uninitialized_memory = False
            eval(text, {"torch": lib})
        finally:
            lib.use_deterministic_algorithms(False)
            lib.utils.deterministic.fill_uninitialized_memory = True
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_what_is_said_once_may_be_said_always(lib: object) -> None:
    matrix = lib.ones(2, 2)
    try:
        lib.set_warn_always(True)
        assert lib.is_warn_always_enabled()
        for _ in range(2):
            with pytest.warns(UserWarning, match="This overload of addmm is deprecated"):
                lib.addmm(2, matrix, matrix, matrix)
    finally:
        lib.set_warn_always(False)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_a_storage_and_its_tensor_are_copied_as_one(lib: object) -> None:
    x = lib.arange(4.0)
    storage, tensor, part = copy.deepcopy([x.storage(), x, x[1:]])
    storage[1] = 9
    assert (tensor[1], part[0], x[1]) == (9, 9, 1)
