"""autograd.Function: every program runs on torch and on whygrad and must show the same."""

import gc
import weakref

import pytest
import torch
from parity import collect, parity, same

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def function(torch, forward, backward=None, name="F", **members):
    """A Function from plain functions."""
    members["forward"] = staticmethod(forward)
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type(name, (torch.autograd.Function,), members)


def leaf(torch, *values):
    return torch.tensor(values or [1.0, 2.0], requires_grad=True)


def double(ctx, a):
    return a * 2


def same_gradient(ctx, g):
    return g


@program
def forward_and_backward(torch):
    def forward(ctx, x, y, k):
        ctx.save_for_backward(x, y, None)
        ctx.k = k
        return x * y * k

    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        assert nothing is None
        return g * y * ctx.k, g * x * ctx.k, None

    x, y = leaf(torch), leaf(torch, 3.0, 5.0)
    out = function(torch, forward, backward).apply(x, y, 2)
    first = torch.autograd.grad(out.sum(), [x, y], create_graph=True)
    return out, first, torch.autograd.grad(first[0].sum() + (first[1] * first[1]).sum(), [x, y])


@program
def vjp_instead_of_backward(torch):
    x = leaf(torch)
    function(torch, double, vjp=staticmethod(lambda ctx, g: g * 5)).apply(x).sum().backward()
    return x.grad


@program
def both_vjp_and_backward(torch):
    function(torch, double, same_gradient, vjp=staticmethod(same_gradient)).apply(leaf(torch)).sum().backward()


@program
def separate_context(torch):
    seen = []

    def forward(x, k=2):
        seen.append(torch.is_grad_enabled())
        return x * k

    def setup_context(ctx, inputs, output):
        seen.append((len(inputs), inputs[1], torch.is_grad_enabled(), ctx.needs_input_grad))
        ctx.save_for_backward(inputs[0], output)
        ctx.k = inputs[1]

    def backward(ctx, g):
        x, out = ctx.saved_tensors
        seen.append((x, out))
        return g * ctx.k, None

    F = function(torch, forward, backward, setup_context=staticmethod(setup_context))
    x = leaf(torch)
    out = F.apply(k=3, x=x)
    out.sum().backward()
    return seen, out, F.apply(x), x.grad


@program
def class_methods(torch):
    class F(torch.autograd.Function):
        @classmethod
        def forward(cls, ctx, x):
            ctx.name_of_class = cls.__name__
            return x * 2

        @classmethod
        def backward(cls, ctx, g):
            return g * len(ctx.name_of_class + cls.__name__)

    x = leaf(torch)
    out = F.apply(x)
    out.sum().backward()
    return x.grad, out.grad_fn.name_of_class


def keyword_program(*args, **kwargs):
    def run(torch):
        seen = []

        def forward(ctx, x, k=2, j=3):
            seen.append((k, j, ctx.needs_input_grad))
            return x * k

        x = leaf(torch)
        given = {key: x if value is leaf else value for key, value in kwargs.items()}
        F = function(torch, forward, lambda ctx, g: (g, None, None))
        out = F.apply(*[x if a is leaf else a for a in args], **given)
        out.sum().backward()
        return seen, x.grad

    run.__name__ = "keywords_" + "_".join([str(a) if a is not leaf else "x" for a in args] + list(kwargs))
    return run


PROGRAMS += [keyword_program(leaf), keyword_program(leaf, k=5), keyword_program(leaf, j=5, k=4),
             keyword_program(k=5, x=leaf), keyword_program(leaf, j=5), keyword_program(k=5),
             keyword_program(leaf, bad=1), keyword_program(leaf, x=1)]


@program
def keywords_only(torch):
    def forward(x, *, k=2):
        return x * k

    F = function(torch, forward, same_gradient, setup_context=staticmethod(lambda ctx, i, o: None))
    return F.apply(leaf(torch), k=3)


