# never-required-grad | error | requires_grad
# evidence: element 0 of tensors does not require grad and does not have a grad_fn
import torch

a = torch.tensor([2.0, 3.0])  #C
b = torch.tensor([1.0, 4.0])  #C
q = (3 * a ** 3 - b ** 2).sum()
message = ""
try:
    q.backward()  #R
except RuntimeError as e:
    message = str(e)
print("evidence:", message)
