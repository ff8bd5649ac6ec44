# ok
# evidence: clipping active in many steps: True, loss went down: True
import torch
from torch import nn


class VanillaRNN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, batch_first=True)
        for name, p in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(p)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1]).squeeze(1)


def adding_problem(n, length=8):
    """Sum of the two marked numbers."""
    values = 4 * torch.rand(n, length)
    marks = torch.zeros(n, length)
    half = length // 2
    rows = torch.arange(n)
    marks[rows, torch.randint(0, half, (n,))] = 1.0
    marks[rows, torch.randint(half, length, (n,))] = 1.0
    return torch.stack([values, marks], dim=-1), (values * marks).sum(1)


def main():
    torch.manual_seed(70)
    model = VanillaRNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    max_norm, hit, losses = 1.0, 0, []
    for step in range(60):
        x, y = adding_problem(32)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        hit += int(norm.item() > max_norm)
        losses.append(loss.item())
        if step % 12 == 0:
            print(f"step {step} loss {losses[-1]:.3f} gradient norm {norm.item():.2f}")
    print(f"clipping active in many steps: {hit > 20}, loss went down: {sum(losses[-8:]) < sum(losses[:8])}")


if __name__ == "__main__":
    main()