@program
def keywords_unknown_to_forward(torch):
    F = function(torch, lambda x: x * 2, same_gradient, setup_context=staticmethod(lambda ctx, i, o: None))
    return F.apply(leaf(torch), bad=3)


@program
def outputs_of_any_kind(torch):
    seen = []

    def backward(ctx, *gradients):
        seen.extend(gradients)
        return gradients[0]

    x = leaf(torch)
    out = function(torch, lambda ctx, a: (a * 2, 3, a * 4, None, (a * 2).long(), "text"), backward).apply(x)
    out[0].sum().backward()
    return out, seen, x.grad, out[2].output_nr, out[0].grad_fn is out[2].grad_fn


@program
def a_list_is_one_output(torch):
    return function(torch, lambda ctx, a: [a * 2, 3], same_gradient).apply(leaf(torch))


@program
def no_outputs(torch):
    return function(torch, lambda ctx, a: (), same_gradient).apply(leaf(torch)), function(
        torch, lambda ctx, a: 5, same_gradient).apply(leaf(torch))


@program
def arguments_of_any_kind(torch):
    def forward(ctx, a, text, pair, b):
        return a * pair[0] * b

    x = leaf(torch)
    F = function(torch, forward, lambda ctx, g: (g, None, None, g * 7))
    out = F.apply(x, "text", [x], torch.tensor([1.0, 1.0]))
    out.sum().backward()
    return x.grad, out.grad_fn.next_functions, out.grad_fn.needs_input_grad


