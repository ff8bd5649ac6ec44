# grad-mode-off | not-tracked | no_grad, generator/off/suspended/block
# evidence: False
import torch


def batches():
    with torch.no_grad():  #C
        for i in range(3):
            yield torch.full((2,), float(i))


w = torch.ones(2, requires_grad=True)
it = batches()
b = next(it)
loss = (w * b).sum()  #C
flag = loss.requires_grad  #R
print("evidence:", flag)
