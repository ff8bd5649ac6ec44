import higher
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
inner = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(6, 3), torch.randn(6, 1)
with higher.innerloop_ctx(model, inner) as (functional, steps):
    for _ in range(2):
        steps.step(torch.nn.functional.mse_loss(functional(x), y))
    outer = torch.nn.functional.mse_loss(functional(x), y)
    grads = torch.autograd.grad(outer, functional.parameters(time=0))
print(outer.item(), sum(grad.norm().item() for grad in grads))
