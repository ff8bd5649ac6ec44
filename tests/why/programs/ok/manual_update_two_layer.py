# ok
# evidence: leaves kept: True, loss went down: True
import torch


def init_params(d, h, o):
    w1 = torch.randn(d, h) / d ** 0.5
    w2 = torch.randn(h, o) / h ** 0.5
    b1, b2 = torch.zeros(h), torch.zeros(o)
    return [p.requires_grad_() for p in (w1, b1, w2, b2)]


def forward(x, params):
    w1, b1, w2, b2 = params
    return torch.tanh(x @ w1 + b1) @ w2 + b2


def sgd_update(params, grads, lr):
    with torch.no_grad():
        for p, g in zip(params, grads):
            p -= lr * g


def main():
    torch.manual_seed(68)
    params = init_params(6, 24, 2)
    mix = torch.randn(6, 2)
    losses = []
    for step in range(60):
        x = torch.randn(64, 6)
        y = torch.tanh(x @ mix)
        loss = (forward(x, params) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, params)
        sgd_update(params, grads, lr=0.2)
        losses.append(loss.item())
        if step % 15 == 0:
            print(f"step {step} loss {losses[-1]:.4f}")
    leaves = all(p.is_leaf and p.requires_grad for p in params)
    print(f"leaves kept: {leaves}, loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
