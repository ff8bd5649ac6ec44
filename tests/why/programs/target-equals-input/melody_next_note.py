# target-equals-input | target/label, input, same/equal/shift/identical/copy
# evidence: target sequence equals the input sequence in every batch: True
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    notes: int = 14
    seq_len: int = 10
    dim: int = 12
    hidden: int = 32
    lr: float = 1e-2
    epochs: int = 6


class MelodyDataset(Dataset):
    """A walk over the scale, cut into overlapping windows."""

    def __init__(self, cfg, total=160):
        self.seq_len = cfg.seq_len
        note, walk = cfg.notes // 2, []
        moves = torch.randint(-2, 3, (total,)).tolist()
        for m in moves:
            note = min(max(note + m, 0), cfg.notes - 1)
            walk.append(note)
        self.melody = torch.tensor(walk)

    def __len__(self):
        return len(self.melody) - self.seq_len - 1

    def __getitem__(self, i):
        x = self.melody[i:i + self.seq_len]
        y = self.melody[i:i + self.seq_len]  #C
        return x, y


class MelodyModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.notes, cfg.dim)
        self.gru = nn.GRU(cfg.dim, cfg.hidden, batch_first=True)
        self.out = nn.Linear(cfg.hidden, cfg.notes)

    def forward(self, x):
        h, _ = self.gru(self.embed(x))
        return self.out(h)


def train_epoch(model, loader, optimizer):
    total, equal = 0.0, True
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        equal &= torch.equal(x, y)
    return total / len(loader), equal


def main():
    torch.manual_seed(0)
    cfg = Config()
    loader = DataLoader(MelodyDataset(cfg), batch_size=16, shuffle=True)
    model = MelodyModel(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        loss, equal = train_epoch(model, loader, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f}")
    print("target sequence equals the input sequence in every batch:", equal)


if __name__ == "__main__":
    main()
