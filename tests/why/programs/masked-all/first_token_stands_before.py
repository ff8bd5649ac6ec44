# masked-all | inverted
# evidence: trained
import torch
from torch import nn
import torch.nn.functional as F


class Sentence(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.first = nn.Embedding(25, 16, padding_idx=0), nn.Parameter(torch.randn(1, 1, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, ids):
        x = torch.cat([self.first.expand(len(ids), -1, -1), self.emb(ids)], 1)
        hidden = torch.cat([torch.zeros(len(ids), 1, dtype=torch.bool), ids > 0], 1)  #C
        return self.out(self.layer(x, src_key_padding_mask=hidden)[:, 0])  #C


def main():
    torch.manual_seed(0)
    net = Sentence()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(8):
        ids = torch.randint(1, 25, (20, 8))
        for row, end in zip(ids, torch.randint(3, 8, (20,)).tolist(), strict=True):
            row[end:] = 0
        loss = F.cross_entropy(net(ids), ids[:, 0] % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
