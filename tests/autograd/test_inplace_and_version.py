"""In-place operations and version counters."""

from __future__ import annotations

from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def what_counts_a_version(T):
    x = T.ones(4)
    seen = [x._version]

    def note(step):
        step()
        seen.append(x._version)

    view = x[1:]
    for step in (lambda: x.add_(1), lambda: view.mul_(2), lambda: x.__setitem__(0, 5.0), lambda: x.copy_(T.zeros(4)),
                 lambda: T.add(x, 1, out=x), lambda: x.zero_(), lambda: x.fill_(2), lambda: x.detach().add_(1),
                 lambda: x.data.add_(1), lambda: T.autograd.graph.increment_version(x)):
        note(step)
    with T.no_grad():
        note(lambda: x.add_(1))
    with T.inference_mode():
        note(lambda: x.add_(1))
    return seen, view._version == x._version


@program
def resizing(T):
    x, y = T.rand(1), T.randn(3)
    seen = []
    for step in (lambda: x.resize_((1, 2)), lambda: x.resize_as_(y), lambda: x.resize_((3,)), lambda: x.resize_as_(y)):
        step()
        seen.append(x._version)
    return seen


@program
def what_an_op_saves_decides(T):
    x, y = T.ones(2, requires_grad=True), T.full((2,), 4.0, requires_grad=True)
    ones = T.ones(2)
    z = x * y
    q, w = z + y, z * y
    z.add_(2)
    seen = [told(lambda: q.backward(ones, retain_graph=True)), told(lambda: w.backward(ones))]
    z = x * y
    q, r = z * y, z + y
    w = z.add_(y)
    seen += [told(lambda: t.backward(ones, retain_graph=True)) for t in (w, r, q)]
    z = x / 2 + y / 8
    q, r, before = z * y, z + y, z._version
    w = z.exp_()
    seen += [z._version != before, *[told(lambda: t.backward(ones, retain_graph=True)) for t in (r, w, q)]]
    a = T.ones(2, requires_grad=True).clone()
    a.add_(10)
    (a + 2).backward(ones)
    b = a * (a + 2)
    a.add_(2)
    return seen, told(lambda: b.backward(ones)), x.grad, y.grad


