"""torch's CPU random numbers, draw for draw, on NumPy arrays.

Everything comes from one MT19937 stream of 32-bit words. What makes "same seed, same numbers" hold is
how many words each draw takes and in which order, so each method says that first. Three things recur:

* a *unit* is a uniform in [0, 1): one word, 24 bits kept (single), or two words, 53 bits kept (double);
* torch fills a tensor in the order of its memory; `memory_order(a)` is the view of `a` in that order;
* torch's kernels are compiled with fused multiply-add, hence `fma` wherever it says `x * a + b`.

Results are those of torch on a processor with AVX2, bit for bit, except that double precision logarithms and
cosines are NumPy's: they may differ in the last place. torch built with MKL takes `bernoulli_(p)` and
`exponential_` from a different generator on Intel processors; here they are what torch gives on all others.
"""

from whygrad._rng.arrays import memory_order
from whygrad._rng.discrete import Discrete
from whygrad._rng.rejection import Rejection
from whygrad._rng.words import DEFAULT_SEED

__all__ = ["DEFAULT_SEED", "Stream", "memory_order"]


class Stream(Discrete, Rejection):
    """One random stream: the state and methods of a CPU `torch.Generator`."""
