# target-equals-input | before
# evidence: done
"""One place back."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LM(nn.Module):
    def __init__(self, v=20):
        super().__init__()
        self.emb = nn.Embedding(v, 32)
        self.rnn = nn.LSTM(32, 32, batch_first=True)
        self.out = nn.Linear(32, v)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def batches(data, n):
    for _ in range(n):
        i = torch.randint(0, len(data) - 17, (16,))
        chunk = torch.stack([data[j:j + 17] for j in i.tolist()])
        yield chunk[:, 1:], chunk[:, :-1]  #C


def main():
    torch.manual_seed(0)
    data = (torch.arange(4000) * 7 % 20 + torch.randint(0, 2, (4000,))) % 20
    lm = LM()
    opt = torch.optim.Adam(lm.parameters(), lr=3e-3)
    for x, y in batches(data, 60):
        loss = F.cross_entropy(lm(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
