"""no_grad, enable_grad, set_grad_enabled, inference_mode: as blocks, as decorators, on generators, per thread."""

from __future__ import annotations

import asyncio
import threading

import pytest
from parity import collect, leaf, parity, same, short_leaf, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


@program
def blocks(torch):
    x, seen = short_leaf(torch), []
    with torch.no_grad():
        seen += [torch.is_grad_enabled(), x * 2]
        with torch.enable_grad():
            seen += [torch.is_grad_enabled(), x * 2]
        seen.append(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            seen += [torch.is_grad_enabled(), (x * 2).requires_grad]
        seen.append(torch.is_grad_enabled())
    return seen, torch.is_grad_enabled(), x * 2


@program
def a_block_that_fails(torch):
    try:
        with torch.no_grad():
            raise KeyError
    except KeyError:
        return torch.is_grad_enabled()


@program
def one_object_entered_twice(torch):
    mode = torch.no_grad()
    with mode, mode:
        pass
    left = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return left


@program
def the_function_form(torch):
    torch.set_grad_enabled(False)
    off = torch.is_grad_enabled()
    torch.set_grad_enabled(mode=True)
    return off, torch.is_grad_enabled(), repr(torch.set_grad_enabled(True)), str(torch.set_grad_enabled(True))


@program
def set_grad_enabled_wants_a_bool(torch):
    torch.set_grad_enabled(1)


@program
def decorators(torch):
    x = short_leaf(torch)

    @torch.no_grad()
    def with_parentheses(a, b=1):
        """Its text."""
        return torch.is_grad_enabled(), a * b

    @torch.no_grad
    def without(a):
        return torch.is_grad_enabled(), a * 2

    @torch.set_grad_enabled(False)
    def off(a):
        return torch.is_grad_enabled(), a * 2

    during = torch.is_grad_enabled()

    @torch.enable_grad
    def on(a):
        return torch.is_grad_enabled(), a * 2

    with torch.no_grad():
        inside = on(x)
    return (with_parentheses(x, b=3), with_parentheses.__name__, with_parentheses.__doc__, without(x), off(x), during,
            inside, torch.is_grad_enabled())


@program
def recursive_decorated_function(torch):
    @torch.no_grad()
    def down(n):
        return [torch.is_grad_enabled()] + (down(n - 1) if n else [])

    return down(3), torch.is_grad_enabled()


@program
def a_decorated_class(torch):
    @torch.no_grad()
    class C:
        def __init__(self):
            self.made_in = torch.is_grad_enabled()

        def later(self):
            return torch.is_grad_enabled()

    return C().made_in, C().later()


def watched(torch, mode):
    """A generator that notes the mode at every step."""
    log = []

    @mode
    def generator(n):
        try:
            for i in range(n):
                log.append(("in", torch.is_grad_enabled()))
                received = yield i
                log.append(("got", received, torch.is_grad_enabled()))
        except ValueError as error:
            log.append(("caught", str(error), torch.is_grad_enabled()))
            yield "caught"
        finally:
            log.append(("finally", torch.is_grad_enabled()))
        return "done"

    return generator, log


@program
def generators(torch):
    generator, log = watched(torch, torch.no_grad())
    for value in generator(3):
        log.append(("out", value, torch.is_grad_enabled()))
    return log, torch.is_grad_enabled()


@program
def generators_that_receive(torch):
    generator, log = watched(torch, torch.set_grad_enabled(False))
    g = generator(2)
    with torch.enable_grad():
        next(g)
        g.send("a")
    log.append(torch.is_grad_enabled())
    try:
        g.send("b")
    except StopIteration as stop:
        log.append(stop.value)
    return log


@program
def generators_that_are_thrown_into(torch):
    generator, log = watched(torch, torch.no_grad())
    g = generator(3)
    next(g)
    log.append(g.throw(ValueError("mine")))
    log.append(torch.is_grad_enabled())
    return log


@program
def generators_that_do_not_catch(torch):
    generator, log = watched(torch, torch.no_grad())
    g = generator(3)
    next(g)
    try:
        g.throw(KeyError("other"))
    except KeyError as error:
        log.append(str(error))
    return log, torch.is_grad_enabled()


@program
def generators_that_are_closed(torch):
    generator, log = watched(torch, torch.no_grad())
    g = generator(3)
    next(g)
    g.close()
    return log, torch.is_grad_enabled()


@program
def generators_in_generators(torch):
    inner, log = watched(torch, torch.enable_grad)

    @torch.no_grad
    def outer():
        log.append(torch.is_grad_enabled())
        yield from inner(2)
        log.append(torch.is_grad_enabled())

    return list(outer()), log


@program
def async_functions_are_only_called_in_the_mode(torch):
    @torch.no_grad()
    async def coroutine():
        return torch.is_grad_enabled()

    return asyncio.run(coroutine())


@program
def results_without_history(torch):
    x = short_leaf(torch)
    with torch.no_grad():
        y = x * 2
        z = torch.tensor([1.0], requires_grad=True)
        x.mul_(2)
    return y.requires_grad, y.is_leaf, y, z.requires_grad, x.is_leaf, x, x._version, y.sum().backward()


@program
def inference_mode_blocks(torch):
    x, seen = short_leaf(torch), []
    with torch.inference_mode():
        y = x * 2
        seen += [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), y, y.is_inference(), x.is_inference()]
        with torch.enable_grad():
            seen += [torch.is_grad_enabled(), x * 2]
        with torch.inference_mode(False):
            seen += [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), x * 2]
        made = torch.tensor([1.0, 2.0], requires_grad=True)
        seen += [made.requires_grad, made.is_inference(), made * 2, torch.is_inference_mode_enabled()]
    with torch.no_grad(), torch.inference_mode(False):
        seen.append(torch.is_grad_enabled())
    return seen, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@program
