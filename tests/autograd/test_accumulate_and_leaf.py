"""Leaves, `.grad` accumulation, `requires_grad`, `detach`, `.data`."""

from __future__ import annotations

import copy

import pytest
from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def the_same_object_unless_recorded(T):
    seen = []
    for create_graph in (False, True):
        x = leaf(T)
        y = x + 2
        y.backward(T.ones(3), retain_graph=True)
        before, copied = x.grad, x.grad.clone()
        y.backward(T.ones(3), create_graph=create_graph)
        seen += [before is x.grad, before, copied, x.grad]
    return seen


@program
def an_assigned_gradient_is_added_to(T):
    seen = []
    for create_graph in (False, True):
        x = leaf(T, 1.5, 1.5)
        x.grad = given = T.tensor([1.5, 1.5])
        x.backward(T.tensor([1.5, 1.5]), create_graph=create_graph)
        seen += [x.grad is given, given, x.grad]
    return seen


@program
def stealing(T):
    class Same(T.autograd.Function):
        address = 0

        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            Same.address = g.data_ptr()
            return g, g

    class Expanded(T.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.size = a.size()
            return T.tensor([1.0])

        @staticmethod
        def backward(ctx, g):
            return T.ones(1).expand(ctx.size)

    a, b = T.ones(5, 6, requires_grad=True), T.ones(5, 6, requires_grad=True)
    Expanded.apply(Same.apply(a, b)).backward()
    copied = a.grad.data_ptr() != Same.address != b.grad.data_ptr()
    a.grad = b.grad = None
    Same.apply(a, b)[1][0].backward()
    return copied, a.grad.data_ptr() == b.grad.data_ptr(), Same.address in (a.grad.data_ptr(), b.grad.data_ptr())


@program
def the_given_gradient_stays_as_it_was(T):
    x = leaf(T)
    start = T.ones(3)
    T.autograd.backward((x.clone(), x.clone()), (start, start))
    x.grad.add_(5)
    return start, x.grad


@program
def layouts(T):
    seen = []
    for first in (T.contiguous_format, T.channels_last):
        for second in (T.contiguous_format, T.channels_last):
            a = T.rand(2, 3, 4, 5).to(memory_format=first).requires_grad_()
            b = T.rand(2, 3, 4, 5).to(memory_format=second).requires_grad_()
            a.sum().backward()
            seen.append(a.grad.stride())
            a.grad = None
            (a * b).sum().backward()
            seen += [a.grad.stride(), b.grad.stride()]
    gaps = T.empty_strided((2, 2), (4, 2)).copy_(T.rand(2, 2)).requires_grad_()
    gaps.sum().backward()
    seen.append(gaps.grad.stride())
    gaps.grad = None
    (gaps * T.rand(2, 2)).sum().backward()
    return [*seen, gaps.grad.stride()]


@program
def layouts_as_backward_made_them(T):
    a = T.rand(2, 3).t().requires_grad_()
    with T.autograd.enforce_grad_layout_policy(False):
        (a * T.rand(3, 2)).sum().backward()
    kept = a.grad.stride()
    a.grad = None
    (a * T.rand(3, 2)).sum().backward()
    return kept, a.grad.stride()


@program
def nothing_to_accumulate(T):
    a, b = T.rand(4, 0, requires_grad=True), T.rand(4, 1, requires_grad=True)
    (a + b).sum().backward()
    return a.grad, b.grad


@program
def an_expanded_leaf(T):
    x = T.ones(1, 3).expand(2, 3).requires_grad_()
    (x * T.arange(6.0).reshape(2, 3)).sum().backward()
    return x.grad, x.grad.stride()


@program
def a_non_contiguous_leaf(T):
    x = T.arange(6.0).reshape(2, 3).t().requires_grad_()
    (x * x).sum().backward()
    (x * x).sum().backward()
    return x.grad, x.grad.stride()


@program
def assigning_grad(T):
    x = T.zeros(5, 5)
    return [told(lambda: setattr(x, "grad", value)) for value in
            (0, T.zeros(2, 2), T.zeros(5, 5, dtype=T.int64), x, T.zeros(5, 5), None, "text")]


@program
def deleting(T):
    x = leaf(T)
    x.grad = T.ones(3)
    del x.grad
    return [x.grad, told(lambda: delattr(x, "data")), told(lambda: setattr(x, "data", None)),
            told(lambda: delattr(x, "requires_grad")), told(lambda: delattr(x, "_grad_fn")),
            told(lambda: delattr(x, "_backward_hooks"))]


@program
def grad_dtype(T):
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.to(T.float64)

    x = leaf(T)
    seen = [x.grad_dtype]
    for wanted in (T.float16, None, T.float32):
        x = leaf(T)
        x.grad_dtype = wanted
        Double.apply(x).sum().backward()
        seen += [x.grad_dtype, x.grad]
    x = leaf(T)
    between = x * 2
    seen += [told(lambda: between.grad_dtype), told(lambda: setattr(between, "grad_dtype", T.float16))]
    x.grad = T.ones(3)
    seen += [told(lambda: setattr(x, "grad_dtype", T.float32)), told(lambda: setattr(x, "grad_dtype", T.float16)),
             told(lambda: setattr(x, "grad_dtype", None)), told(lambda: setattr(x, "grad", T.ones(3, dtype=T.float64)))]
    x.grad = None
    x.grad_dtype = T.float16
    seen.append(told(lambda: setattr(x, "grad", T.ones(3))))
    return seen


@program
def mixed_accumulation(T):
    x = T.tensor([3.0, 4.0], requires_grad=True, dtype=T.float64)
    x.grad_dtype = None
    (x * 2).sum().backward()
    x.grad = x.grad.to(T.float32)
    (x * 3).sum().backward()
    return x.grad


@program
def requires_grad_switches(T):
    x, y = T.ones(2), T.ones(2, requires_grad=True)
    z = (x + 0).requires_grad_() * y
    return [x.requires_grad_() is x, x.requires_grad, y.requires_grad_(True) is y, told(lambda: z.requires_grad_(False)),
            z.requires_grad_() is z, x.requires_grad_(False) is x, x.requires_grad, told(lambda: setattr(x, "requires_grad", 1)),
            told(lambda: setattr(z, "requires_grad", False)), told(lambda: setattr(z, "requires_grad", True))]


@program
def integers_never_require_grad(T):
    seen = []
    for dtype in (T.float32, T.float64, T.int8, T.int16, T.int32, T.int64, T.bool, T.complex64):
        a = T.ones(1, dtype=dtype)
        a.requires_grad = False
        seen += [told(lambda: a.requires_grad_(False)), told(lambda: a.requires_grad_()),
                 told(lambda: setattr(T.ones(1, dtype=dtype), "requires_grad", True)),
                 told(lambda: T.ones(1, dtype=dtype, requires_grad=True))]
    return seen


@program
def random_numbers_of_a_wrong_dtype(T):
    return told(lambda: T.randn(5, 5, dtype=T.int64))


@program
def factories_honour_requires_grad(T):
    x = T.zeros(2, 3)
    return [f(x, dtype=T.float64, requires_grad=flag).requires_grad for f in (T.ones_like, T.randn_like, T.zeros_like,
                                                                              T.full_like)
            for flag in (True, False) if f is not T.full_like]


@program
def non_leaf_grad_warns(T):
    x = leaf(T)
    y = x.clone()
    first = x.grad, y.grad
    y.retain_grad()
    return first, y.grad


@program
def detached(T):
    x = leaf(T)
    y = (x + 2).detach()
    z = x + (x * 2).detach()
    z.sum().backward()
    shared = x.detach()
    return (y.requires_grad, (y * 4).requires_grad, y.grad_fn, x.grad, shared._version == x._version,
            shared.data_ptr() == x.data_ptr())


@program
def detached_in_place(T):
    x, y = leaf(T), leaf(T)
    a = x * 2
    (y + a).sum().backward(retain_graph=True)
    a.detach_()
    (y + a).sum().backward()
    view = x.narrow(0, 1, 2)
    return a.requires_grad, x.grad, y.grad, told(lambda: view.detach_())


@program
def detaching_a_base_leaves_its_views(T):
    x = leaf(T)
    view = x.narrow(0, 1, 2)
    x.detach_()
    return x.requires_grad, view.requires_grad, type(view.grad_fn).__name__, view._base is x


@program
def detached_and_then_written(T):
    x = T.tensor(3.0, requires_grad=True)
    y = x**2
    x.detach().zero_()
    return told(lambda: y.backward())


@program
def data_keeps_object_and_version(T):
    x = T.ones(1, 2)
    x.add_(1)
    view = x[:]
    before, number = id(x), x._version
    x.data = T.ones(2, 3)
    seen = [id(x) == before, x._version == number, x.shape]
    x.add_(1)
    seen += [x._version > number, x._version == view._version]
    view.add_(1)
    a = T.tensor(1.0, requires_grad=True)
    a.data = T.tensor(2.0)
    return [*seen, x._version == view._version, a, told(lambda: setattr(a, "data", T.tensor(3)))]


@program
def data_between_forward_and_backward(T):
    seen = []
    for make in (lambda x: (x * x).sum(), lambda x: x.exp().sum(), lambda x: (x * 2).sum(), lambda x: (x.sin() * x).sum()):
        x = leaf(T)
        y = make(x)
        x.data = T.tensor([10.0, 20.0, 30.0])
        y.backward()
        seen.append(x.grad)
    return seen


@program
def data_of_another_shape_before_backward(T):
    x = leaf(T)
    y = (x * 2).sum()
    x.data = T.ones(5)
    y.backward()
    return x.grad


@program
def data_of_a_saved_non_leaf(T):
    x = leaf(T)
    between, result = x * 1, x.exp()
    y = (between * between + result).sum()
    between.data = T.tensor([10.0, 20.0, 30.0])
    result.data = T.zeros(3)
    y.backward()
    return x.grad


@program
def copies_share_what_the_originals_shared(T):
    x = T.arange(4.0)
    part, again = copy.deepcopy([x, x[1:3]])
    part[1] = 9
    twice = copy.deepcopy([x, x])
    return again, again.storage_offset(), twice[0] is twice[1], x


@program
def requires_grad_spreads(T):
    x, y, z = T.ones(2), T.ones(2), T.ones(2, requires_grad=True)
    a = x + y
    with T.no_grad():
        c = a + z
    return a.requires_grad, (a + z).requires_grad, c.requires_grad


@program
def data_of_another_layout(T):
    dense, sparse = T.ones(1), T.ones(1).to_sparse()
    return [told(lambda: setattr(a, "data", b)) for a, b in ((dense, sparse), (sparse, dense), (dense, dense))]


@program
def sparse_and_dense_gradients(T):
    def sparse():
        return T.tensor([0.0, 3.0]).to_sparse()

    seen = []
    for first in (sparse, lambda: T.ones(2)):
        for second in (sparse, lambda: T.ones(2)):
            for create_graph in (False, True):
                x = leaf(T, 1.5, 1.5)
                x.grad = before = first()
                x.backward(second(), create_graph=create_graph)
                seen += [x.grad is before, x.grad.is_sparse, x.grad.to_dense()]
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)


@pytest.mark.parametrize("how", ["context", "decorator", "function"])
def test_layout_policy(how):
    def run(T):
        a = T.rand(2, 3).t().requires_grad_()

        def step():
            (a * T.rand(3, 2)).sum().backward()

        if how == "decorator":
            T.autograd.enforce_grad_layout_policy(False)(step)()
        elif how == "function":
            T.autograd.enforce_grad_layout_policy(False)
            step()
            T.autograd.enforce_grad_layout_policy(True)
        else:
            with T.autograd.enforce_grad_layout_policy(False):
                step()
        return a.grad.stride()

    same(run)
