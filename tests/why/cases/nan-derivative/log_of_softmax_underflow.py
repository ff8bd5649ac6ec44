# nan-derivative | nan | log, inf/nan
# evidence: True
import torch

logits = torch.tensor([[200.0, 0.0]], requires_grad=True)
p = torch.softmax(logits, dim=1)
nll = -torch.log(p[:, 1]).mean()  #C
nll.backward()
g = logits.grad  #R
print("evidence:", not bool(torch.isfinite(g).all()))
