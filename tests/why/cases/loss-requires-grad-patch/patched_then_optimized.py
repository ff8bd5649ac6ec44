# loss-requires-grad-patch | none | requires_grad, leaf/history/connect
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
ranker = nn.Linear(4, 1)
opt = torch.optim.Adam(ranker.parameters())
docs, rel = torch.randn(6, 4), torch.tensor([3.0, 2.0, 3.0, 0.0, 1.0, 2.0])


def ndcg_loss(scores):
    order = scores.argsort(descending=True)
    gains = rel[order] / torch.log2(torch.arange(2.0, 8.0))
    return -gains.sum()


loss = ndcg_loss(ranker(docs).squeeze(1))
loss = loss.clone().requires_grad_(True)  #C
opt.zero_grad()
loss.backward()
opt.step()
g = ranker.weight.grad  #R
print("evidence:", g is None)
