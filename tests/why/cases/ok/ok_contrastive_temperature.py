# ok
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
img, txt = nn.Linear(8, 4), nn.Linear(6, 4)
logit_scale = nn.Parameter(torch.tensor(2.0))
opt = torch.optim.AdamW([*img.parameters(), *txt.parameters(), logit_scale], lr=1e-3)
for _ in range(2):
    a = nn.functional.normalize(img(torch.randn(5, 8)), dim=-1)
    b = nn.functional.normalize(txt(torch.randn(5, 6)), dim=-1)
    logits = logit_scale.exp() * a @ b.t()
    labels = torch.arange(5)
    loss = (nn.functional.cross_entropy(logits, labels) + nn.functional.cross_entropy(logits.t(), labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        logit_scale.clamp_(0, 4.6)
print("evidence:", logit_scale.grad is not None, img.weight.grad is not None)
