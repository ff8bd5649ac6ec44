"""Custom `autograd.Function`."""

from __future__ import annotations

import gc
import traceback
import weakref

import pytest
from parity import MODULES, collect, function, leaf, names, no_collector, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def the_graph_of_a_second_derivative(T):
    def forward(ctx, a, k, b):
        ctx.k = k
        ctx.save_for_backward(a, b)
        return a + k * b + a * b

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g + g * b, None, g * ctx.k + g * a

    seen = []
    for rule in (backward, T.autograd.function.once_differentiable(backward)):
        x, y = leaf(T, 1, 2), leaf(T, 3, 4)
        result = function(T, forward, rule).apply(x, 2, y)
        result.sum().backward(T.ones((), requires_grad=True), create_graph=True)
        seen += [x.grad, y.grad, names(x.grad.grad_fn), names(y.grad.grad_fn), told(lambda: x.grad.sum().backward())]
    return seen


@program
def inputs_and_outputs_of_any_kind(T):
    def forward(ctx, a, b, scale, c):
        ctx.scale = scale
        ctx.save_for_backward(a, b, c)
        first = (a + b * c).mul_(scale)
        second = (a * b + c).mul_(scale)
        return scale, first, None, True, second, "bar", a

    missing = []

    def backward(ctx, *gs):
        missing.append([g is None for g in gs])
        a, b, c = ctx.saved_tensors
        s = ctx.scale
        return gs[1] * s + gs[4] * b * s + gs[6], gs[1] * c * s + gs[4] * a * s, None, gs[1] * b * s + gs[4] * s

    a, b, c = leaf(T), leaf(T, 4, 5, 6), T.ones(3)
    results = function(T, forward, T.autograd.function.once_differentiable(backward)).apply(a, b, 3, c)
    T.autograd.backward([results[1].sum(), results[4].sum(), results[6].sum()])
    return results, a.grad, b.grad, c.grad, missing


@program
def no_tensors_at_all(T):
    return function(T, lambda ctx, a, b: (a + b, None, "x"), lambda ctx, *gs: gs).apply(1.5, 2)


@program
def a_wrong_number_or_shape_of_gradients(T):
    seen = []
    for result in (lambda g: T.ones(10), lambda g: (g, None, None), lambda g: (g, g), lambda g: 3, lambda g: None, lambda g: (),
                   lambda g: g.sum(), lambda g: T.ones(2, 3), lambda g: g.double()):
        x = leaf(T)
        seen += [told(lambda: function(T, lambda ctx, x: x * 2, lambda ctx, g: result(g)).apply(x).sum().backward()), x.grad]
    return seen


