# detach | none | .data/detach
# evidence: True False
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)

    def forward(self, x):
        return torch.relu(self.conv(x)).mean((2, 3))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, h):
        return self.fc(h)


enc, dec = Encoder(), Decoder()
params = list(enc.parameters()) + list(dec.parameters())
optimizer = torch.optim.Adam(params, lr=1e-3)
criterion = nn.CrossEntropyLoss()
images, labels = torch.randn(6, 1, 8, 8), torch.randint(0, 3, (6,))
for it in range(2):
    optimizer.zero_grad()
    feats = enc(images)
    feats = Variable(feats.data, requires_grad=True)  #C
    loss = criterion(dec(feats), labels)
    loss.backward()
    optimizer.step()
print("evidence:", enc.conv.weight.grad is None, dec.fc.weight.grad is None)  #R
