# ok
# evidence: updates per epoch: 4, clipped most updates: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CopyTask(nn.Module):
    def __init__(self, vocab=12, dim=24, length=8):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.encoder(self.tok(ids) + self.pos))


def main():
    torch.manual_seed(44)
    ids = torch.randint(0, 12, (112, 8))
    loader = DataLoader(TensorDataset(ids, ids.flip(1)), batch_size=8, shuffle=True)
    model = CopyTask()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    accumulate, n_batches = 4, len(loader)          # 14 micro batches: the last group has two
    clipped = updates = 0
    epoch_losses = []
    for epoch in range(6):
        updates, total = 0, 0.0
        for i, (x, y) in enumerate(loader):
            group_start = (i // accumulate) * accumulate
            group = min(accumulate, n_batches - group_start)
            loss = F.cross_entropy(model(x).transpose(1, 2), y)
            (loss / group).backward()
            total += loss.item()
            if (i + 1) % accumulate == 0 or i + 1 == n_batches:
                norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.2)
                clipped += int(norm.item() > 0.2)
                opt.step()
                opt.zero_grad(set_to_none=True)
                updates += 1
        epoch_losses.append(total / n_batches)
        print(f"epoch {epoch} loss {epoch_losses[-1]:.3f}")
    print(f"updates per epoch: {updates}, clipped most updates: {clipped >= 12}, "
          f"loss went down: {epoch_losses[-1] < epoch_losses[0]}")


if __name__ == "__main__":
    main()