@program
def extra_nones_are_accepted(torch):
    x = leaf(torch)
    function(torch, double, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    return x.grad


def backward_gives(name, value, *arguments):
    """A program whose backward gives something odd."""
    def run(torch):
        x = leaf(torch)
        out = function(torch, lambda ctx, a, *more: a * 2, lambda ctx, g: value(torch, g)).apply(x, *arguments)
        out.sum().backward()
        return x.grad

    run.__name__ = f"backward_gives_{name}"
    return run


PROGRAMS += [
    backward_gives("too_few", lambda torch, g: g, 3),
    backward_gives("too_many", lambda torch, g: (g, g)),
    backward_gives("one_for_a_number", lambda torch, g: (g, g), 3),
    backward_gives("a_number", lambda torch, g: 3.0),
    backward_gives("a_list", lambda torch, g: [g]),
    backward_gives("nothing", lambda torch, g: None),
    backward_gives("a_wrong_shape", lambda torch, g: torch.ones(3)),
    backward_gives("a_smaller_shape", lambda torch, g: torch.ones(1)),
    backward_gives("a_larger_shape", lambda torch, g: torch.ones(3, 2)),
    backward_gives("integers", lambda torch, g: torch.ones(2).long()),
    backward_gives("doubles", lambda torch, g: torch.ones(2).double()),
    backward_gives("complex", lambda torch, g: torch.ones(2, dtype=torch.complex64)),
]


@program
def a_gradient_nobody_needs_is_not_checked(torch):
    x = leaf(torch)
    F = function(torch, lambda ctx, a, b: a * 2, lambda ctx, g: (g, torch.ones(7)))
    F.apply(x, torch.ones(2)).sum().backward()
    return x.grad


@program
def missing_gradients_reach_hooks_and_become_zeros(torch):
    log = []
    stop = function(torch, double, lambda ctx, g: None, "Stop")
    through = function(torch, double, lambda ctx, g: (log.append(("backward", g)), g)[1], "Through")
    x = leaf(torch)
    y = through.apply(x)
    h = y * 2
    y.register_hook(lambda g: log.append(("tensor", g)))
    h.register_hook(lambda g: log.append(("tensor", g)))
    h.grad_fn.register_prehook(lambda g: log.append(("pre", g)))
    h.grad_fn.register_hook(lambda i, o: log.append(("post", i, o)))
    stop.apply(h).sum().backward()
    return log, x.grad


@program
def a_missing_gradient_cannot_be_replaced(torch):
    y = leaf(torch) * 2
    y.register_hook(lambda g: torch.ones(2))
    function(torch, double, lambda ctx, g: None).apply(y).sum().backward()


@program
def materialize_grads(torch):
    seen = []

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3, (a * 2).long()

    def backward(ctx, *gradients):
        seen.extend(gradients)
        return gradients[0]

    function(torch, forward, backward).apply(leaf(torch))[0].sum().backward()
    return seen


@program
def set_materialize_grads_wants_a_bool(torch):
    return function(torch, lambda ctx, a: (ctx.set_materialize_grads(3), a * 2)[1], same_gradient).apply(leaf(torch))


@program
def non_differentiable_outputs(torch):
    seen = []

    def forward(ctx, a):
        b, c = a * 2, a * 3
        ctx.mark_non_differentiable(c)
        return b, c

    def backward(ctx, g, h):
        seen.append((g, h))
        return g

    b, c = function(torch, forward, backward).apply(leaf(torch))
    b.sum().backward()
    return b, c, seen


@program
def non_differentiable_input(torch):
    def forward(ctx, a):
        ctx.mark_non_differentiable(a)
        return a

    x = leaf(torch)
    out = function(torch, forward, same_gradient).apply(x)
    return out is x, out, out._is_view()


def marked(name, mark, tracked=True):
    def run(torch):
        def forward(ctx, a):
            mark(ctx, a)
            return a * 2

        a = leaf(torch) * 1 if tracked else torch.ones(2)
        out = function(torch, forward, same_gradient).apply(a)
        return out, a._version

    run.__name__ = name
    return run


PROGRAMS += [
    marked("save_a_number", lambda ctx, a: ctx.save_for_backward(3)),
    marked("save_a_number_untracked", lambda ctx, a: ctx.save_for_backward(3), tracked=False),
    marked("mark_a_number_dirty", lambda ctx, a: ctx.mark_dirty(3)),
    marked("mark_a_number_non_differentiable", lambda ctx, a: ctx.mark_non_differentiable(3)),
    marked("dirty_but_not_returned", lambda ctx, a: ctx.mark_dirty(a)),
    marked("mark_something_else_non_differentiable", lambda ctx, a: ctx.mark_non_differentiable(a * 2)),
]


def in_place(torch):
    def forward(ctx, a, *more):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a

    return function(torch, forward, lambda ctx, g, *more: (g * 7, None)[:1])


@program
def in_place_on_a_leaf(torch):
    return in_place(torch).apply(leaf(torch))


@program
def in_place_on_a_leaf_without_grad_mode(torch):
    x = leaf(torch)
    with torch.no_grad():
        out = in_place(torch).apply(x)
    return out is x, out, x, x._version, out._is_view()


@program
def in_place_on_an_untracked_tensor(torch):
    a = torch.ones(2)
    out = in_place(torch).apply(a)
    return out is a, out, a._version


@program
def in_place_on_a_result(torch):
    x = leaf(torch)
    a = x * 1
    out = in_place(torch).apply(a)
    (out * 3).sum().backward()
    return out is a, a, a._version, x.grad, a.grad_fn.next_functions


@program
def in_place_with_a_tracked_argument(torch):
    def forward(ctx, a, w):
        a.mul_(w)
        ctx.mark_dirty(a)
        return a

    x, a = leaf(torch), torch.ones(2)
    out = function(torch, forward, lambda ctx, g: (None, g * 5)).apply(a, x)
    a.sum().backward()
    return out is a, a, x.grad


@program
def in_place_on_a_view(torch):
    x = leaf(torch)
    base = x * 1
    view = base[:1]
    out = in_place(torch).apply(view)
    (base * 3).sum().backward()
    return out is view, view, base, x.grad, base.grad_fn.next_functions, base.grad_fn.name()


@program
def in_place_on_a_view_of_a_leaf(torch):
    return in_place(torch).apply(leaf(torch)[:1])


@program
def in_place_on_a_view_with_two_outputs(torch):
    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a, a * 1

    return function(torch, forward, lambda ctx, g, h: g).apply((leaf(torch) * 1)[:1])


@program
def in_place_returned_twice(torch):
    def forward(ctx, a):
        ctx.mark_dirty(a.add_(1))
        return a, a

    x = leaf(torch)
    y = x * 1
    a, b = function(torch, forward, lambda ctx, g, h: g + h).apply(y)
    (a * 2 + b * 3).sum().backward()
    return a is b, a is y, a.output_nr, x.grad


@program
def in_place_on_two(torch):
    def forward(ctx, a, b):
        ctx.mark_dirty(a, b)
        return a.add_(1), b.mul_(2)

    x, w = leaf(torch), leaf(torch)
    a, b = function(torch, forward, lambda ctx, g, h: (g * 10, h * 100)).apply(x * 1, w * 1)
    (a * b).sum().backward()
    return a, b, x.grad, w.grad


@program
def in_place_with_a_separate_context(torch):
    F = function(torch, lambda a: a.add_(1), lambda ctx, g: g * 3,
                 setup_context=staticmethod(lambda ctx, inputs, output: ctx.mark_dirty(inputs[0])))
    x = leaf(torch)
    y = x * 1
    out = F.apply(y)
    out.sum().backward()
    return out is y, x.grad


@program
def in_place_result_saved(torch):
    def forward(ctx, a):
        ctx.mark_dirty(a.exp_())
        ctx.save_for_backward(a)
        return a

    x = leaf(torch)
    out = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x * 1)
    first, = torch.autograd.grad(out.sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


@program
def in_place_on_a_value_that_is_saved_elsewhere(torch):
    y = leaf(torch) * 1
    z = y * y
    in_place(torch).apply(y)
    z.sum().backward()


@program
def an_input_returned_and_saved_in_a_separate_context(torch):
    F = function(torch, lambda a: a, same_gradient,
                 setup_context=staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(inputs[0])))
    return F.apply(leaf(torch))


