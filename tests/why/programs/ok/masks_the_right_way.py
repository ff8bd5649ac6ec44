# ok
# evidence: trained
# Both kinds of masks, each with its own meaning of True.
import torch
import torch.nn.functional as F
from torch import nn

PAD = 0


def batch(n=24, length=9):
    ids = torch.randint(1, 30, (n, length))
    for row, end in zip(ids, torch.randint(3, length, (n,)).tolist(), strict=True):
        row[end:] = PAD
    return ids, ids[:, 0] % 2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=PAD)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.query, self.out = nn.Parameter(torch.randn(1, 1, 16)), nn.Linear(32, 2)

    def forward(self, ids):
        x, padding = self.emb(ids), ids == PAD
        y, _ = self.attention(x, x, x, key_padding_mask=padding, need_weights=False)
        scores = (self.query * x).sum(-1).masked_fill(padding, float("-inf"))
        pooled = (scores.softmax(-1)[..., None] * y).sum(1)
        query = self.query.expand(len(ids), -1, -1)
        seen = F.scaled_dot_product_attention(query, x, x, attn_mask=~padding[:, None])
        return self.out(torch.cat([pooled, seen[:, 0]], 1))


class Stepwise(nn.Module):
    """Looks its tokens up one by one: there a column may have padding."""

    def __init__(self):
        super().__init__()
        self.emb, self.cell, self.out = nn.Embedding(30, 8, padding_idx=PAD), nn.GRUCell(8, 8), nn.Linear(8, 2)

    def forward(self, ids):
        h = torch.zeros(len(ids), 8)
        for t in range(ids.shape[1]):
            h = torch.where((ids[:, t] == PAD)[:, None], h, self.cell(self.emb(ids[:, t]), h))
        return self.out(h)


def main():
    torch.manual_seed(0)
    for net in (Encoder(), Stepwise()):
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(8):
            ids, labels = batch()
            loss = F.cross_entropy(net(ids), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("trained")


main()
