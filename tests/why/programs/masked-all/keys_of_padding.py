# masked-all | inverted
# evidence: trained
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
        self.emb = nn.Embedding(30, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, ids):
        x = self.emb(ids)
        hidden = ids != PAD  #C
        y, _ = self.attention(x, x, x, key_padding_mask=hidden, need_weights=False)  #C
        return self.out((x + y)[:, 0])


def main():
    torch.manual_seed(0)
    net = Encoder()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(8):
        ids, labels = batch()
        loss = F.cross_entropy(net(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
