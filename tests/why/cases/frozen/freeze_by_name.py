# frozen | none | requires_grad, frozen/off
# evidence: ['bert.weight', 'bert.bias']
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.bert(x)))


model = Classifier()
for name, p in model.named_parameters():
    if "bert" in name:
        p.requires_grad_(False)  #C
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(5, 8), torch.tensor([0, 1, 0, 1, 1])
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
without = []
for name, p in model.named_parameters():
    grad = p.grad  #R
    if grad is None:
        without.append(name)
opt.step()
print("evidence:", without)
