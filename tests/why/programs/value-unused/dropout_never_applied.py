# value-unused
# evidence: two forwards in training mode are equal: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Reviews(nn.Module):
    def __init__(self, words=50, dim=16):
        super().__init__()
        self.embedding = nn.EmbeddingBag(words, dim)
        self.dropout = nn.Dropout(0.5)  #C
        self.hidden = nn.Linear(dim, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, words):
        h = torch.relu(self.hidden(self.embedding(words)))
        return self.out(h)


torch.manual_seed(0)
words, labels = torch.randint(0, 50, (200, 12)), torch.randint(0, 2, (200,))
model = Reviews()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    rows = torch.randint(0, 200, (32,))
    loss = F.cross_entropy(model(words[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.train()
print("evidence: two forwards in training mode are equal:", torch.equal(model(words), model(words)))