@program
def who_is_named(T):
    class MyFunc(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    seen = []
    for make in (lambda x: x + 1, MyFunc.apply, lambda x: T.sum(x.expand(3, 3), dim=0), lambda x: x):
        x = leaf(T)
        between = make(x)
        out = between**2
        with T.no_grad():
            between += 1
        seen.append(told(lambda: out.sum().backward()))
    return seen


@program
def leaves_and_views_of_leaves(T):
    x = leaf(T)
    view = x[:]
    with T.no_grad():
        x.add_(1)
    return [told(lambda: x.add_(1)), told(lambda: view.add_(1)), told(lambda: x.__setitem__(0, 1.0)), x, x.grad_fn]


@program
def writing_makes_it_require_grad(T):
    a, b = T.ones(3), T.ones(3) + 0
    a += leaf(T)
    b += leaf(T)
    c = T.ones(3)
    c.add_(5)
    c.requires_grad = True
    c.sum().backward()
    d = T.ones(3)
    d[:].add_(5)
    d.requires_grad = True
    return a.requires_grad, b.requires_grad, c.grad, told(lambda: d[:].add_(1)), told(lambda: d.add_(1))


@program
def out_is_refused_in_grad_mode(T):
    a, b, x = leaf(T), leaf(T), T.zeros(3)
    seen = [told(lambda: T.mul(a, b, out=x)), told(lambda: T.mul(T.ones(3), T.ones(3), out=leaf(T)))]
    with T.no_grad():
        T.mul(a, b, out=x)
    return seen, x


@program
def counters_put_back(T):
    x, y = leaf(T).clone(), leaf(T).clone()
    x.add_(1)
    x.add_(2)
    with T.autograd._unsafe_preserve_version_counter(x):
        x.mul_(2)
    seen = [x._version]
    T._C._autograd._unsafe_set_version_counter((x,), (0,))
    seen += [x._version, told(lambda: T._C._autograd._unsafe_set_version_counter((x,), (-1,)))]
    with T.autograd._unsafe_preserve_version_counter((x, y)):
        x.mul_(2)
        y.mul_(3)
    return seen, x._version, y._version


@program
def increment_version(T):
    seen = []
    for t in (leaf(T), T.zeros(5, dtype=T.int32)):
        before = t._version
        T.autograd.graph.increment_version(t)
        seen.append(t._version - before)
    with T.inference_mode():
        t = T.rand(5)
        T.autograd.graph.increment_version(t)
    T.autograd.graph.increment_version([t])
    return seen


@program
def no_unnecessary_saving(T):
    mu, x, loss = leaf(T, 1), T.empty(1), 0
    for i in range(3):
        x.detach_()
        x.copy_(mu + i)
        loss = loss + (x * T.tensor([float(i)])).sum()
    loss.backward()
    return mu.grad


@program
def writes_that_views_forbid(T):
    class Alias(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    b = leaf(T, 1)
    return [told(lambda: Alias.apply(T.ones(1, 2)).add_(b)), told(lambda: Alias.apply(T.ones(1, 2)).copy_(b)),
            told(lambda: T.ones(1, 2).unbind()[0].copy_(b)), told(lambda: T.ones(1, 2).select(1, 0).copy_(b[0]))]


@program
def saved_under_no_grad(T):
    x, y = leaf(T), leaf(T)
    z = (x * y).sum()
    with T.no_grad():
        x *= 2
    return told(lambda: z.backward())


@program
def memory_of_another(T):
    x = leaf(T)
    seen = [told(lambda: x.set_(T.ones(3))), told(lambda: T.ones(2, dtype=T.int64).set_(T.ones(2)))]
    for target, source in ((x * 2, T.ones(3)), (T.zeros(3), x), (T.zeros(3), x * 2)):
        target.set_(source)
        seen += [target, target.is_leaf, told(lambda: target.sum().backward()), told(lambda: T.autograd.grad(target.sum(), x))]
    untracked = x * 2
    with T.no_grad():
        untracked.set_(T.ones(3))
    untracked.sum().backward()
    return [*seen, type(untracked.grad_fn).__name__, x.grad]


@program
def recurrent_layers_with_a_step_in_between(T):
    """The error names the weight, the view of it and the version that torch names, in the iteration in which torch raises it."""

    def train(cell, layers, length):
        T.manual_seed(0)
        net, head, seen = getattr(T.nn, cell)(1, 4, layers), T.nn.Linear(4, 1), 0
        optimizer, state = T.optim.SGD([*net.parameters(), *head.parameters()], 0.1), None
        for _ in range(3):
            out, state = net(T.ones(length, 2, 1), state)
            optimizer.zero_grad()
            told_now = told(lambda: head(out).sum().backward(retain_graph=True))
            if told_now != "fine":
                return seen, told_now
            optimizer.step()
            seen += 1
        return seen

    return [train(cell, layers, length) for cell in ("RNN", "LSTM", "GRU") for layers in (1, 2) for length in (1, 3)]


@program
def versions_after_steps_of_optimizers(T):
    found = []
    for name, options in (("SGD", {}), ("Adam", {}), ("AdamW", {}), ("Adam", {"weight_decay": 0.1}), ("NAdam", {}), ("ASGD", {}),
                          ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}), ("RMSprop", {"momentum": 0.9}),
                          ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}), ("Adafactor", {"weight_decay": 0.1}),
                          ("AdamW", {"weight_decay": 0.0})):
        p = T.nn.Parameter(T.ones(2, 2))
        optimizer = getattr(T.optim, name)([p], lr=0.1, **options)
        for _ in range(2):
            p.grad = T.ones(2, 2)
            optimizer.step()
        found.append((name, p._version))
    return found


@parity(PROGRAMS)
def test_program(program):
    same(program)