def returns_its_input(torch, mark):
    """Saves what it returns as it is; the second output may be without gradient."""
    def setup_context(ctx, inputs, output):
        if mark:
            ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0])

    return function(torch, lambda a: (a * a, a), lambda ctx, g, h: g * ctx.saved_tensors[0] * 2,
                    setup_context=staticmethod(setup_context))


@program
def an_input_without_gradient_returned_and_saved_in_a_separate_context(torch):
    return returns_its_input(torch, False).apply(torch.ones(2))


@program
def a_marked_input_returned_and_saved_in_a_separate_context(torch):
    x = leaf(torch)
    y, same = returns_its_input(torch, True).apply(x)
    y.sum().backward()
    return x.grad, same, same._is_view()


@program
def a_marked_input_returned_and_saved_in_a_transform(torch):
    return torch.func.grad(lambda x: returns_its_input(torch, True).apply(x)[0].sum())(torch.ones(2))


@program
def nothing_saved_and_nothing_returned(torch):
    def forward(ctx, a):
        ctx.save_for_backward(None)
        return a * 2, None

    x = leaf(torch)
    y, nothing = function(torch, forward, lambda ctx, g, h: g * len(ctx.saved_tensors)).apply(x)
    y.sum().backward()
    return x.grad, nothing


@program
def once_differentiable_of_two(torch):
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g * ctx.saved_tensors[1], None, g * ctx.saved_tensors[0]

    def forward(ctx, a, number, b):
        ctx.save_for_backward(a, b)
        return a * b

    x, w = leaf(torch), leaf(torch)
    out = function(torch, forward, backward).apply(x, 3, w)
    first = torch.autograd.grad(out, [x, w], torch.ones(2, requires_grad=True), create_graph=True)
    return first, [g.output_nr for g in first], first[0].grad_fn.next_functions, first[1].sum().backward()


