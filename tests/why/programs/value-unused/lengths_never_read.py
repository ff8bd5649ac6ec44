# value-unused
# evidence: padding changes the prediction: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class NameClassifier(nn.Module):
    def __init__(self, letters=27, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(letters, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 3)

    def forward(self, names, lengths):  #C
        states, _ = self.rnn(self.embedding(names))
        return self.out(states.mean(1))


def names(n):
    kind, lengths = torch.randint(0, 3, (n,)), torch.randint(3, 10, (n,))
    letters = torch.randint(1, 10, (n, 10)) + 8 * kind[:, None]
    return letters * (torch.arange(10) < lengths[:, None]), lengths, kind


def train(model, steps=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        x, lengths, y = names(32)
        loss = F.cross_entropy(model(x, lengths), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
net = NameClassifier()
train(net)
x, lengths, _ = names(4)
print("evidence: padding changes the prediction:", not torch.allclose(net(x, lengths), net(F.pad(x, (0, 6)), lengths)))
