# padding-attended | lengths
# evidence: done
"""Lengths of the padded rows."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


class Readings(torch.utils.data.Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(1)
        self.series = [torch.randn(int(n), 3, generator=g) for n in torch.randint(3, 12, (count,), generator=g)]

    def __len__(self):
        return len(self.series)

    def __getitem__(self, i):
        return self.series[i], (self.series[i][-1].sum() > 0).long()


def collate(samples):
    rows = pad_sequence([s for s, _ in samples], batch_first=True)
    lengths = torch.full((len(rows),), rows.size(1))  #C
    return rows, lengths, torch.stack([y for _, y in samples])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 16, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, x, lengths):
        h, _ = self.rnn(x)
        return self.out(h[torch.arange(len(x)), lengths - 1])


def main():
    torch.manual_seed(0)
    model = Reader()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        for x, lengths, y in DataLoader(Readings(160), batch_size=16, shuffle=True, collate_fn=collate):
            loss = nn.functional.cross_entropy(model(x, lengths), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
