# ok
# evidence: generated weights are not leaves: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class HyperNetwork(nn.Module):
    """Makes the weights of a small network from a task embedding."""

    def __init__(self, tasks, d=4, h=8, emb=6):
        super().__init__()
        self.d, self.h = d, h
        self.task = nn.Embedding(tasks, emb)
        self.to_w1 = nn.Linear(emb, d * h)
        self.to_b1 = nn.Linear(emb, h)
        self.to_w2 = nn.Linear(emb, h)

    def generate(self, task):
        e = self.task(task)
        return self.to_w1(e).view(self.h, self.d), self.to_b1(e), self.to_w2(e).view(1, self.h)

    def forward(self, x, task):
        w1, b1, w2 = self.generate(task)
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2).squeeze(1)


def main():
    torch.manual_seed(84)
    coef = torch.randn(5, 4)
    model = HyperNetwork(5)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(75):
        k = step % 5
        x = torch.randn(32, 4)
        y = torch.tanh(x @ coef[k])
        loss = F.mse_loss(model(x, torch.tensor(k)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 15 == 14:
            print(f"step {step + 1} mean over tasks {sum(losses[-5:]) / 5:.4f}")
    generated = model.generate(torch.tensor(0))[0]
    print(f"generated weights are not leaves: {not generated.is_leaf}, "
          f"loss went down: {sum(losses[-10:]) < sum(losses[:10])}")


if __name__ == "__main__":
    main()
