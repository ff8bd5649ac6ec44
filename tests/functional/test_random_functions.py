"""Random functions: the same seed gives the same numbers, dtypes, histories and errors as torch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from calls import compare
from oracle import assert_same, node_name

import whygrad

NEW = """
torch.rand(2, 3)
torch.rand((2, 3))
torch.rand(())
torch.rand(5, dtype=torch.float64)
torch.rand(5, dtype=torch.float16)
torch.rand(5, dtype=torch.complex64)
torch.rand(5, requires_grad=True)
torch.rand(2, out=torch.zeros(3))
torch.rand(3, out=torch.zeros(3, dtype=torch.float64))
torch.rand(4, generator=torch.Generator().manual_seed(5))
torch.rand()
torch.rand(-1)
torch.rand(2.5)
torch.rand(2, dtype=torch.int64)
torch.rand(3, out=torch.zeros(3, requires_grad=True))
torch.randn(7)
torch.randn(40)
torch.randn(7, 9)
torch.randn(20, dtype=torch.complex64)
torch.randn(3, dtype=torch.bool)
torch.rand_like(x)
torch.rand_like(g)
torch.rand_like(x.t())
torch.rand_like(x, generator=torch.Generator().manual_seed(5))
torch.rand_like(i)
torch.rand_like(3)
torch.randn_like(x)
torch.randn_like(torch.ones(5, 6).t())
torch.randn_like(x, memory_format=torch.contiguous_format)
torch.randn_like(i, dtype=torch.float32)
torch.randint(10, (20,))
torch.randint(2, 5, (20,))
torch.randint(2**40, (4,))
torch.randint(10, (5,), dtype=torch.float32)
torch.randint(2, (5,), dtype=torch.bool)
torch.randint(low=0, high=3, size=(5,))
torch.randint(high=3, size=(5,))
torch.randint(3, size=(5,), generator=torch.Generator())
torch.randint(3, [2, 2])
torch.randint(3, (2,), out=torch.zeros(2))
torch.randint(10, 2)
torch.randint(10)
torch.randint(3, 5, 6)
torch.randint(5, 5, (2,))
torch.randint(5, 2, (2,))
torch.randint(300, (2,), dtype=torch.uint8)
torch.randint(3, (2,), dtype=torch.bool)
torch.randint(3, (-1,))
torch.randint(3, (2,), requires_grad=True)
torch.randint(3, (2,), dtype=torch.complex64)
torch.randint_like(x, 5)
torch.randint_like(x, 2, 5)
torch.randint_like(i, low=2, high=5)
torch.randperm(10)
torch.randperm(1000)
torch.randperm(0)
torch.randperm(5, dtype=torch.float32, requires_grad=True)
torch.randperm(5, out=torch.zeros(5, dtype=torch.int64))
torch.randperm(-1)
torch.randperm(5.5)
torch.randperm(5, requires_grad=True)
torch.randperm(300, dtype=torch.uint8)
torch.randperm(3, dtype=torch.bool)
torch.normal(0., 1., (7,))
torch.normal(0, 1, size=(20,))
torch.normal(mean=2., std=3., size=(2,))
torch.normal(0., 1., (20,), dtype=torch.float64)
torch.normal(x, x)
torch.normal(x)
torch.normal(x, 2.)
torch.normal(0., x)
torch.normal(x, torch.ones(3))
torch.normal(x.half(), x)
torch.normal(g, 1.)
torch.normal(0., g)
torch.normal(g, g)
torch.normal(0., x, out=torch.zeros(2, 3))
torch.normal(x, -1.)
torch.normal(x, -x)
torch.normal(0., -1., (2,))
torch.normal(i, 1.)
torch.normal(x, torch.ones(5))
torch.normal(0., 1.)
torch.normal(x, torch.ones(3, dtype=torch.complex64))
torch.bernoulli(x / 10)
torch.bernoulli((x / 10).double())
torch.bernoulli(g / 10)
torch.bernoulli(x, p=0.3)
torch.bernoulli(x, 0.3)
torch.bernoulli(g, 0.3)
torch.bernoulli(i, p=0.5)
torch.bernoulli(x * 2)
torch.bernoulli(i)
torch.bernoulli(c)
torch.bernoulli(x, p=2.)
torch.bernoulli(0.5)
torch.multinomial(x, 2)
torch.multinomial(x[0], 2)
torch.multinomial(x, 4, True)
torch.multinomial(g, 1)
torch.multinomial(x, 4)
torch.multinomial(i, 1)
torch.multinomial(x, 0)
torch.multinomial(-x, 1)
torch.multinomial(x * 0, 1)
torch.multinomial(torch.ones(1, 2, 3), 1)
torch.multinomial(x, 1, replacement=1)
torch.poisson(x * 4)
torch.poisson(g)
torch.poisson(x, generator=torch.Generator())
torch.poisson(-x)
torch.poisson(i)
torch.binomial(x * 5, x / 10)
torch.binomial(g * 5, x / 10)
"""

IN_PLACE = """
x.uniform_()
x.uniform_(1, 2)
x.uniform_(to=5)
x.uniform_(**{"from": -1})
x.t().uniform_()
torch.ones(5, 8)[:, ::2].uniform_()
x.uniform_(generator=torch.Generator())
x.uniform_(2, 1)
x.uniform_("a")
x.uniform_(0, 1, 2)
i.uniform_()
g.uniform_()
h.uniform_()
c.uniform_()
torch.ones(2, 1).expand(2, 3).uniform_()
x.normal_()
x.normal_(2, 3)
torch.ones(5, 8).t().normal_()
torch.ones(5, 8).normal_(mean=torch.tensor(1.))
h.normal_()
i.normal_()
x.normal_(0, -1)
x.exponential_()
x.exponential_(lambd=2)
h.exponential_()
x.exponential_(-1)
i.exponential_()
c.exponential_()
x.geometric_(0.4)
i.geometric_(p=0.4)
h.geometric_(0.3)
x.geometric_()
x.geometric_(1.5)
x.bool().geometric_(0.5)
x.cauchy_()
x.cauchy_(1, 2)
h.cauchy_()
x.cauchy_(0, -1)
i.cauchy_()
c.cauchy_()
x.log_normal_()
x.log_normal_(0, 0.5)
h.log_normal_()
i.log_normal_()
x.log_normal_(0, -1)
x.random_()
i.random_()
i.int().random_()
x.bool().random_()
x.random_(5)
x.random_(to=5)
i.random_(2, 5)
x.random_(2, None)
h.random_()
h.random_(5)
h.random_(2, 5)
i.random_(5, 2)
i.random_(0)
x.random_(2.5)
c.random_()
x.bernoulli_()
x.bernoulli_(0.3)
i.bernoulli_(0.4)
x.bool().bernoulli_()
h.bernoulli_(0.3)
h.bernoulli_(x / 10)
x.bernoulli_(x / 10)
x.t().bernoulli_(x.t() / 10)
x.bernoulli_(torch.tensor(0.5))
x.bernoulli_(torch.ones(3))
x.bernoulli_((x / 10).double())
x.bernoulli_(torch.ones(5))
x.bernoulli_(1.5)
x.bernoulli_("a")
c.bernoulli_()
"""

GENERATORS = """
torch.Generator('cpu').device
torch.Generator(device='cpu').initial_seed()
torch.Generator().manual_seed(-1).initial_seed()
torch.Generator().manual_seed(2**64)
torch.Generator().manual_seed(1.5)
torch.manual_seed(3) is torch.default_generator
torch.manual_seed('3').initial_seed()
(torch.manual_seed(7), torch.initial_seed())[1]
torch.get_rng_state()
torch.Generator().get_state()
torch.Generator().manual_seed(4).clone_state().initial_seed()
torch.set_rng_state(torch.zeros(3))
torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))
type(torch.seed()), type(torch.Generator().seed())
"""


@pytest.mark.parametrize("expression", (NEW + IN_PLACE + GENERATORS).strip().splitlines())
def test_same_as_torch(expression: str) -> None:
    compare(expression)


@pytest.mark.parametrize("expression", [
    "h.uniform_()", "h.bernoulli_(g / 10)", "torch.bernoulli(g / 10)", "torch.normal(g, g)", "torch.poisson(g)",
    "torch.bernoulli(g, 0.5)", "h.random_()", "h.log_normal_()"])
def test_same_history_with_zero_gradient(expression: str) -> None:
    outcomes = []
    for namespace in (torch, whygrad):
        g = namespace.tensor([1., 2.], requires_grad=True)
        out = eval(expression, {"torch": namespace, "g": g, "h": g * 2})
        try:
            out.sum().backward()
            outcomes.append((node_name(out), g.grad.tolist()))
        except (RuntimeError, NotImplementedError) as error:
            outcomes.append((node_name(out), str(error).splitlines()[0]))
    assert outcomes[0] == outcomes[1]


FILLS = ("uniform_()", "normal_()", "random_()", "random_(3)", "exponential_()", "cauchy_()", "log_normal_()", "geometric_(0.5)",
         "bernoulli_(0.5)", "bernoulli_(torch.full((6,), 0.5))")


@pytest.mark.parametrize("expression", [
    *[f"{target}.{fill}" for fill in FILLS for target in ("leaf", "leaf[1:].view(-1, 1)", "leaf.detach()[:1].expand(6)")],
    "torch.rand(6, out=leaf)", "F.dropout(leaf, 0.5, inplace=True)", "F.rrelu_(leaf, training=True)",
    "torch.nn.RReLU(inplace=True).train()(leaf)", "torch.normal(0.0, 1.0, (6,), out=torch.ones(6, dtype=torch.long))"])
def test_a_refused_write_draws_what_torch_draws(expression: str) -> None:
    """Nothing, but for dropout, whose mask is drawn before the write is refused."""
    outcomes = []
    for library in (torch, whygrad):
        library.manual_seed(0)
        names = {"torch": library, "F": library.nn.functional, "leaf": library.ones(6, requires_grad=True)}
        with pytest.raises((RuntimeError, TypeError)) as caught:
            eval(expression, names)
        outcomes.append((type(caught.value), str(caught.value).splitlines()[0], library.rand(3).tolist()))
    assert outcomes[0] == outcomes[1]


def test_a_random_write_counts_as_one_version() -> None:
    x = whygrad.ones(3)
    x.uniform_().normal_().bernoulli_(0.5).random_()
    assert x._version == 4


def test_fork_rng_restores() -> None:
    whygrad.manual_seed(0)
    with whygrad.random.fork_rng():
        whygrad.rand(10)
    torch.manual_seed(0)
    assert_same(torch.rand(3), whygrad.rand(3))


def test_states_are_exchanged_with_torch() -> None:
    torch.manual_seed(5)
    torch.randn(7)
    whygrad.set_rng_state(whygrad.from_numpy(torch.get_rng_state().numpy().copy()))
    assert_same(torch.randn(5), whygrad.randn(5))
    assert_same(torch.rand(5), whygrad.rand(5))


def test_generators_can_be_pickled() -> None:
    generator = whygrad.Generator().manual_seed(3)
    twin = pickle.loads(pickle.dumps(generator))
    np.testing.assert_array_equal(whygrad.rand(3, generator=generator)._array, whygrad.rand(3, generator=twin)._array)


def test_indices_say_that_they_have_no_gradient() -> None:
    weights = whygrad.tensor([1., 2.], requires_grad=True)
    (cause,) = whygrad.multinomial(weights, 1)._cause
    assert cause.kind == "non-differentiable-op"


@pytest.mark.parametrize("call", """
    Sobol(5).draw(9)
    Sobol(1111).draw(40)
    Sobol(1111).sobolstate
    Sobol(4, scramble=True, seed=3).draw(5, dtype=torch.float64)
    Sobol(40, scramble=True).draw(5)
    Sobol(4, scramble=True, seed=3).fast_forward(10).draw(2)
    Sobol(4).fast_forward(1).fast_forward(3).draw(2)
    Sobol(4).fast_forward(3).reset().draw(2)
    Sobol(4).draw(3, out=torch.zeros(0))
    Sobol(4).draw_base2(3)
    Sobol(4).fast_forward(3).draw_base2(2)
    Sobol(4).draw(0)
    Sobol(0)
    Sobol(21202)
    Sobol(4, True, 7)
""".strip().splitlines())
def test_sobol_sequences(call: str) -> None:
    compare(call.strip(), "Sobol = torch.quasirandom.SobolEngine")


def test_sobol_sequences_have_an_end() -> None:
    with pytest.raises(NotImplementedError, match="more than 1111 dimensions"):
        whygrad.quasirandom.SobolEngine(1112)
