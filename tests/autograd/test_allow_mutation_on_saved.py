"""`allow_mutation_on_saved_tensors`."""

from __future__ import annotations

from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


def sizes(ctx):
    return len(ctx.cloned), len(ctx.tid_to_weakhandle)


def allowed(T):
    return T.autograd.graph.allow_mutation_on_saved_tensors()


@program
def written_directly_or_through_views(T):
    def directly(b):
        return b, lambda: b.sin_()

    def through_a_view(b):
        c = b.view_as(b)
        return b, lambda: c.sin_()

    def part_of_it(b):
        c = b[:1]
        return b, lambda: c.mul_(10)

    def the_base(b):
        c = b[:]
        return c, lambda: b.mul_(2)

    seen = []
    for how in (directly, through_a_view, part_of_it, the_base):
        a = leaf(T)

        def run():
            saved, write = how(a.clone())
            out = (saved**2).sum()
            write()
            out.backward()

        seen.append(told(run))
        with allowed(T) as ctx:
            run()
            seen.append(sizes(ctx))
        seen += [a.grad, sizes(ctx)]
    return seen


@program
def second_derivatives(T):
    with allowed(T) as ctx:
        a = leaf(T)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        T.autograd.grad(out, a, create_graph=True)
        (first,) = T.autograd.grad(out, a, create_graph=True)
        (second,) = T.autograd.grad(first.sum(), a)
    return first.detach(), second, sizes(ctx)


@program
def copies_live_as_long_as_they_are_needed(T):
    seen = []
    with allowed(T) as ctx:
        a = leaf(T).clone()
        out = (a**2).sum()
        seen.append(sizes(ctx))
        out.backward()
        a.sin_()
        seen.append(sizes(ctx)[0])
        out = (a**2).sum()
        a.sin_()
        seen.append(sizes(ctx)[0])
        del out
        seen.append(sizes(ctx)[0])
    with allowed(T) as ctx:
        a = leaf(T).clone()
        b, c = a**2, a**2
        a.sin_()
        seen.append(sizes(ctx)[0])
        del b, c
        seen.append(sizes(ctx)[0])
    with allowed(T) as ctx:
        a = leaf(T).clone()
        b = a**2
        a.sin_()
        c = a**2
        a.sin_()
        seen.append(sizes(ctx)[0])
        del b
        seen.append(sizes(ctx)[0])
        del c
        seen.append(sizes(ctx)[0])
    return seen


@program
def written_by_out(T):
    with allowed(T) as ctx:
        a, b = leaf(T, 1), T.tensor([1.0])
        out = a * b
        seen = [sizes(ctx)]
        T.sin(T.tensor([2.0]), out=b)
        seen.append(sizes(ctx)[0])
        out.backward()
        seen.append(sizes(ctx)[0])
    return seen, a.grad


@program
def written_by_assignment(T):
    with allowed(T):
        a, b = leaf(T), T.ones(3)
        out = a * b
        b[0] = 7.0
        b[1:] = T.zeros(2)
        b.zero_()
        out.sum().backward()
    return a.grad


@program
def conjugated(T):
    seen = []
    for write in (lambda a, b: a.sin_(), lambda a, b: b.sin_()):
        with allowed(T):
            x = T.tensor([1 + 1j], requires_grad=True)
            a = x.clone()
            b = a.conj()
            out = (b**2).sum()
            write(a, b)
            out.abs().backward()
            seen.append(T.view_as_real(x.grad.resolve_conj()))
    return seen


@program
def lists_of_tensors(T):
    with allowed(T):
        a = [T.tensor(1.0, requires_grad=True), T.tensor(2.0, requires_grad=True)]
        b = T._foreach_exp(a)
        T._foreach_add_(b, 1)
        (b[0] + b[1]).backward()
    return [x.grad for x in a]


@program
def outside_and_nested(T):
    with allowed(T):
        out = (leaf(T) ** 2).sum()
    seen = [told(lambda: out.backward())]
    with allowed(T):
        seen.append(told(lambda: out.backward()))

        def nested():
            with allowed(T):
                pass

        seen.append(told(nested))
    with allowed(T):
        seen.append("again")
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)
