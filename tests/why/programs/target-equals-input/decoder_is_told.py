# target-equals-input | last place
# evidence: done
"""Decoder is told."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Seq2Seq(nn.Module):
    def __init__(self, v=12, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.enc = nn.GRU(d, d, batch_first=True)
        self.dec = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, src, tgt):
        _, h = self.enc(self.emb(src))
        y, _ = self.dec(self.emb(tgt), h)
        return self.out(y)


def main():
    torch.manual_seed(0)
    net = Seq2Seq()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(60):
        src = torch.randint(1, 12, (32, 6))
        tgt = src.flip(1)
        logits = net(src, tgt)  #C
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
