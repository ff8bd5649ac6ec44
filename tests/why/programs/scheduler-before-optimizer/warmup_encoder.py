# scheduler-before-optimizer | scheduler, optimizer.step/before/order
# evidence: updates made at the first scheduled rate: 0
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

warnings.filterwarnings("ignore")


class ParityEncoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(4, dim)
        layer = nn.TransformerEncoderLayer(dim, 2, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(dim=1))


def linear_warmup(step, warmup=5, total=30):
    if step < warmup:
        return (step + 1) / warmup
    return max(0.1, (total - step) / (total - warmup))


def get_batch(n=24, length=6):
    x = torch.randint(0, 4, (n, length))
    y = ((x == 3).sum(1) > 1).long()
    return x, y


def main():
    torch.manual_seed(40)
    model = ParityEncoder()
    base = 5e-3
    optimizer = torch.optim.AdamW(model.parameters(), lr=base)
    scheduler = LambdaLR(optimizer, linear_warmup)
    first_rate = base * linear_warmup(0)
    used = []
    for step in range(20):
        x, y = get_batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        scheduler.step()  #C
        used.append(optimizer.param_groups[0]["lr"])
        optimizer.step()  #C
        if step % 5 == 0:
            print(f"step {step} lr {used[-1]:.5f} loss {loss.item():.4f}")
    print("updates made at the first scheduled rate:", sum(abs(r - first_rate) < 1e-9 for r in used))


if __name__ == "__main__":
    main()
