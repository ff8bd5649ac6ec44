"""grad_fn as torch's users see it: names, next_functions, metadata, calling a node, GradientEdge, saved values."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch
from parity import collect, leaf, names, parity, same, short_leaf, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def swap(torch):
    class Swap(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return b * 1, a * 1

        @staticmethod
        def backward(ctx, g, h):
            return h, g

    return Swap


@program
def names_and_neighbours(torch):
    x = short_leaf(torch)
    y = x * 2
    z = (y * y.exp()).sum()
    node = z.grad_fn
    seen = []
    while node is not None:
        seen.append((type(node).__name__, node.name(), node.next_functions))
        node = node.next_functions[0][0] if node.next_functions else None
    return (seen, x.grad_fn, torch.ones(2).grad_fn, y.grad_fn is y.grad_fn, y.grad_fn == y.grad_fn,
            {y.grad_fn: 1}[y.grad_fn])


@program
def scalars_and_constants_have_no_neighbour(torch):
    x = short_leaf(torch)
    return [(x * 2).grad_fn.next_functions, (x + 2).grad_fn.next_functions, (x * torch.ones(2)).grad_fn.next_functions,
            (torch.ones(2) * x).grad_fn.next_functions]


@program
def accumulate_grad(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    y, z = x * w, x + 1
    a, b = y.grad_fn.next_functions[0][0], z.grad_fn.next_functions[0][0]
    return (a is b, a.variable is x, a.name(), a.next_functions, a._sequence_nr(), a.metadata, repr(a).split(" at ")[0],
            y.grad_fn.next_functions[1][0].variable is w)


@program
def a_promoted_argument_is_not_seen(torch):
    x = short_leaf(torch)
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y = (x * 2) * w
    y.sum().backward()
    return y.dtype, y.grad_fn.next_functions, x.grad, w.grad


@program
def metadata(torch):
    y = short_leaf(torch) * 2
    y.grad_fn.metadata["key"] = "value"
    return y.grad_fn.metadata, (y * 2).grad_fn.metadata


@program
def nodes_take_no_attributes(torch):
    (short_leaf(torch) * 2).grad_fn.foo = 1


@program
def unknown_attributes(torch):
    return (short_leaf(torch) * 2).grad_fn.foo


@program
def sequence_numbers_count_up(torch):
    x = short_leaf(torch)
    a = x * 2
    b = a * 2
    c = x.exp()
    return [n.grad_fn._sequence_nr() - a.grad_fn._sequence_nr() for n in (a, b, c)]


@program
def output_numbers(torch):
    a, b = short_leaf(torch).unbind()
    c, d = swap(torch).apply(a, b)
    return (a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, c.output_nr, d.output_nr, (c * d).grad_fn.next_functions,
            short_leaf(torch).output_nr)


@program
def isinstance_and_issubclass(torch):
    Node = torch.autograd.graph.Node
    y = short_leaf(torch) * 2
    node, accumulate = y.grad_fn, y.grad_fn.next_functions[0][0]
    F = swap(torch)
    ctx = F.apply(y, y)[0].grad_fn
    return ([isinstance(n, Node) for n in (node, accumulate, ctx, 3, y)],
            [issubclass(c, Node) for c in (type(node), type(accumulate), type(ctx), F, int, Node)],
            issubclass(torch.autograd.function.BackwardCFunction, Node),
            issubclass(torch.autograd.function.FunctionCtx, Node),
            [Node in c.__mro__ for c in (type(node), type(ctx))])


def call(name, run):
    def program(torch):
        return run(torch, short_leaf(torch))

    program.__name__ = f"call_{name}"
    return program


PROGRAMS += [
    call("mul", lambda torch, x: (x * x).grad_fn(torch.ones(2))),
    call("mul_with_two", lambda torch, x: (x * x).grad_fn(torch.ones(2), torch.ones(2))),
    call("mul_with_none", lambda torch, x: (x * x).grad_fn(None)),
    call("mul_with_a_number", lambda torch, x: (x * x).grad_fn(3)),
    call("sum", lambda torch, x: x.sum().grad_fn(torch.ones(()))),
    call("with_keywords", lambda torch, x: x.sum().grad_fn(g=torch.ones(()))),
    call("unbind", lambda torch, x: x.unbind()[0].grad_fn(torch.ones(()), None)),
    call("a_ctx", lambda torch, x: swap(torch).apply(x, x)[0].grad_fn.apply(torch.ones(2), torch.zeros(2))),
]


@program
def call_without_grad_mode(torch):
    y = short_leaf(torch) * 3
    with torch.no_grad():
        return y.grad_fn(torch.ones(2))


@program
def call_accumulate_grad(torch):
    x = short_leaf(torch)
    node = x.sum().grad_fn.next_functions[0][0]
    result = node(torch.ones(2))
    with torch.no_grad():
        node(torch.ones(2) * 2)
    return result, x.grad


@program
def call_accumulates_no_hooks(torch):
    log = []
    y = short_leaf(torch) * 2
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_hook(lambda i, o: log.append("node"))
    y.grad_fn(torch.ones(2))
    return log


@program
def edges_as_inputs(torch):
    x = short_leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge
    z = (y * y).sum()
    return (torch.autograd.grad(z, [edge(y), x], retain_graph=True), torch.autograd.grad(z, edge(x), retain_graph=True),
            torch.autograd.grad(z, {"e": edge(y)}, retain_graph=True), edge(x).node.variable is x,
            edge(y).node is y.grad_fn, edge(y).output_nr, len(edge(y)))


@program
def edges_as_outputs(torch):
    x = short_leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    scalar = torch.autograd.graph.get_gradient_edge((y * y).sum())
    first = torch.autograd.grad(edge, x, torch.ones(2), retain_graph=True)
    torch.autograd.backward(scalar, retain_graph=True)
    torch.autograd.backward([edge], [torch.ones(2)])
    return first, x.grad


@program
def edges_outlive_their_tensor(torch):
    x = short_leaf(torch)
    y = swap(torch).apply(x * 2, x * 3)[1]
    edge = torch.autograd.graph.get_gradient_edge(y)
    del y
    gc.collect()
    return torch.autograd.grad(edge, x, torch.ones(2)), edge.output_nr


@program
def edges_of_several_outputs(torch):
    x = short_leaf(torch)
    a, b = (x * 2).unbind()
    edge = torch.autograd.graph.GradientEdge(a.grad_fn, 1)
    return torch.autograd.grad(a * b, [edge, x])


@program
def edges_taken_before_an_in_place_change(torch):
    x = short_leaf(torch)
    y = x * 2
    before = torch.autograd.graph.get_gradient_edge(y)
    y.mul_(3)
    after = torch.autograd.graph.get_gradient_edge(y)
    return torch.autograd.grad(y.sum(), [before, after, x])


def edge_error(name, run):
    def program(torch):
        x = short_leaf(torch)
        return run(torch, x, torch.autograd.graph.get_gradient_edge(x * 2))

    program.__name__ = f"edge_{name}"
    return program


PROGRAMS += [
    edge_error("needs_a_scalar", lambda torch, x, e: torch.autograd.grad(e, x)),
    edge_error("has_another_shape", lambda torch, x, e: torch.autograd.grad(e, x, torch.ones(3))),
    edge_error("has_another_dtype",
               lambda torch, x, e: torch.autograd.grad(e, x, torch.ones(2, dtype=torch.complex64))),
    edge_error("is_not_used", lambda torch, x, e: torch.autograd.grad(x.sum(), e)),
    edge_error("cannot_be_materialized", lambda torch, x, e: torch.autograd.grad(x.sum(), e, materialize_grads=True)),
    edge_error("of_an_untracked_tensor", lambda torch, x, e: torch.autograd.graph.get_gradient_edge(torch.ones(2))),
    edge_error("of_a_number", lambda torch, x, e: torch.autograd.graph.get_gradient_edge(3)),
    edge_error("not_a_node", lambda torch, x, e: torch.autograd.grad(x.sum(), [e.node])),
]


@program
def backward_with_edges(torch):
    x = short_leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge
    (y * y).sum().backward(inputs=[edge(y)], retain_graph=True)
    first = x.grad
    (y * y).sum().backward(inputs=edge(x))
    return first, x.grad, y.retains_grad


@program
def increment_version(torch):
    a, b = torch.ones(2), torch.ones(2)
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, b])
    x = short_leaf(torch)
    y = (x * a).sum()
    torch.autograd.graph.increment_version(a)
    return a._version, b._version, y.backward()


@program
def saved_values(torch):
    x, w = short_leaf(torch), short_leaf(torch, 3.0, 4.0)
    product, exponential, total = x * w, x.exp(), x.sum(0, keepdim=True)
    return (product.grad_fn._saved_self is x, product.grad_fn._saved_other is w, exponential.grad_fn._saved_result,
            exponential.grad_fn._saved_result is exponential,
            exponential.grad_fn._saved_result.grad_fn is exponential.grad_fn,
            total.grad_fn._saved_dim, total.grad_fn._saved_keepdim, total.grad_fn._saved_self_sym_sizes,
            (x * 2).grad_fn._saved_self, (x * 2).grad_fn._saved_other, (x ** 3).grad_fn._saved_exponent)


@program
def saved_values_that_do_not_exist(torch):
    return (short_leaf(torch) * 2).grad_fn._saved_nothing


@program
def saved_values_after_backward(torch):
    x = short_leaf(torch)
    y = x * x
    y.sum().backward()
    return y.grad_fn._saved_self


@program
def raw_saved_values(torch):
    x = short_leaf(torch)
    y = x * x
    log = []
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: (log.append(("pack", t)), t * 2)[1], lambda t: (log.append("unpack"), t)[1])
    y.sum().backward()
    return log, x.grad, type(saved).__name__


@program
def raw_saved_values_twice(torch):
    y = short_leaf(torch).exp()
    saved = y.grad_fn._raw_saved_result
    saved.register_hooks(lambda t: t, lambda t: t)
    saved.register_hooks(lambda t: t, lambda t: t)


@program
def raw_saved_values_after_backward(torch):
    y = short_leaf(torch).exp()
    saved = y.grad_fn._raw_saved_result
    y.sum().backward()
    saved.register_hooks(lambda t: t, lambda t: t)


@program
def raw_saved_values_of_nothing(torch):
    y = short_leaf(torch) * 2
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


@program
def a_saved_tensor_is_not_made_by_hand(torch):
    torch.autograd.SavedTensor()


def test_nodes_live_as_long_as_they_are_held():
    x = short_leaf(whygrad)
    y = x * 2
    node = y.grad_fn
    alive = weakref.ref(node)
    del y
    assert node.next_functions[0][0].variable is x
    del node
    assert alive() is None


def test_an_accumulate_grad_looked_at_lives_with_the_graph():
    """As in torch, its hooks work although nobody else holds it, and are gone with the graph."""
    for module in (torch, whygrad):
        log = []
        x = short_leaf(module)
        y = x * 2
        y.grad_fn.next_functions[0][0].register_hook(lambda i, o, log=log: log.append("called"))
        y.sum().backward()
        del y
        (x * 2).sum().backward()
        assert log == ["called"]


@pytest.mark.parametrize("number", [0, 1])
def test_the_shape_of_an_output_is_known_where_it_matters(number):
    y = short_leaf(whygrad).unbind()[number] * 3
    assert y.grad_fn._input_metadata[0].shape == list(y.shape)
    (y * 2).grad_fn.next_functions  # noqa: B018
    with pytest.raises(NotImplementedError, match=r"tensor\.grad_fn"):
        (short_leaf(whygrad) * 2 * 2).grad_fn.next_functions[0][0]._input_metadata  # noqa: B018


@program
def next_functions(T):
    x, y = leaf(T), leaf(T)
    a = x + y
    b = a + 5
    following = a.grad_fn.next_functions
    return ([(type(node).__name__, number) for node, number in following], following[0][0] is a.grad_fn.next_functions[0][0],
            b.grad_fn.next_functions[0][0] is a.grad_fn, b.grad_fn.next_functions[1], names((b * x.exp()).grad_fn),
            a.grad_fn.name(), following[0][0].name(), following[0][0].variable is x)


@program
def metadata_and_numbers(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.metadata["a"] = 1
    first, second = x[:2].unbind()
    return y.grad_fn.metadata, x.grad_fn, x.output_nr, first.output_nr, second.output_nr, second.grad_fn is first.grad_fn


@program
def a_node_is_called_with_as_many_gradients_as_outputs(T):
    x = leaf(T)
    y = x**2
    return (told(lambda: y.grad_fn(x.detach(), x.detach())), told(lambda: y.grad_fn()), y.grad_fn(T.ones(3)),
            told(lambda: y.grad_fn(3)))


@program
def node_is_a_virtual_base(T):
    Node = T.autograd.graph.Node
    a = leaf(T)
    node = a.exp().grad_fn
    kinds = []

    class Same(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kinds.append(isinstance(ctx, Node))
            return x

        @staticmethod
        def backward(ctx, g):
            kinds.append(isinstance(ctx, Node))
            return g

    out = Same.apply(a)
    out.sum().backward()
    functions = T._C._functions
    return (isinstance(node, Node), issubclass(type(node), Node), Node in type(node).mro(), isinstance(None, Node),
            isinstance(1, Node), isinstance(Node, Node), issubclass(Node, Node), kinds,
            isinstance(node.next_functions[0][0], Node), issubclass(functions.AccumulateGrad, Node),
            isinstance(functions.AccumulateGrad, Node), issubclass(functions.DelayedError, Node),
            issubclass(T.autograd.function.BackwardCFunction, Node), isinstance(out.grad_fn, Node),
            Node in type(out.grad_fn).mro())


@program
def edges_stand_for_tensors(T):
    class Clone(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clone()

    x, seen = leaf(T), []
    for step in (lambda x: x, lambda x: x.clone(), Clone.apply, lambda x: T.var_mean(x)[1]):
        x = step(x)
        edge = T.autograd.graph.get_gradient_edge(x)
        seen.append(T.autograd.grad(x.clone().sum(), edge))
    return seen, told(lambda: T.autograd.graph.get_gradient_edge(T.ones(2)))


@program
def an_edge_taken_before_a_write(T):
    x = leaf(T).clone()
    before = T.autograd.graph.get_gradient_edge(x)
    x *= 2
    return T.autograd.grad(x.sum(), (before, x))


@program
def edges_made_by_hand(T):
    Edge = T.autograd.graph.GradientEdge
    x, y = leaf(T).clone(), leaf(T).clone()
    ex, ey = Edge(x.grad_fn, x.output_nr), Edge(y.grad_fn, y.output_nr)
    both, only = x + y, x.clone()

    def grad(out, inputs, **options):
        return T.autograd.grad(out.sum(), inputs, retain_graph=True, **options)

    for inputs in ((ex, y), (x, y), (x, ey), (ex, ey)):
        T.autograd.backward(only.sum(), inputs=inputs, retain_graph=True)
    return [grad(both, (ex, ey)), grad(only, (ex, y), materialize_grads=True), grad(only, (x, ey), allow_unused=True),
            told(lambda: grad(only, (x, ey), materialize_grads=True)), told(lambda: grad(only, ey)), x.grad, y.grad]


@program
def edges_as_roots(T):
    x = leaf(T)

    def make(reduced=True):
        between = x.sin().cos()
        between = between.sum() if reduced else between
        return between.exp().clone().sin().sum(), T.autograd.graph.get_gradient_edge(between)

    out, edge = make()
    (g,) = T.autograd.grad(out, edge)
    seen = [g, T.autograd.grad(edge, x, g)]
    seen += [told(lambda: T.autograd.grad(make(False)[1], x)), told(lambda: T.autograd.grad(make()[1], x, T.ones(4))),
             told(lambda: T.autograd.grad(make()[1], x, T.ones((), dtype=T.complex64))),
             told(lambda: T.autograd.backward(make()[1], inputs=x, grad_tensors=T.ones(4)))]
    T.autograd.backward(make()[1])
    T.autograd.backward((make()[1], make()[0]))
    return seen, x.grad, T.autograd.grad((make()[1], make()[0]), x)


@program
def an_edge_keeps_the_graph(T):
    class Clone(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clone()

    x = leaf(T, 1)
    start = x.clone()
    for make in (lambda t: t.clone(), Clone.apply):
        out = make(start)
        edge = T.autograd.graph.get_gradient_edge(out)
        T.autograd.backward(edge)
        del out
        T.autograd.backward(edge)
    return x.grad


@program
def what_a_node_says_of_its_outputs(T):
    class Same(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(T)
    var, _ = T.var_mean(T.ones(3, 4, requires_grad=True), dim=0)
    nodes = (x * x).grad_fn, var.grad_fn, Same.apply(x).grad_fn, (x * 1).exp().grad_fn
    return [[(tuple(m.shape), m.dtype, str(m.device)) for m in node._input_metadata] for node in nodes]


@program
def replaced_memory(T):
    x = leaf(T)
    edge = T.autograd.graph.get_gradient_edge(x)
    out = x.clone()
    with T.no_grad():
        x.set_(T.ones(3))
    seen = [told(lambda: T.autograd.grad(out.sum(), x, retain_graph=True)), T.autograd.grad(out.sum(), edge, retain_graph=True),
            T.autograd.grad(out.sum(), x, retain_graph=True, allow_unused=True), T.autograd.grad((x * 2).sum(), x)]
    out.sum().backward()
    return seen, x.grad


@program
def sequence_numbers(T):
    x, y, z = leaf(T), leaf(T), leaf(T)
    a, b = x + y, y + z
    c = a + b
    for t, number in ((a, 100), (b, 99), (c, 98)):
        t.grad_fn._set_sequence_nr(number)
    order = []
    for name, t in (("a", a), ("b", b), ("c", c)):
        t.register_hook(lambda g, name=name: order.append(name))
    c.sum().backward()
    return order, [t.grad_fn._sequence_nr() for t in (a, b, c)], x.grad, y.grad, z.grad


def accumulator(y):
    return y.grad_fn.next_functions[0][0]


@program
def a_leaf_has_one_node_while_a_graph_leads_to_it(T):
    x = leaf(T)
    y = x * 2
    node = accumulator(y)
    node.metadata["kept"] = True
    same = accumulator(x.exp()) is node, accumulator(x.view_as(x)) is accumulator(x.view_as(x)), node.variable is x
    facts = node.name(), node.next_functions, node._sequence_nr(), x.grad_fn, hasattr(y.grad_fn, "variable")
    y.sum().backward()
    kept = dict(accumulator(x + 1).metadata)
    del y, node
    return same, facts, kept, dict(accumulator(x + 1).metadata)


@program
def a_node_keeps_its_leaf(T):
    x = leaf(T)
    alive = weakref.ref(x)
    y = x * 2
    del x
    seen = [accumulator(y).variable is alive()]
    gc.disable()
    try:
        y.sum().backward()
        del y
        return seen, alive() is None
    finally:
        gc.enable()


@program
def hooks_of_a_node_end_with_it(T):
    x, seen = leaf(T), []
    accumulator(x.view_as(x)).register_hook(lambda *_: seen.append("gone"))
    y = x * 2
    accumulator(y).register_hook(lambda *_: seen.append("node"))
    x.register_hook(lambda g: seen.append("tensor"))
    y.sum().backward()
    del y
    (x * 3).sum().backward()
    return seen


@program
def a_leaf_without_gradient(T):
    class Nothing(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x, seen = leaf(T), []
    y = Nothing.apply(x)
    accumulator(y).register_prehook(lambda outputs: seen.append(("before", outputs)))
    accumulator(y).register_hook(lambda inputs, outputs: seen.append(("after", inputs, outputs)))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated"))
    x.register_hook(lambda g: seen.append(("tensor", g)))
    y.sum().backward()
    return seen, x.grad


@program
def switching_a_leaf_keeps_its_node(T):
    x = leaf(T)
    y = x * 2
    node = accumulator(y)
    x.requires_grad_(False).requires_grad_(True)
    seen = [accumulator(x * 3) is node]
    x.detach_().requires_grad_(True)
    seen.append(accumulator(x * 3) is node)
    x.data = T.zeros(2)
    return *seen, accumulator(x * 3) is node, T.autograd.grad(y.sum(), x)


@program
def another_dtype_or_storage_ends_it(T):
    results = []
    for change in (lambda x: setattr(x, "data", T.zeros(2, dtype=T.float64)), lambda x: x.set_(T.zeros(2))):
        x = leaf(T)
        y = x * 2
        with T.no_grad():
            change(x)
        z = x * 5
        results += [accumulator(y) is accumulator(z), accumulator(y).variable is x,
                    T.autograd.grad(y.sum() + z.sum(), x, retain_graph=True),
                    T.autograd.grad(y.sum(), x, allow_unused=True, retain_graph=True)]
        if z.dtype is y.dtype:
            (y + z).sum().backward()
            results.append(x.grad)
    return results


@program
def swapped_leaves(T):
    a, b = leaf(T), T.zeros(2, requires_grad=True)
    y = a * 2
    node = accumulator(y)
    T.utils.swap_tensors(a, b)
    seen = node.variable is b, accumulator(b * 2) is node, told(lambda: y.sum().backward())
    (a * 3).sum().backward()
    return seen, a.grad, b.grad


@program
def a_view_that_is_a_leaf(T):
    base = T.ones(3, requires_grad=True)
    with T.no_grad():
        view = base[:2]
    view.requires_grad_()
    y, z = view * 2, view * 3
    (y + z).sum().backward()
    return view.grad, base.grad, view.is_leaf, accumulator(y) is accumulator(z)


@program
def a_leaf_as_root(T):
    x = T.ones((), requires_grad=True)
    x.register_hook(lambda g: g * 3)
    x.backward()
    return x.grad, T.autograd.grad(x, x), told(lambda: T.autograd.grad(x, leaf(T)))


@program
def leaves_recorded_by_several_threads(T):
    same = []
    for _ in range(20):
        x, start, made = leaf(T), threading.Barrier(4), []

        def record(x=x, start=start, made=made):
            start.wait()
            made.append(x * 2)

        threads = [threading.Thread(target=record) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        same.append(len({id(accumulator(y)) for y in made}))
    return same


@parity(PROGRAMS)
def test_nodes(program):
    same(program)
