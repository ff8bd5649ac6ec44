"""Graph nodes and `GradientEdge`."""

from __future__ import annotations

from inventory import collect, leaf, names, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


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


@parity(PROGRAMS)
def test_program(program):
    same(program)
