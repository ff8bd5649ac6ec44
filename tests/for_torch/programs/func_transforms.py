import torch
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)
x = torch.randn(3)
w = torch.randn(3, requires_grad=True)


def f(x):
    return (x.sin() * x).sum()


print(grad(f)(x), grad(grad(lambda s: s ** 3))(torch.tensor(2.0)))
print(vmap(grad(f))(torch.randn(4, 3)))
print(jvp(f, (x,), (torch.ones(3),)), vjp(f, x)[1](torch.tensor(1.0)))
print(jacrev(torch.sin)(x), jacfwd(torch.sin)(x), hessian(f)(x))
net = torch.nn.Linear(3, 2)
parameters = {name: p.detach() for name, p in net.named_parameters()}


def loss(parameters, x):
    return functional_call(net, parameters, (x,)).pow(2).sum()


print(vmap(grad(loss), in_dims=(None, 0))(parameters, torch.randn(5, 3))["weight"])
vmap(lambda row: (row * w).sum())(torch.randn(2, 3)).sum().backward()
print(w.grad)
print(torch.autograd.functional.jacobian(torch.exp, x), torch.autograd.functional.hvp(f, x, torch.ones(3)))
print(torch.autograd.gradcheck(torch.sin, torch.randn(3, dtype=torch.double, requires_grad=True)))
with torch.autograd.forward_ad.dual_level():
    dual = torch.autograd.forward_ad.make_dual(x, torch.ones(3))
    print(torch.autograd.forward_ad.unpack_dual(dual.exp() * 2))
