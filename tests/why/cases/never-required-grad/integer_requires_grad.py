# never-required-grad | error | float
# evidence: True
import torch

failed = False
try:
    x = torch.tensor([1, 2, 3], requires_grad=True)  #R #C
except RuntimeError as e:
    failed = "floating point" in str(e)
print("evidence:", failed)
