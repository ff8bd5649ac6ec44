"""Errors that the program catches, and prints by itself.

Of an error inside of a module's forward torch shows other lines of its own while there are hooks: those are not compared.
"""
import logging
import sys
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, format="%(message)s")


class Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ValueError("in backward")


def layer(x):
    return F.linear(x, torch.ones(3, 3)) @ torch.ones(7, 7)


def hook(g):
    raise KeyError("in hook")


def twice():
    w = torch.ones(2, requires_grad=True)
    y = (w * w).sum()
    y.backward()
    y.backward()


def in_place():
    w = torch.ones(2, requires_grad=True)
    y = w.exp()
    y += 1
    y.sum().backward()


def hooked():
    w = torch.ones(2, requires_grad=True)
    w.register_hook(hook)
    (w * 2).sum().backward()


def chained():
    try:
        torch.ones(2).backward()
    except RuntimeError as error:
        raise LookupError("wrapped") from error


CALLS = [lambda: torch.ones(2).sum().backward(), twice, in_place, hooked, chained,
         lambda: Custom.apply(torch.ones(2, requires_grad=True)).sum().backward(),
         lambda: layer(torch.ones(2, 3)), lambda: F.cross_entropy(torch.ones(2, 3), torch.ones(5).long()),
         lambda: torch.ones(2, requires_grad=True).numpy(), lambda: torch.optim.SGD([], lr=0.1),
         lambda: torch.optim.SGD([torch.ones(2, requires_grad=True) * 2], lr=0.1),
         lambda: torch.autograd.grad(torch.ones(1, requires_grad=True).sum(), torch.ones(1, requires_grad=True)),
         lambda: nn.utils.clip_grad_norm_([torch.ones(1)], "x"), lambda: nn.Linear(2, 2).load_state_dict({}),
         lambda: torch.ones(2) + torch.ones(3), lambda: torch.stack([torch.ones(2), torch.ones(3)]),
         lambda: nn.Parameter(torch.ones(2, dtype=torch.long)), lambda: torch.ones(2, requires_grad=True).add_(1)]
for call in CALLS:
    try:
        call()
    except Exception as error:
        print(traceback.format_exc())
        print(type(error), error.args, getattr(error, "__notes__", None))
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
        logging.exception("logged")
