# ok
# evidence: torch.sparse_coo
import torch

table = torch.nn.Embedding(10, 3, sparse=True)
opt = torch.optim.SparseAdam(table.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    table(torch.tensor([1, 2, 2])).sum().backward()
    g = table.weight.grad
    opt.step()
print("evidence:", g.layout)
