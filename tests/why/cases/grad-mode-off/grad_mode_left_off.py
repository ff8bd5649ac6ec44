# grad-mode-off | error | set_grad_enabled, off
# evidence: True
import torch
import torch.nn as nn

model = nn.Linear(2, 1)
x = torch.randn(4, 2)


def validate():
    torch.set_grad_enabled(False)  #C
    return model(x).mean().item()


failed = False
for epoch in range(2):
    loss = model(x).pow(2).mean()  #C
    try:
        loss.backward()  #R
    except RuntimeError:
        failed = True
        break
    validate()
print("evidence:", failed)