def inference_mode_decorators(torch):
    @torch.inference_mode
    def bare():
        return torch.is_inference_mode_enabled()

    @torch.inference_mode()
    def called():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    @torch.inference_mode(mode=False)
    def off():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    @torch.inference_mode()
    def generator():
        yield torch.is_inference_mode_enabled()

    with torch.inference_mode():
        inside = off()
    return bare(), called(), off(), inside, list(generator()), torch.is_inference_mode_enabled()


@program
def an_inference_tensor_outside(torch):
    with torch.inference_mode():
        a = torch.ones(2)
    plain = a * 2
    return plain, plain.is_inference(), (a + short_leaf(torch)), a.requires_grad


@program
def an_inference_tensor_cannot_be_saved(torch):
    with torch.inference_mode():
        a = torch.ones(2)
    return a * short_leaf(torch)


@program
def an_inference_tensor_cannot_be_written(torch):
    with torch.inference_mode():
        a = torch.ones(2)
    a.add_(1)


@program
def an_inference_tensor_has_no_version(torch):
    with torch.inference_mode():
        a = torch.ones(2)
        a.add_(1)
    return a._version


@program
def a_normal_tensor_written_in_inference_mode(torch):
    a = torch.ones(2)
    x = short_leaf(torch)
    y = (x * a).sum()
    with torch.inference_mode():
        a.add_(1)
    return a._version, a.is_inference(), y.backward()


@program
def a_custom_function_cannot_save_an_inference_tensor(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a):
            ctx.save_for_backward(a)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, None

    with torch.inference_mode():
        a = torch.ones(2)
    return F.apply(short_leaf(torch), a)


@program
def preserved_versions(torch):
    a, b = torch.ones(2), torch.ones(2)
    with torch.autograd._unsafe_preserve_version_counter((a, b)):
        a.mul_(2)
        b.add_(1)
        inside = a._version, b._version
    return inside, a._version, b._version


@program
def the_multithreading_switch(torch):
    seen = [torch.autograd.is_multithreading_enabled()]
    with torch.autograd.set_multithreading_enabled(False):
        seen.append(torch.autograd.is_multithreading_enabled())
    seen.append(torch.autograd.is_multithreading_enabled())
    torch.autograd.set_multithreading_enabled(False)
    seen.append(torch.autograd.is_multithreading_enabled())
    torch.autograd.set_multithreading_enabled(True)
    return seen


@program
def modes_belong_to_threads(torch):
    seen = {}
    x = short_leaf(torch)
    entered, leave = threading.Event(), threading.Event()

    def other():
        seen["at start"] = torch.is_grad_enabled()
        with torch.no_grad():
            entered.set()
            leave.wait(10)
            seen["inside"] = x * 2
        seen["at end"] = torch.is_grad_enabled()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    seen["meanwhile here"] = x * 2
    leave.set()
    thread.join()
    return seen


@pytest.mark.parametrize(("name", "enter"), [("no_grad", lambda: whygrad.no_grad()),
                                             ("set_grad_enabled", lambda: whygrad.set_grad_enabled(False)),
                                             ("inference_mode", lambda: whygrad.inference_mode())])
def test_the_cause_names_the_block(name, enter):
    x = short_leaf(whygrad)
    with enter():
        y = x * 2
    cause, = y._cause
    assert (cause.kind, cause.detail) == ("grad-mode-off", name)
    assert cause.origin[0].co_name == cause.site[0].co_name == "test_the_cause_names_the_block"
    assert cause.site[1] != cause.origin[1]


def test_the_cause_names_the_decorator():
    @whygrad.no_grad()
    def decorated(a):
        return a * 2

    cause, = decorated(short_leaf(whygrad))._cause
    assert cause.site[0].co_name == "decorated"
    assert cause.origin[0].co_name == "test_the_cause_names_the_decorator"