@program
def dirty_but_no_input(torch):
    def forward(ctx, a):
        b = a * 2
        ctx.mark_dirty(b)
        return b

    out = function(torch, forward, same_gradient).apply(leaf(torch))
    return out, out._version


@program
def an_input_returned_as_it_is(torch):
    x, plain = leaf(torch), torch.ones(2)
    F = function(torch, lambda ctx, a: a, lambda ctx, g: g * 3)
    out, other = F.apply(x), F.apply(plain)
    with torch.no_grad():
        unrecorded = F.apply(x)
    out.sum().backward()
    return (out is x, out, out._is_view(), out._base is x, other is plain, other._is_view(), unrecorded is x,
            unrecorded, unrecorded._is_view(), x.grad, x.is_leaf)


@program
def an_input_returned_as_it_is_then_changed(torch):
    function(torch, lambda ctx, a: a, same_gradient).apply(leaf(torch) * 1).mul_(2)


@program
def an_input_returned_twice(torch):
    x = leaf(torch)
    a, b = function(torch, lambda ctx, a: (a, a), lambda ctx, g, h: g * 3 + h).apply(x * 1)
    torch.autograd.backward([a.sum(), b.sum()])
    return a is b, a.output_nr, b.output_nr, x.grad, a.mul_(2)


@program
def one_output_returned_twice(torch):
    def forward(ctx, a):
        b = a * 2
        return b, b

    seen = []
    x = leaf(torch)
    a, b = function(torch, forward, lambda ctx, g, h: (seen.append((g, h)), g * 3 + h)[1]).apply(x)
    (a + b * 5).sum().backward()
    return a is b, a.output_nr, seen, x.grad


@program
def a_view_of_the_input(torch):
    x = leaf(torch)
    a = x * 1
    out = function(torch, lambda ctx, a: a.view(2, 1), lambda ctx, g: g.view(2) * 5).apply(a)
    (out * 2).sum().backward()
    return out, out._is_view(), out._base is a, x.grad, out.mul_(2)


@program
def a_view_of_something_made_inside(torch):
    x = leaf(torch)
    out = function(torch, lambda ctx, a: (a * 2).view(2, 1), lambda ctx, g: g.view(2) * 5).apply(x)
    out.sum().backward()
    return out, x.grad, out.mul_(2)


@program
def saved_values_keep_their_identity(torch):
    kept, log = {}, []

    def forward(ctx, a):
        out, inside = a * 2, a + 1
        kept.update(a=a, inside=inside)
        ctx.save_for_backward(a, out, inside)
        return out

    def backward(ctx, g):
        a, out, inside = ctx.saved_tensors
        log.append((a is kept["a"], out is kept["out"], out, inside is kept["inside"], out.grad_fn is ctx,
                    ctx.saved_tensors[1] is out))
        return g

    for a in (leaf(torch), leaf(torch) * 1):
        kept["out"] = function(torch, forward, backward).apply(a)
        kept["out"].sum().backward()
    return log


@program
def a_saved_input_was_changed(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    a = leaf(torch) * 1
    out = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0], "MyFunc").apply(a)
    a.add_(1)
    out.sum().backward()


@program
def a_saved_output_was_changed(torch):
    def forward(ctx, a):
        out = a * 2
        ctx.save_for_backward(out)
        return out

    out = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0], "MyFunc").apply(leaf(torch))
    total = out.sum()
    out.add_(1)
    total.backward()


@program
def a_saved_plain_tensor_was_changed(torch):
    a = torch.ones(2, 3)

    def forward(ctx, x):
        ctx.save_for_backward(a)
        return x * 2

    out = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0].sum()).apply(leaf(torch))
    a.add_(1)
    out.sum().backward()


@program
def saved_values_are_freed(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    out = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(torch)).sum()
    out.backward()
    out.backward()


