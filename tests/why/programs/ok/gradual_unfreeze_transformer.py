# ok
# evidence: all blocks moved: True, lowest block was still at half time: True, loss went down: True
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim=16, depth=3, classes=3):
        super().__init__()
        self.proj = nn.Linear(6, dim)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.proj(x)
        for b in self.blocks:
            h = b(h)
        return self.head(h.mean(1))


class GradualUnfreezer:
    """Opens one block (from the last to the first) every `every` steps."""

    def __init__(self, model, every):
        self.model, self.every = model, every
        model.proj.requires_grad_(False)
        model.blocks.requires_grad_(False)

    def step(self, i):
        k = i // self.every
        depth = len(self.model.blocks)
        for j in range(depth):
            if depth - 1 - j <= k - 1:
                self.model.blocks[j].requires_grad_(True)
        if k > depth:
            self.model.proj.requires_grad_(True)


def main():
    torch.manual_seed(3)
    means = torch.randn(3, 6)
    model = Encoder()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    unfreezer = GradualUnfreezer(model, every=8)
    before = [b.linear1.weight.detach().clone() for b in model.blocks]
    losses, half = [], None
    for i in range(40):
        unfreezer.step(i)
        y = torch.randint(0, 3, (24,))
        x = means[y][:, None, :] + torch.randn(24, 5, 6)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if i == 19:
            half = torch.equal(before[0], model.blocks[0].linear1.weight.detach())
        if i % 8 == 7:
            n = sum(p.numel() for p in model.parameters() if p.requires_grad)
            print(f"step {i + 1}: {n} trainable parameters, loss {loss.item():.3f}")
    moved = all(not torch.equal(a, b.linear1.weight.detach()) for a, b in zip(before, model.blocks))
    print(f"all blocks moved: {moved}, lowest block was still at half time: {half}, "
          f"loss went down: {sum(losses[-6:]) < sum(losses[:6])}")


if __name__ == "__main__":
    main()