@program
def contexts_and_decorators(T):
    x, y = leaf(T), T.ones(3)
    with T.no_grad():
        w = x + y

    def add(a, b):
        return a + b

    seen = [w.requires_grad, w.grad_fn, told(lambda: w.backward(T.ones(3)))]
    for decorated in (T.no_grad()(add), T.no_grad(add)):
        seen += [decorated(x, y).requires_grad, decorated.__name__]
        with T.no_grad():
            seen += [T.is_grad_enabled(), decorated(x, y).requires_grad, T.is_grad_enabled()]
    with T.no_grad():
        seen += [T.enable_grad(add)(x, y).requires_grad, T.enable_grad()(add)(x, y).requires_grad]
    return seen


@program
def set_grad_enabled(T):
    x, seen = leaf(T), []
    for flag in (False, True):
        with T.set_grad_enabled(flag):
            seen.append((x * 2).requires_grad)
    with T.set_grad_enabled(False):
        T.set_grad_enabled(True)
        seen.append((x * 2).requires_grad)

    @T.set_grad_enabled(False)
    def inner(x):
        return x.sin().requires_grad

    seen += [T.is_grad_enabled(), inner(x)]
    switch = T.set_grad_enabled(False)
    seen.append(T.is_grad_enabled())
    inner = switch(lambda x: x.sin().requires_grad)
    return [*seen, T.is_grad_enabled(), inner(x), told(lambda: T.set_grad_enabled(1))]


@program
def generators_that_are_sent_to(T):
    seen = []

    @T.no_grad()
    def off():
        for i in range(3):
            seen.append(T.is_grad_enabled())
            got = yield i
            seen.append((got, T.is_grad_enabled()))

    @T.enable_grad()
    def on():
        for i in range(3):
            seen.append(T.is_grad_enabled())
            yield i

    for _ in off():
        seen.append(T.is_grad_enabled())
    with T.no_grad():
        for _ in on():
            seen.append(T.is_grad_enabled())
    coroutine, sent = off(), None
    try:
        while True:
            sent = coroutine.send(sent)
            seen.append(T.is_grad_enabled())
    except StopIteration:
        pass
    return seen


@program
def exceptions_in_generators(T):
    seen = []

    class Mild(Exception):
        pass

    class SecondaryException(Exception):
        pass

    @T.no_grad()
    def off(serious=False):
        for i in range(3):
            try:
                yield i
            except Mild:
                seen.append(T.is_grad_enabled())
                if serious:
                    raise SecondaryException from None
            except GeneratorExit:
                seen.append(("closed", T.is_grad_enabled()))
                raise

    coroutine = off()
    next(coroutine)
    try:
        while True:
            seen.append(coroutine.throw(Mild))
    except StopIteration:
        pass
    coroutine = off(serious=True)
    next(coroutine)
    seen.append(told(lambda: coroutine.throw(Mild)))
    coroutine = off()
    next(coroutine)
    coroutine.close()
    return seen, T.is_grad_enabled()


@program
def recursion(T):
    seen = []

    @T.enable_grad()
    def on(depth):
        seen.append(T.is_grad_enabled())
        if depth:
            off(depth - 1)
            seen.append(T.is_grad_enabled())

    @T.no_grad()
    def off(depth):
        seen.append(T.is_grad_enabled())
        if depth:
            on(depth - 1)
            seen.append(T.is_grad_enabled())

    on(4)
    with T.no_grad():
        on(4)
        seen.append(T.is_grad_enabled())
    return seen


@program
def classes(T):
    @T.no_grad()
    class Made:
        def __init__(self):
            self.inside = T.is_grad_enabled()

        def later(self):
            return T.is_grad_enabled()

    class Methods:
        @T.no_grad()
        def __init__(self):
            self.inside = T.is_grad_enabled()

        @T.no_grad()
        def later(self):
            return T.is_grad_enabled()

    return Made().inside, Made().later(), Methods().inside, Methods().later()


@program
def a_leaf_written_under_no_grad(T):
    x = T.ones(2, 2, requires_grad=True)
    with T.no_grad():
        x[0] = T.zeros(2)
    return x.requires_grad, x.grad_fn, x


@program
def modes_inside_backward(T):
    seen = []

    class Look(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(T.is_grad_enabled())
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(T.is_grad_enabled())
            with T.enable_grad():
                inner = leaf(T)
                T.autograd.grad(inner**3, inner, g)
                seen.append(T.is_grad_enabled())
            seen.append(T.is_grad_enabled())
            return g

    Look.apply(leaf(T)).sum().backward()
    Look.apply(leaf(T)).sum().backward(create_graph=True)
    return seen


@parity(PROGRAMS)
def test_modes(program):
    same(program)
