# ok
# evidence: selected the informative features: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class FeatureSelector(nn.Module):
    """Picks k of d features with straight-through Gumbel samples."""

    def __init__(self, d, k):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(k, d))
        self.tau = 2.0

    def forward(self, x):
        if self.training:
            pick = F.gumbel_softmax(self.logits, tau=self.tau, hard=True)
        else:
            pick = F.one_hot(self.logits.argmax(1), self.logits.shape[1]).to(x.dtype)
        return x @ pick.t()


class Model(nn.Module):
    def __init__(self, d=8, k=4):
        super().__init__()
        self.select = FeatureSelector(d, k)
        self.net = nn.Sequential(nn.Linear(k, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(self.select(x)).squeeze(1)


def main():
    torch.manual_seed(64)
    model = Model()
    opt = torch.optim.Adam([{"params": model.select.parameters(), "lr": 5e-2},
                            {"params": model.net.parameters(), "lr": 1e-2}])
    losses = []
    model.train()
    for step in range(150):
        x = torch.randn(64, 8)
        y = 2 * x[:, 3]
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.select.tau = max(0.5, 0.99 * model.select.tau)
        losses.append(loss.item())
        if step % 30 == 29:
            print(f"step {step + 1} mse {losses[-1]:.3f} tau {model.select.tau:.2f}")
    chosen = model.select.logits.argmax(1).tolist()
    print(f"selected the informative features: {3 in chosen}, loss went down: {sum(losses[-20:]) < sum(losses[:20])}")


if __name__ == "__main__":
    main()
