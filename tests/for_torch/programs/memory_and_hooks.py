"""Memory that is resized, the default device, hooks that are saved, and errors in nested passes."""
import io

import torch
from torch.autograd.graph import get_gradient_edge

net = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 2)
out = net(x)
loss = torch.nn.functional.mse_loss(out, torch.zeros(4, 2))
loss.backward()
for name, t in {"x": x, "out": out.data, "loss": loss.data, "grad": net.weight.grad, "weight": net.weight.data}.items():
    before = t.clone()
    t.untyped_storage().resize_(400)
    print(name, torch.equal(t, before))

torch.set_default_device("cpu")
optimizer.step()
torch.set_default_device("meta")
print(torch.ones(1).device)
torch.set_default_device(None)


def hook(module, grad_input, grad_output):
    return None


net.register_full_backward_hook(hook)
saved = io.BytesIO()
torch.save(net, saved)
saved.seek(0)
print(next(iter(torch.load(saved, weights_only=False)._backward_hooks.values())) is hook)

meta = torch.nn.Linear(2, 2, device="meta")
meta.register_full_backward_hook(hook)
meta(torch.ones(1, 2, device="meta", requires_grad=True)).sum().backward()
print(meta.weight.grad.device)

half = torch.ones(2, dtype=torch.complex32, requires_grad=True)
half.register_hook(lambda g: None)
half.to(torch.complex64).abs().sum().backward()
print(half.grad)


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise KeyError("mine")


w = torch.ones(2, requires_grad=True)
product = Bad.apply(w) * w
inner = product.sum()
outer = inner * 1
outer.register_hook(lambda g: torch.autograd.grad(inner, [product], retain_graph=True) and None)
for differentiate in (outer.backward, lambda: torch.autograd.grad(get_gradient_edge(inner), [x.requires_grad_()])):
    try:
        differentiate()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
