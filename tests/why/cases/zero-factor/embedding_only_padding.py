# zero-factor | zero | padding_idx
# evidence: tensor(0.)
import torch

table = torch.nn.Embedding(4, 2, padding_idx=0)
table(torch.tensor([0, 0])).sum().backward()  #C
print("evidence:", table.weight.grad.sum())  #R
