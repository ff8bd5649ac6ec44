# schedule-wrong | scheduler, step/stepped/never
# evidence: learning rate at the end equals the initial one: True
from dataclasses import dataclass, field
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    lr: float = 0.05
    min_lr: float = 1e-4
    epochs: int = 8
    hidden: list = field(default_factory=lambda: [32, 24])
    seed: int = 11


def build_mlp(n_in, hidden, n_out):
    layers, last = [], n_in
    for h in hidden:
        layers += [nn.Linear(last, h), nn.ELU()]
        last = h
    layers.append(nn.Linear(last, n_out))
    return nn.Sequential(*layers)


def make_letters(n, prototypes):
    y = torch.randint(0, len(prototypes), (n,))
    x = prototypes[y] + 0.8 * torch.randn(n, prototypes.shape[1])
    return TensorDataset(x, y)


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        prototypes = torch.randn(5, 16)
        self.train_loader = DataLoader(make_letters(160, prototypes), batch_size=20, shuffle=True)
        self.val_loader = DataLoader(make_letters(60, prototypes), batch_size=60)
        self.model = build_mlp(16, cfg.hidden, 5)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(  #C
            self.optimizer, T_max=cfg.epochs, eta_min=cfg.min_lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val_loader)
        return hits / len(self.val_loader.dataset)

    def run(self):
        for epoch in range(self.cfg.epochs):  #C
            loss = self.train_epoch()
            print(f"epoch {epoch}: loss {loss:.4f} val acc {self.validate():.2f}")
        return self.optimizer.param_groups[0]["lr"]


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    final_lr = Experiment(cfg).run()
    print("learning rate at the end equals the initial one:", final_lr == cfg.lr)


if __name__ == "__main__":
    main()
