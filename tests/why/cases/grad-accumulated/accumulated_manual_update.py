# grad-accumulated | wrong-value | accumulat/add, none/zero/clear
# evidence: True
import torch

x = torch.linspace(-1, 1, 20)
y = 2 * x
w = torch.tensor(0.0, requires_grad=True)
history = []
for step in range(4):
    loss = ((w * x - y) ** 2).mean()
    loss.backward()  #C
    history.append(abs(w.grad.item()))  #R
    with torch.no_grad():
        w -= 1e-4 * w.grad
print("evidence:", history[3] > 3.9 * history[0])
