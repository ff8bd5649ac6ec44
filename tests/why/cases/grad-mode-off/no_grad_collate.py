# grad-mode-off | none | no_grad
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)
prompt = nn.Parameter(torch.randn(2, 6))
encoder = nn.Linear(6, 6)
head = nn.Linear(6, 3)


class Pipeline:
    def __init__(self):
        self.calls = 0

    def encode(self, tokens):
        self.calls += 1
        with torch.no_grad():  #C
            full = torch.cat([prompt, tokens])  #C
            hidden = encoder(full)
        return hidden.mean(0)


pipe = Pipeline()
logits = head(pipe.encode(torch.randn(5, 6)))
loss = nn.functional.cross_entropy(logits[None], torch.tensor([1]))
loss.backward()
g = prompt.grad  #R
print("evidence:", g is None, head.weight.grad is not None)
