"""saved_tensors_hooks and relatives: what pack and unpack see, and that gradients stay the same."""

import weakref

from parity import collect, parity, same

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def leaf(torch, *values):
    return torch.tensor(values or [1.0, 2.0], requires_grad=True)


def logging_hooks(torch, log):
    def pack(t):
        log.append(("pack", t, torch.is_grad_enabled()))
        return len(log) - 1, t.detach().clone()

    def unpack(packed):
        log.append(("unpack", packed[0], torch.is_grad_enabled()))
        return packed[1]

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


@program
def pack_and_unpack(torch):
    log = []
    x, w = leaf(torch), leaf(torch, 3.0, 4.0)
    with logging_hooks(torch, log):
        y = (x * w).exp()
        z = (y * 2 + x).sum()
    z.backward()
    return log, x.grad, w.grad


@program
def inputs_are_the_very_objects(torch):
    seen = []
    x = leaf(torch)
    a = x * 2
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t is a), t)[1], lambda t: t):
        y = a * a
        z = a.exp()
    (y + z).sum().backward()
    return seen, x.grad


@program
def outputs_have_their_history(torch):
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t), t.detach())[1], lambda t: t):
        y = leaf(torch).exp()
    return seen, y.grad_fn._saved_result


@program
def second_derivatives(torch):
    log = []
    x = leaf(torch)
    with logging_hooks(torch, log):
        y = (x * x * x).sum()
        first, = torch.autograd.grad(y, x, create_graph=True)
        count = len(log)
        second, = torch.autograd.grad(first.sum(), x)
    return first, second, count, len(log)


@program
def second_derivatives_with_other_objects(torch):
    """The hook gives back new tensors: they must still lead to the leaf and to the intermediate value."""
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        a = x.exp()
        y = (a * a * x).sum()
    first, = torch.autograd.grad(y, x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


@program
def a_hook_that_changes_the_value(torch):
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = (x * x).sum()
    y.backward()
    return x.grad


@program
def the_innermost_pair_wins(torch):
    log = []
    x = leaf(torch)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: (log.append("outer"), t)[1], lambda t: t):
        x.exp()
        with hooks(lambda t: (log.append("inner"), t)[1], lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    return log


@program
def custom_functions(torch):
    log = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, k):
            out, between = a * k, a + 1
            ctx.save_for_backward(a, out, between, None)
            return out

        @staticmethod
        def backward(ctx, g):
            a, out, between, nothing = ctx.saved_tensors
            log.append(("backward", a, out, between, nothing))
            return g * a * out, None

    x = leaf(torch)
    with logging_hooks(torch, log):
        y = F.apply(x, 3)
    y.sum().backward(retain_graph=True)
    assert len(y.grad_fn.saved_tensors) == 4
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return log, x.grad, first, torch.autograd.grad(first.sum(), x)


@program
def in_place_operations(torch):
    log = []
    x = leaf(torch)
    with logging_hooks(torch, log):
        y = x * 2
        y.exp_()
        y.mul_(x)
    y.sum().backward()
    return [entry[0] for entry in log], x.grad


@program
def a_saved_value_changed_behind_hooks_is_not_noticed(torch):
    x = leaf(torch)
    a = torch.ones(2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * a).sum()
    a.add_(1)
    y.backward()
    return x.grad


@program
def unpack_gives_a_number(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = leaf(torch).exp()
    y.sum().backward()


@program
def pack_writes_in_place(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), torch.no_grad():
        pass
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        leaf(torch).exp()


@program
def pack_fails(torch):
    def pack(t):
        raise KeyError("pack")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        leaf(torch).exp()


@program
def unpack_fails(torch):
    def unpack(t):
        raise KeyError("unpack")

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = leaf(torch).exp()
    y.sum().backward()


@program
def the_wrong_number_of_parameters(torch):
    def pack(a, b):
        return a

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        leaf(torch).exp()


@program
def numbers_are_not_packed(torch):
    log = []
    x = leaf(torch)
    with logging_hooks(torch, log):
        (x * 2 + 3).sum()
    return log


@program
def nothing_is_packed_without_grad_mode(torch):
    log = []
    with logging_hooks(torch, log), torch.no_grad():
        leaf(torch).exp()
    return log


@program
def unpacked_again_with_retain_graph(torch):
    log = []
    x = leaf(torch)
    with logging_hooks(torch, log):
        y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return [entry[0] for entry in log], x.grad, y.grad_fn.next_functions[0][0]._saved_result


@program
def left_in_another_order(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    first, second = hooks(lambda t: t * 1, lambda t: t), hooks(lambda t: t * 100, lambda t: t)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    x = leaf(torch)
    y = x.exp()
    second.__exit__()
    y.sum().backward()
    return x.grad


@program
def rows_with_any_number_of_arguments(torch):
    log = []
    x, w = leaf(torch), leaf(torch)
    with logging_hooks(torch, log):
        y = torch.cat([x, w * w, x])
    (y * y).sum().backward()
    return [entry[0] for entry in log], x.grad, w.grad


@program
def disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("mine"), torch.autograd.graph.saved_tensors_hooks(
            lambda t: t, lambda t: t):
        pass


@program
def disabled_inside(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with hooks, torch.autograd.graph.disable_saved_tensors_hooks("mine"):
        pass


@program
def disabled_in_layers(torch):
    disable, hooks = torch.autograd.graph.disable_saved_tensors_hooks, torch.autograd.graph.saved_tensors_hooks
    texts = []

    def attempt():
        try:
            with hooks(lambda t: t, lambda t: t):
                texts.append("entered")
        except RuntimeError as error:
            texts.append(str(error))

    with disable("outer"):
        with disable("inner"):
            attempt()
        attempt()
    attempt()
    return texts


@program
def save_on_cpu(torch):
    x = leaf(torch)
    results = []
    for pinned in (False, True):
        with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
            y = (x.exp() * x).sum()
        results += torch.autograd.grad(y, x)
    return results


@program
def raw_saved_tensors_of_a_function(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(torch)
    y = F.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t * 10, lambda t: t)
    y.sum().backward()
    return x.grad


@program
def register_hooks_wants_functions(torch):
    y = leaf(torch).exp()
    y.grad_fn._raw_saved_result.register_hooks(1, 1)


@parity(PROGRAMS)
def test_saved_hooks(program):
    same(program)


def test_packed_values_die_with_the_graph():
    class Token:
        pass

    kept = []

    def pack(t):
        token = Token()
        kept.append(weakref.ref(token))
        return token, t.detach()

    x = leaf(whygrad)
    with whygrad.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed[1]):
        y = x.exp().sum()
    assert kept[0]() is not None
    y.backward()
    assert kept[0]() is None