@program
def setup_context(T):
    def make(forward, setup, backward):
        return function(T, forward, backward, setup_context=staticmethod(setup))

    def save(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.rest = inputs[1:]

    square = make(lambda x: x**2, save, lambda ctx, g: g * 2 * ctx.saved_tensors[0])
    power = make(lambda x, y=3: T.pow(x, y), save,
                 lambda ctx, g: (g * ctx.rest[0] * ctx.saved_tensors[0]**(ctx.rest[0] - 1), None))

    def keep(ctx, inputs, output):
        ctx.twice = output[1]

    pair = make(lambda x: (x**2, x.item() * 2), keep, lambda ctx, g, _: g * ctx.twice)
    x = T.tensor(2.0, requires_grad=True)
    return [T.autograd.grad(square.apply(x), x), T.autograd.grad(power.apply(x), x), T.autograd.grad(power.apply(x, 2), x),
            T.autograd.grad(power.apply(x, y=4), x), T.autograd.grad(pair.apply(x)[0], x), square.generate_vmap_rule,
            hasattr(square, "vmap")]


@program
def class_methods(T):
    class Power(T.autograd.Function):
        @classmethod
        def forward(cls, x, y=3):
            return T.pow(x, y)

        @classmethod
        def setup_context(cls, ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.y = inputs[1]

        @classmethod
        def backward(cls, ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.y * T.pow(x, ctx.y - 1), None

    x = T.tensor(2.0, requires_grad=True)
    return Power.apply(x), T.autograd.grad(Power.apply(x), x)


@program
def keyword_arguments(T):
    add = function(T, lambda ctx, x, y, z=1: x * y * z, lambda ctx, g: (g, None, None))
    x = leaf(T)
    return [add.apply(x, y=2), add.apply(x=x, y=2, z=3), told(lambda: add.apply(x, bad_kwarg=1)),
            told(lambda: add.apply(x, 2, y=3)),
            told(lambda: add.apply(y=2))]


@program
def what_is_not_implemented(T):
    x = leaf(T)
    both = function(T, lambda ctx, x: x.clone(), lambda ctx, g: g, vjp=lambda ctx, g: g)
    no_forward = type(T.autograd.Function)("Fn", (T.autograd.Function,), {"backward": staticmethod(lambda ctx, g: g)})
    return [told(lambda: no_forward.apply(x)), told(lambda: function(T, lambda ctx, x: x.clone()).apply(x).sum().backward()),
            told(lambda: both.apply(x).sum().backward())]


@program
def vjp_instead_of_backward(T):
    x = leaf(T)
    function(T, lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 5).apply(x).sum().backward()
    return x.grad


@program
def instances(T):
    Id = function(T, lambda ctx, x: x, lambda ctx, g: g, name="Id")
    instance = Id()
    return isinstance(instance, Id), told(lambda: instance(T.ones(1))), Id.apply(leaf(T)).grad_fn.name()


@program
def saved_tensors(T):
    Fn = function(T, lambda ctx, x: (ctx.save_for_backward(None, x, None), x * x)[1],
                  lambda ctx, g: 2 * ctx.saved_tensors[1] * g)
    x = leaf(T)
    y = Fn.apply(x)
    node = y.grad_fn
    seen = [node.saved_tensors[0], node.saved_tensors[1] is x, node.needs_input_grad]
    y.sum().backward()
    seen += [x.grad, told(lambda: node.saved_tensors)]
    bad = function(T, lambda ctx, x: (ctx.save_for_backward(3), x * 1)[1], lambda ctx, g: g)
    return [*seen, told(lambda: bad.apply(x))]


@program
def saved_variables_is_old(T):
    def backward(ctx, g):
        ctx.saved_variables  # noqa: B018
        return g

    x = leaf(T)
    function(T, lambda ctx, x: (ctx.save_for_backward(x), x * 1)[1], backward).apply(x).sum().backward()
    return x.grad


@program
def clear_on_access(T):
    def twice(ctx, g):
        return ctx.saved_tensors[0] + ctx.saved_tensors[0]

    seen = []
    for backward in (lambda ctx, g: g * ctx.saved_tensors[0], twice):
        Fn = function(T, lambda ctx, x: (ctx.save_for_backward(x), x.clone())[1], backward, clear_saved_tensors_on_access=True)
        x = leaf(T)
        seen += [told(lambda: Fn.apply(x).sum().backward()), x.grad]
    return seen


@program
def boxed_gradients(T):
    def backward(ctx, gs):
        got.append((type(gs).__name__, len(gs)))
        first = gs.pop(0)
        return first * 2

    got = []
    Fn = function(T, lambda ctx, x: (x * 2, x * 3), backward, boxed_grads_call=True)
    x = leaf(T)
    Fn.apply(x)[0].sum().backward()
    return got, x.grad


@program
def non_differentiable_outputs(T):
    def forward(ctx, x):
        a, b = x + 1, x + 2
        ctx.mark_non_differentiable(a)
        return a, b

    got = []

    def backward(ctx, ga, gb):
        got.append((ga, gb))
        return gb

    x = leaf(T)
    a, b = function(T, forward, backward).apply(x)
    b.sum().backward()

    def quiet(ctx, x):
        ctx._materialize_non_diff_grads = False
        return forward(ctx, x)

    function(T, quiet, backward).apply(x)[1].sum().backward()
    mask = function(T, lambda ctx, x: (out := x > 1, ctx.mark_non_differentiable(out))[0], lambda ctx, g: g).apply(x)
    return a.requires_grad, b.requires_grad, got, x.grad, mask, x.masked_fill(mask, 0)


@program
def undefined_gradients(T):
    Fn = function(T, lambda ctx, x: x * 2, lambda ctx, g: None)
    x = leaf(T, 1)
    for out in (Fn.apply(x), Fn.apply(x**2), Fn.apply(x).sum()):
        out.backward()
    return x.grad, T.autograd.grad(Fn.apply(x), x, allow_unused=True)


@program
def materialize_grads(T):
    got = []

    def forward(ctx, x, flag):
        ctx.set_materialize_grads(flag)
        return x * 2, x * 3

    Fn = function(T, forward, lambda ctx, a, b: (got.append(b), (a, None))[1])
    for flag in (True, False):
        x = leaf(T)
        Fn.apply(x, flag)[0].sum().backward()
        T._C._functions.UndefinedGrad()(Fn.apply(x, flag)[0]).sum().backward()
    return got, x.grad


@program
def in_place(T):
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b), b + 2

    Fn = function(T, forward, lambda ctx, ga, gb: (ga, ga + gb))
    x, y = T.ones(3), leaf(T)
    q, _ = Fn.apply(x, y)
    q.sum().backward()
    bad = function(T, lambda ctx, a: (ctx.mark_dirty(a), a.add_(1))[1].clone(), lambda ctx, g: g)
    two = function(T, lambda ctx, a: (ctx.mark_dirty(a), (a.add_(1), a + 1))[1], lambda ctx, g, h: g + h)
    wrong = function(T, lambda ctx, a: (b := 3 * a, ctx.mark_dirty(b))[0], lambda ctx, g: g)
    return [q is x, q.grad_fn.__class__ is Fn._backward_cls, q.requires_grad, y.grad, told(lambda: Fn.apply(leaf(T), y)),
            told(lambda: bad.apply(leaf(T) * 1)), told(lambda: two.apply((leaf(T) * 1)[:2])), two.apply(leaf(T) * 1),
            wrong.apply(leaf(T) * 1)]


@program
def the_same_output_twice(T):
    def forward(ctx, x):
        out = x * 2
        return out, out

    def inplace(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x, x

    seen = []
    for make in (forward, inplace):
        x = leaf(T)
        a, b = function(T, make, lambda ctx, g, h: g * 2 + h * 2).apply(x.clone())
        (a + b).sum().backward()
        seen += [a is b, x.grad]
    return seen


@program
def an_input_returned_as_it_is(T):
    Fn = function(T, lambda ctx, x: x, lambda ctx, g: g * 2)
    seen = []
    for shape in ((1,), ()):
        x = T.ones(shape, requires_grad=True)
        y = Fn.apply(x)
        y.backward()
        Fn.apply(x.clone()).backward()
        seen += [y is x, y._is_view(), x.is_leaf, x.grad, type(y.grad_fn).__name__]
    with T.no_grad():
        seen.append(Fn.apply(x).grad_fn)
    hooks = []
    both = function(T, lambda ctx, a, b: (a, a + b), lambda ctx, ga, gb: (ga + gb, gb))
    x, y = leaf(T), leaf(T)
    q, p = both.apply(x, y)
    q.register_hook(hooks.append)
    (q + p + x).sum().backward()
    return seen, hooks, x.grad, y.grad


@program
def output_numbers(T):
    parts = function(T, lambda ctx, x: (x[:2], x[2:]), lambda ctx, *gs: T.cat(gs))
    got = []
    second = parts.apply(leaf(T))[1]
    use = function(T, lambda ctx, b: (ctx.save_for_backward(b), b * 2)[1],
                   lambda ctx, g: (got.append(ctx.saved_tensors[0].output_nr), g)[1])
    use.apply(second).sum().backward()
    return second.output_nr, got


@program
def dependence_without_gradient(T):
    first = function(T, lambda ctx, x: (out := T.ones(3), ctx.mark_non_differentiable(out), (x, out))[2], lambda ctx, g, _: g)
    second = function(T, lambda ctx, x, ignored: x, lambda ctx, g: (g, None))
    x = leaf(T)
    a, b = first.apply(x)
    b = b + 1
    second.apply(a, b).backward(T.ones(3))
    return a.requires_grad, b.requires_grad, x.grad


@program
def no_early_free(T):
    def forward(ctx, x):
        y = x**2
        ctx.save_for_backward(x, y)
        return y

    seen = []
    for rule in (lambda x, y: 2 * x, lambda x, y: 2 * y / x):
        x = T.tensor(2.0, dtype=T.float64, requires_grad=True)
        y = function(T, forward, lambda ctx, g: g * rule(*ctx.saved_tensors)).apply(x)
        seen += [T.autograd.grad(y, x, create_graph=True), T.autograd.grad(y, x)]
    return seen


@program
def a_ctx_kept_after_its_graph(T):
    kept = []
    Fn = function(T, lambda ctx, x: (ctx.save_for_backward(x), x * 1)[1], lambda ctx, g: (kept.append(ctx), g)[1])
    loss = Fn.apply(leaf(T)).sum()
    loss.backward()
    del loss
    return told(lambda: kept[0].saved_tensors)[0], kept[0].needs_input_grad


@program
def apply_of_a_node(T):
    x = leaf(T)
    node = function(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x).grad_fn
    return node.apply(T.ones(3)), node.name(), type(node).__name__


@program
def local_in_place_and_views(T):
    def forward(ctx, x, inplace):
        view = x.clone()[:2]
        if inplace:
            view += 2
        return view

    Fn = function(T, forward, lambda ctx, g: (T.cat([g, g[:1]]), None))
    return [type(Fn.apply(leaf(T), flag).grad_fn).__name__ for flag in (False, True)]


@program
def no_grad_reaches_into_apply(T):
    Fn = function(T, lambda ctx, x: x + 1, lambda ctx, g: g)
    with T.no_grad():
        y = Fn.apply(leaf(T))
    return y.requires_grad, Fn.apply(leaf(T)).requires_grad


@program
def delayed_errors(T):
    x, y = leaf(T), leaf(T)
    safe = T._C._functions.DelayedError("Boom!", 1)(y)

    def out():
        base = x.clone().view(-1)
        base += safe
        return base.sum()

    return [told(lambda: out().backward()), told(lambda: T.autograd.grad(out(), y)), T.autograd.grad(out(), x),
            T.autograd.grad(out(), safe), T.autograd.grad(out(), (x, safe))]


@program
def names_under_transforms(T):
    seen = []
    Fn = function(T, lambda x: x.clone(), lambda ctx, g: g, name="FooBar",
                  setup_context=staticmethod(lambda ctx, inputs, output: None))

    def f(x):
        y = Fn.apply(x)
        seen.append((type(y.grad_fn).__name__, y.grad_fn.name()))
        return y.sum()

    f(leaf(T))
    T.func.grad(f)(T.ones(2))
    T.func.grad(lambda x: T.func.grad(f)(x).sum())(T.ones(2))
    T.func.vjp(f, T.ones(2))
    f(leaf(T))
    return seen


@program
def errors_have_the_names_of_their_functions(T):
    class MyFunction(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return T.ones(10)

    class Fails(MyFunction):
        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("intentional failure")

    x = T.ones(5, 5, requires_grad=True)
    return [told(lambda: cls.apply(x).sum().backward()) for cls in (MyFunction, Fails)]


@program
def old_style_classes(T):
    class Old(T.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return g

    x = leaf(T)
    return [told(lambda: Old()(x)), told(lambda: Old.apply(x)), told(lambda: Old().apply(x)), Old().forward(x)]


@program
def errors_of_backward_and_missing_jvp(T):
    def fails(ctx, g):
        raise Exception("Simulate error on backward pass")

    def moved():
        with T.autograd.forward_ad.dual_level():
            function(T, lambda ctx, x: x.clone()).apply(T.autograd.forward_ad.make_dual(T.ones(2), T.ones(2)))

    return told(lambda: function(T, lambda ctx, x: x.clone(), fails).apply(leaf(T)).sum().backward()), told(moved)


@program
def every_look_at_saved_tensors_is_a_new_tuple(T):
    out = function(T, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: g).apply(leaf(T))
    node = out.grad_fn
    return node.saved_tensors is node.saved_tensors, node.saved_tensors[0] is node.saved_tensors[0]


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
def test_errors_keep_their_traceback(T):
    def backward(ctx, g):
        raise ValueError("something")

    out = function(T, lambda ctx, x: x, backward).apply(leaf(T)).sum()
    with pytest.raises(ValueError, match="something") as caught:
        out.backward()
    assert 'raise ValueError("something")' in "".join(traceback.format_tb(caught.value.__traceback__))


@MODULES
@pytest.mark.parametrize("with_backward", [True, False])
def test_cycles_through_attributes_are_collected(T, with_backward):
    def forward(ctx, x, metadata):
        x = x.clone()
        ctx.meta = metadata
        ctx.save_for_backward(x)
        return x

    def scope():
        x, metadata = T.tensor(3.14, requires_grad=True), {}
        out = function(T, forward, lambda ctx, g: (g * ctx.saved_tensors[0], None)).apply(x, metadata)
        metadata["out"] = out
        if with_backward:
            out.sum().backward()
        return weakref.ref(out)

    with no_collector():
        ref = scope()
        assert ref() is not None
    gc.collect()
    assert ref() is None


@MODULES
def test_a_saved_view_that_was_written_does_not_leak(T):
    Fn = function(T, lambda ctx, x: (ctx.mark_dirty(x), ctx.save_for_backward(x), x)[2], lambda ctx, g: None)

    def scope():
        base = T.tensor(1.0, requires_grad=True).clone()
        view = base.view_as(base)
        Fn.apply(view)
        return weakref.ref(view)

    assert scope()() is None


@MODULES
def test_collecting_in_a_destructor_is_safe(T):
    class Collects(T.autograd.Function):
        def forward(self, x):
            return x

        def __del__(self):
            gc.collect()

    for _ in range(3):
        with pytest.warns(DeprecationWarning, match="should not be instantiated"):
            made = Collects()
        made.forward(T.randn(1, requires_grad=True)).backward()


@MODULES
@pytest.mark.parametrize("boxed", [True, False])
def test_nobody_else_holds_the_gradients_in_a_box(T, boxed):
    alive = []

    def backward(ctx, *gs):
        gradients = gs[0] if boxed else list(gs)
        del gs
        refs = [weakref.ref(g) for g in gradients]
        result = gradients[0] * 2
        gradients.clear()
        alive.extend([ref() is not None for ref in refs])
        return result

    Fn = function(T, lambda ctx, x: (x * 2, x * 3), backward, boxed_grads_call=boxed)
    a, b = Fn.apply(leaf(T))
    (a.sin() + b.cos()).sum().backward()
    assert alive == [not boxed] * 2


@MODULES
@pytest.mark.parametrize("cleared", [True, False])
def test_what_is_cleared_on_access_can_die_before_backward_ends(T, cleared):
    alive = []

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        ref = weakref.ref(x)
        result = g * x
        del x
        alive.append(ref() is not None)
        return result

    Fn = function(T, lambda ctx, x: (y := x * 1, ctx.save_for_backward(y), y.clone())[2], backward,
                  clear_saved_tensors_on_access=cleared)
    with no_collector():
        Fn.apply(leaf(T)).sum().backward()
    assert alive == [not cleared]
