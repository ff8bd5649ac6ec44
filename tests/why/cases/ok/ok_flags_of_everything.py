# ok
# evidence: False
import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(8, 3)
y = torch.randint(0, 2, (8,))
model = nn.Linear(3, 2)
logits = model(x)
loss = nn.functional.cross_entropy(logits, y)
pred = logits.argmax(1)
acc = (pred == y).float().mean()
for name, t in dict(x=x, y=y, logits=logits, loss=loss, pred=pred, acc=acc).items():
    print(f"{name:8} requires_grad={t.requires_grad} grad_fn={t.grad_fn} is_leaf={t.is_leaf}")
loss.backward()
print("evidence:", model.weight.grad.shape == (2, 3), acc.item() >= 0)
print("evidence:", pred.requires_grad)
