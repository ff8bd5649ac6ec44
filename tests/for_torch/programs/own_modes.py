import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Names(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Ops(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.ops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops.append(str(func))
        return func(*args, **(kwargs or {}))


class Logged(torch.Tensor):
    names = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.names.append((getattr(func, "__name__", str(func)), sorted(t.__name__ for t in types)))
        return super().__torch_function__(func, types, args, kwargs or {})


def step(w):
    loss = (w * 2).exp().sum() + torch.nn.functional.mse_loss(w, torch.zeros(2))
    loss.backward()
    return loss.item()


w = torch.ones(2, requires_grad=True)
with Names() as names:
    step(w)
    with Names() as inner:
        torch.relu(w)
    print(w.grad)
print(names.names, inner.names)
w.grad = None
with Ops() as ops:
    step(w)
print(ops.ops)
x = torch.ones(2).as_subclass(Logged)
y = (x + 1).sum()
print(type(y).__name__, Logged.names)
p = torch.nn.Parameter(torch.ones(2).as_subclass(Logged))
(p * 2).sum().backward()
print(type(p).__name__, type(p.grad).__name__, p.grad, Logged.names[-4:])
with torch.device("meta"):
    m = torch.nn.Linear(2, 2)
print(m.weight.device, m(torch.ones(1, 2, device="meta")).shape, torch.get_default_device())


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [a.inner if isinstance(a, Wrapper) else a for a in args]
        out = func(*plain, **(kwargs or {}))
        return Wrapper(out) if isinstance(out, torch.Tensor) else out

    def __repr__(self):
        return f"Wrapper({self.inner.tolist()})"


q = Wrapper(torch.tensor([1.0, 2.0])).requires_grad_()
z = (q * 3 + 1).sum()
z.backward()
print(z, q.grad, type(q.grad).__name__)
