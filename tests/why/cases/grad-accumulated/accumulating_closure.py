# grad-accumulated | wrong-value | accumulat/add, zero/none/clear
# evidence: True
import torch

torch.manual_seed(0)


def make_step(params, lr):
    def step(x, y):
        loss = ((x * params["a"] + params["b"] - y) ** 2).mean()
        loss.backward()  #C
        g = params["a"].grad.item()  #R
        with torch.no_grad():
            for p in params.values():
                p -= lr * p.grad
        return g
    return step


params = {"a": torch.tensor(0.0, requires_grad=True), "b": torch.tensor(0.0, requires_grad=True)}
step = make_step(params, 1e-5)
x = torch.linspace(-1, 1, 11)
gs = [step(x, 2 * x + 1) for _ in range(4)]
print("evidence:", abs(gs[3]) > 3.5 * abs(gs[0]))
