# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 5)
        self.out = nn.Linear(5, 7, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, t):
        return self.out(self.emb(t))


m = LM()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
x = torch.randint(0, 7, (4, 3))
loss = nn.functional.cross_entropy(m(x).reshape(-1, 7), x.reshape(-1))
opt.zero_grad()
loss.backward()
opt.step()
g = m.emb.weight.grad
print("evidence:", g is m.out.weight.grad)
