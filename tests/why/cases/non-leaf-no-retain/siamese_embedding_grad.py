# non-leaf-no-retain | none | leaf/intermediate, retain_grad
# evidence: True True
import torch
from torch import nn

torch.manual_seed(3)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 4))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


tower = Tower()
left, right = torch.randn(9, 6), torch.randn(9, 6)
emb_l = tower(left)  #C
emb_r = tower(right)
sim = (emb_l * emb_r).sum(-1)
loss = nn.functional.softplus(-sim).mean()
loss.backward()
grad_of_embedding = emb_l.grad  #R
print("embedding gradient", grad_of_embedding)
print("evidence:", grad_of_embedding is None, emb_l.requires_grad)
