# grad-mode-off | error | inference
# evidence: True
import torch
import torch.nn as nn

backbone, head = nn.Linear(4, 4), nn.Linear(4, 2)
with torch.inference_mode():  #C
    feats = backbone(torch.randn(3, 4))  #C
failed = False
try:
    out = head(feats)  #R
    out.sum().backward()
except RuntimeError as e:
    failed = "nference" in str(e)
print("evidence:", failed)
