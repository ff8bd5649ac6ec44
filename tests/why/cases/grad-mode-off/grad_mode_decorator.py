# grad-mode-off | none | no_grad, decorat/block/off
# evidence: True
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    @torch.no_grad()  #C
    def embed(self, x):
        return torch.tanh(self.fc(x))  #C

    def forward(self, x):
        return self.embed(x)


enc, dec = Encoder(), nn.Linear(2, 3)
x = torch.randn(5, 3)
loss = (dec(enc(x)) - x).pow(2).mean()
loss.backward()
g = enc.fc.weight.grad  #R
print("evidence:", g is None)
