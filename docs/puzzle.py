"""A small classifier with an encoder that never learns."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.hidden = nn.Linear(16, 16)
        self.gate = nn.Linear(16, 16)
        self.head = nn.Linear(16, 3)
        nn.init.constant_(self.gate.bias, -100.0)

    def forward(self, x):
        codes = self.encoder(x).detach()
        h = torch.relu(self.hidden(codes)) + torch.relu(self.gate(codes))
        return self.head(h)


model = Classifier()
model.head.bias.requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, target = torch.randn(32, 8), torch.randint(0, 3, (32,))

for step in range(5):
    optimizer.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits, target)
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))

print(model.encoder.layers[0].weight.grad)
print(model.gate.weight.grad.abs().sum())
print(logits.grad)
