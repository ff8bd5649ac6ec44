# leaf-inplace | error | leaf, in-place/in place, no_grad
# evidence: True
import torch
import torch.nn as nn

emb = nn.Embedding(4, 3)
failed = False
try:
    emb.weight[0] = torch.zeros(3)  #R #C
except RuntimeError as e:
    failed = "leaf Variable" in str(e)
print("evidence:", failed)
