# loss-unused, unused-in-loss | loss
# evidence: property heads that moved: 1
# parameters: heads.logp.weight, heads.logp.bias, heads.solubility.weight, heads.solubility.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(130)

PROPERTIES = ["logp", "solubility", "toxicity"]


class Molecules(Dataset):
    def __init__(self, n=200, bits=32):
        self.fp = (torch.rand(n, bits) > 0.7).float()
        w = torch.randn(bits, len(PROPERTIES)) / bits ** 0.5
        raw = self.fp @ w
        self.y = (raw - raw.mean(0)) / raw.std(0)

    def __len__(self):
        return len(self.fp)

    def __getitem__(self, i):
        return self.fp[i], {name: self.y[i, k] for k, name in enumerate(PROPERTIES)}


class PropertyNet(nn.Module):
    def __init__(self, bits=32, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(bits, hidden), nn.SiLU(), nn.Dropout(0.05))
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, 1) for name in PROPERTIES})

    def forward(self, fp):
        h = self.trunk(fp)
        return {name: head(h).squeeze(1) for name, head in self.heads.items()}


def train_epoch(model, loader, opt):
    model.train()
    sums = {name: 0.0 for name in PROPERTIES}
    for fp, targets in loader:
        preds = model(fp)
        for name in PROPERTIES:
            loss = F.mse_loss(preds[name], targets[name])  #C
            sums[name] += loss.item()
        opt.zero_grad()
        loss.backward()  #C
        opt.step()
    return {k: v / len(loader) for k, v in sums.items()}


def main():
    loader = DataLoader(Molecules(), batch_size=40, shuffle=True)
    model = PropertyNet()
    start = {n: h.weight.detach().clone() for n, h in model.heads.items()}
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        stats = train_epoch(model, loader, opt)
        print(f"epoch {epoch} " + " ".join(f"{k} {v:.3f}" for k, v in stats.items()))
    moved = sum(not torch.equal(start[n], h.weight) for n, h in model.heads.items())
    print("property heads that moved:", moved)


if __name__ == "__main__":
    main()
