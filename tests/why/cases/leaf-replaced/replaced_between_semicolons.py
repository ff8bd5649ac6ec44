# leaf-replaced | none | leaf
# evidence: None
import warnings

import torch

warnings.simplefilter("ignore")
p = torch.ones(2, requires_grad=True); p = p.to(torch.float64); (p * 2).sum().backward(); print("evidence:", p.grad)  #R #C
