# value-copied-out | error | tolist, graph/history/number
# evidence: True
import torch

w = torch.tensor([0.3, 0.7], requires_grad=True)
values = (w * 2).tolist()  #C
loss = torch.tensor(values).sum()  #C
failed = False
try:
    loss.backward()  #R
except RuntimeError:
    failed = True
print("evidence:", failed)