@program
def saved_values_are_freed_for_the_ctx_too(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    out = function(torch, forward, same_gradient).apply(leaf(torch))
    before = out.grad_fn.saved_tensors
    out.sum().backward()
    return before, out.grad_fn.saved_tensors


@program
def nothing_saved_may_run_twice(torch):
    x = leaf(torch)
    out = function(torch, double, same_gradient).apply(x).sum()
    out.backward()
    out.backward()
    return x.grad


@program
def saved_variables_is_deprecated(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    x = leaf(torch)
    function(torch, forward, lambda ctx, g: g * ctx.saved_variables[0]).apply(x).sum().backward()
    return x.grad


@program
def cleared_on_access(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    function(torch, forward, backward, clear_saved_tensors_on_access=True).apply(leaf(torch)).sum().backward()


@program
def boxed_gradients(torch):
    seen = []

    def backward(ctx, gradients):
        seen.append(list(gradients))
        first = gradients.pop(0)
        return first * 5

    x = leaf(torch)
    function(torch, lambda ctx, a: (a * 2, a * 3), backward, boxed_grads_call=True).apply(x)[0].sum().backward()
    return seen, x.grad


@program
def once_differentiable(torch):
    seen = []

    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return a * a * b

    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        seen.append(torch.is_grad_enabled())
        return g * ctx.saved_tensors[0], None

    x, w = leaf(torch), leaf(torch)
    out = function(torch, forward, backward).apply(x, torch.ones(2))
    first, = torch.autograd.grad(out, x, torch.ones(2), create_graph=True)
    second, = torch.autograd.grad(out, x, w, create_graph=True)
    node = second.grad_fn
    return seen, first, second, type(node).__name__, node.name(), node.next_functions, second.sum().backward()


@program
def the_graph_of_a_gradient(torch):
    def forward(ctx, a, number, b):
        ctx.number = number
        ctx.save_for_backward(a, b)
        return a + b * number + a * b

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g + g * b, None, g * ctx.number + g * a

    def shape(node):
        return None if node is None else (type(node).__name__, *[shape(next_) for next_, _ in node.next_functions])

    a, b = torch.ones(5, 5, requires_grad=True), torch.ones(5, 5, requires_grad=True)
    function(torch, forward, backward).apply(a, 2, b).sum().backward(create_graph=True)
    return shape(a.grad.grad_fn), shape(b.grad.grad_fn)


@program
def instances_are_of_no_use(torch):
    F = function(torch, double, same_gradient, "Id", __module__="__main__")
    return F()(leaf(torch))


@program
def no_forward(torch):
    return type("Empty", (torch.autograd.Function,), {}).apply(leaf(torch))


@program
def no_backward(torch):
    function(torch, double).apply(leaf(torch)).sum().backward()


@program
def an_error_in_backward(torch):
    def backward(ctx, g):
        raise KeyError("mine")

    function(torch, double, backward).apply(leaf(torch)).sum().backward()


@program
def a_graph_inside_forward_is_hidden(torch):
    def forward(ctx, a):
        with torch.enable_grad():
            return a * 2

    x = leaf(torch)
    out = function(torch, forward, lambda ctx, g: g * 100).apply(x)
    out.sum().backward()
    return out, x.grad


@program
def the_ctx_is_the_node(torch):
    kept = []

    def forward(ctx, a):
        kept.append(ctx)
        ctx.shapes, ctx.saved, ctx.edges, ctx.extra, ctx.graph, ctx.static = 1, 2, 3, 4, 5, 6
        ctx.to_keep = "text"
        return a * 2

    F = function(torch, forward, lambda ctx, g: g * (ctx.shapes + ctx.saved + ctx.edges), "MyFunc")
    x = leaf(torch)
    out = F.apply(x)
    node = out.grad_fn
    node.later = 3
    out.sum().backward()
    return (node is kept[0], out.grad_fn is node, node.to_keep, node.later, node.name(), type(node).__name__,
            type(node) is F._backward_cls, node._forward_cls is F, type(node).__module__, node.metadata,
            node.next_functions, isinstance(node, torch.autograd.graph.Node),
            isinstance(node, torch.autograd.function.BackwardCFunction),
            repr(node).split(" at ")[0], node.apply(torch.ones(2)), repr(out), x.grad, hasattr(node, "nothing"))


@program
def the_ctx_inside_forward(torch):
    seen = []

    def forward(ctx, a, b):
        seen.extend([ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable, ctx.saved_tensors, ctx.next_functions,
                     ctx.name(), ctx.metadata, ctx.needs_input_grad])
        ctx.save_for_backward(a)
        seen.append(ctx.to_save)
        return a * 2

    out = function(torch, forward, same_gradient).apply(leaf(torch), leaf(torch) * 2)
    return seen, out.grad_fn.to_save


@program
def needs_input_grad_decides(torch):
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None

    x = leaf(torch)
    F = function(torch, forward, backward)
    F.apply(x, torch.ones(2)).sum().backward()
    with torch.no_grad():
        unrecorded = F.apply(x, x)
    return x.grad, unrecorded


@program
def a_function_in_a_function(torch):
    inner = function(torch, double, lambda ctx, g: g * 2, "Inner")
    outer = function(torch, lambda ctx, a: inner.apply(a) * 3, lambda ctx, g: inner.apply(g) * 3, "Outer")
    x = leaf(torch)
    out = outer.apply(x)
    first, = torch.autograd.grad(out, x, torch.ones(2, requires_grad=True), create_graph=True)
    return out, first


@program
def the_gradient_flows_on_a_double_input(torch):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    function(torch, lambda ctx, a: (a * 2).float(), lambda ctx, g: g * 3).apply(x).sum().backward()
    return x.grad


@program
def complex_gradients_are_torchs(torch):
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    def backward(ctx, g):
        z, = ctx.saved_tensors
        return g * (z * 2).conj()

    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    out = function(torch, forward, backward).apply(z)
    (out * out.conj()).sum().backward(torch.tensor(1 + 0j))
    return z.grad


@program
def a_non_leaf_saved_and_detached(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    a = leaf(torch) * 1
    out = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(a)
    a.detach_()
    out.sum().backward()


@parity(PROGRAMS)
def test_function(program):
    same(program)


@pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])
def test_no_reference_cycle(module):
    """The graph of a Function dies with its result, without the garbage collector."""
    def forward(ctx, a):
        out = a * 2
        ctx.save_for_backward(a, out)
        ctx.token = tokens.pop()
        return out

    class Token:
        pass

    tokens = [Token()]
    alive = weakref.ref(tokens[0])
    gc.disable()
    try:
        out = function(module, forward, same_gradient).apply(leaf(module))
        assert alive() is not None
        del out
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])
def test_an_error_in_backward_shows_the_users_line(module):
    def backward(ctx, g):
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        function(module, double, backward).apply(leaf(module)).sum().backward()
    assert "backward" in [entry.name for entry in caught.traceback]
    assert caught.traceback[-1].path.name == "test_function.py"


def test_a_node_knows_its_class_and_line():
    F = function(whygrad, double, same_gradient)
    out = F.apply(leaf(whygrad))
    node = out.grad_fn._itself()
    code, _ = node.site
    assert code.co_name == "test_a_node_knows_its_class_and_line"
    assert node.ctx._forward_cls is F


def test_a_value_made_in_forward_knows_why_it_has_no_history():
    kept = []
    F = function(whygrad, lambda ctx, a: (kept.append(a * 2), a * 3)[1], same_gradient)
    F.apply(leaf(whygrad))
    assert [(cause.kind, cause.detail) for cause in kept[0]._cause] == [("grad-mode-off", "F.forward")]
