# term-without-influence | sparsity/penalty/l1/term, weight/1e-12/small/tiny/coefficient/influence
# evidence: penalty never above a billionth of the loss: True
from dataclasses import dataclass
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    patch: int = 16
    atoms: int = 24
    sparsity: float = 1e-12  #C
    lr: float = 1e-2
    epochs: int = 6


class SparseCoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = nn.Linear(cfg.patch, cfg.atoms)
        self.decoder = nn.Linear(cfg.atoms, cfg.patch)

    def forward(self, x):
        code = nn.functional.softplus(self.encoder(x))
        return self.decoder(code), code


def make_patches(n=160, size=16, n_sources=6):
    sources = torch.randn(n_sources, size)
    active = (torch.rand(n, n_sources) < 0.3).float() * torch.rand(n, n_sources)
    return active @ sources


def train(patches, cfg):
    model = SparseCoder(cfg)
    loader = DataLoader(TensorDataset(patches), batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    share = 0.0
    for epoch in range(cfg.epochs):
        rec_sum = act_sum = 0.0
        for (x,) in loader:
            out, code = model(x)
            reconstruction = nn.functional.mse_loss(out, x)
            activity = code.abs().sum(dim=1).mean()
            loss = reconstruction + cfg.sparsity * activity  #C
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rec_sum += reconstruction.item() / len(loader)
            act_sum += activity.item() / len(loader)
            share = max(share, cfg.sparsity * activity.item() / loss.item())
        print(f"epoch {epoch}: reconstruction {rec_sum:.4f} mean activity {act_sum:.3f}")
    return share


def main():
    torch.manual_seed(0)
    cfg = Config()
    share = train(make_patches(), cfg)
    print("penalty never above a billionth of the loss:", share < 1e-9)


if __name__ == "__main__":
    main()
