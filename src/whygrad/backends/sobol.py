"""Sobol sequences: points that fill the unit cube evenly. States are int64 arrays of 30-bit numbers, a row for each dimension."""

from __future__ import annotations

import functools
from base64 import b85decode
from collections.abc import Iterator

import numpy as np

from whygrad.backends.sobol_directions import PACKED

BITS = 30
Array = np.ndarray


def _multiply(a: int, b: int, modulus: int, degree: int) -> int:
    """The product of two polynomials over GF(2), modulo a third."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        b >>= 1
        a <<= 1
        if a >> degree & 1:
            a ^= modulus
    return result


def _is_one(exponent: int, modulus: int, degree: int) -> bool:
    """Whether x ** exponent is 1, modulo a polynomial."""
    result, power = 1, 2 if degree > 1 else 1
    while exponent:
        if exponent & 1:
            result = _multiply(result, power, modulus, degree)
        power = _multiply(power, power, modulus, degree)
        exponent >>= 1
    return result == 1


def _prime_factors(n: int) -> list[int]:
    return [p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, int(p ** 0.5) + 1))]


def _primitive_polynomials() -> Iterator[tuple[int, int]]:
    """Degree and bits of the polynomials of which x generates all remainders but 0, in ascending order."""
    degree = 0
    while True:
        degree += 1
        order = 2 ** degree - 1
        shorter = [order // p for p in _prime_factors(order)]
        for bits in range((1 << degree) + 1, 2 << degree, 2):
            if _is_one(order, bits, degree) and not any(_is_one(n, bits, degree) for n in shorter):
                yield degree, bits


@functools.lru_cache(maxsize=4)
def directions(dimension: int) -> Array:
    """The state before scrambling: the direction numbers of each dimension, shifted to 30 bits."""
    bits = np.unpackbits(np.frombuffer(b85decode(PACKED.replace("\n", "")), np.uint8))
    at = 0
    numbers = np.ones((dimension, BITS), np.int64)
    polynomials = _primitive_polynomials()
    for row in numbers[1:]:
        degree, polynomial = next(polynomials)
        m = [1] * BITS
        for j in range(degree):
            m[j] = 1 + sum(int(bits[at + b]) << b + 1 for b in range(j))
            at += j
        for j in range(degree, BITS):
            m[j] = m[j - degree] ^ m[j - degree] << degree
            for k in range(1, degree):
                if polynomial >> degree - k & 1:
                    m[j] ^= m[j - k] << k
        row[:] = m
    return numbers << np.arange(BITS - 1, -1, -1)


def scrambled(state: Array, matrices: Array) -> Array:
    """The state multiplied by lower triangular bit matrices, of which the diagonal is taken to be 1."""
    lower = np.tril(matrices, -1) | np.eye(BITS, dtype=np.int64)
    columns = state[:, :, None] >> np.arange(BITS - 1, -1, -1) & 1  # the bits of each number, from the highest
    products = np.einsum("drb,dcb->dcr", lower, columns) & 1
    return products @ (1 << np.arange(BITS - 1, -1, -1))


def advance(quasi: Array, state: Array, start: int, count: int) -> Array:
    """The next `count` states of a sequence of which `start` were drawn: each differs by one direction number (Gray code)."""
    drawn = np.arange(start, start + count)
    lowest_zero = np.log2(~drawn & drawn + 1).astype(np.int64)
    changes = state.T[lowest_zero]
    changes[:1] ^= quasi
    return np.bitwise_xor.accumulate(changes, axis=0)
