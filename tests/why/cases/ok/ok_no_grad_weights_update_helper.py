# ok
# evidence: True
import torch

torch.manual_seed(0)


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
X = torch.randn(40, 2)
Y = X @ torch.tensor([[2.0], [-3.4]]) + 4.2
for epoch in range(3):
    for i in range(0, 40, 10):
        l = ((X[i:i + 10] @ w + b - Y[i:i + 10].reshape(-1, 1)) ** 2 / 2)
        l.sum().backward()
        sgd([w, b], 0.03, 10)
    with torch.no_grad():
        print(epoch, float(((X @ w + b - Y) ** 2 / 2).mean()) >= 0)
print("evidence:", w.is_leaf)
