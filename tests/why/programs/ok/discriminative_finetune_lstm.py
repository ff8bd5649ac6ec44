# ok
# evidence: groups thawed in order: ['head', 'lstm', 'embed'], loss went down: True
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    vocab: int = 30
    dim: int = 16
    hidden: int = 24
    length: int = 10
    epochs: int = 6
    base_lr: float = 0.01
    decay: float = 2.6


class Classifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.lstm = nn.LSTM(cfg.dim, cfg.hidden, batch_first=True)
        self.head = nn.Linear(cfg.hidden, 2)

    def forward(self, ids):
        out, _ = self.lstm(self.embed(ids))
        return self.head(out.mean(dim=1))


def sentiment_data(cfg, n=160):
    ids = torch.randint(0, cfg.vocab, (n, cfg.length))
    score = (ids < cfg.vocab // 2).float().mean(dim=1)
    return ids, (score > 0.5).long()


def thaw(module):
    for p in module.parameters():
        p.requires_grad_(True)


def main():
    torch.manual_seed(7)
    cfg = Config()
    model = Classifier(cfg)
    for p in model.parameters():
        p.requires_grad_(False)
    order = ["head", "lstm", "embed"]        # one more group is thawed every epoch, from the top
    optimizer = torch.optim.Adam(
        [{"params": getattr(model, name).parameters(), "lr": cfg.base_lr / cfg.decay ** i}
         for i, name in enumerate(order)])
    loader = DataLoader(TensorDataset(*sentiment_data(cfg)), batch_size=16, shuffle=True)
    criterion = nn.CrossEntropyLoss()
    thawed, epoch_losses = [], []
    for epoch in range(cfg.epochs):
        if epoch < len(order):
            thaw(getattr(model, order[epoch]))
            thawed.append(order[epoch])
        running = 0.0
        for ids, label in loader:
            loss = criterion(model(ids), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        epoch_losses.append(running / len(loader))
        print(f"epoch {epoch}: trainable={thawed} loss={epoch_losses[-1]:.4f}")
    print(f"groups thawed in order: {thawed}, loss went down: {epoch_losses[-1] < epoch_losses[0]}")


if __name__ == "__main__":
    main()
