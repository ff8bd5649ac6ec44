# inplace-saved-tensor | error | in-place/in place/inplace
# evidence: True
import torch

w = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
loss = 0
for t in range(3):
    state[t] = w[t] * 2  #C
    loss = loss + (state ** 2).sum()
failed = False
try:
    loss.backward()  #R
except RuntimeError as e:
    failed = "inplace" in str(e)
print("evidence:", failed)
