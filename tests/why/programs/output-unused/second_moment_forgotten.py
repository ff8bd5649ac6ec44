# output-unused
# evidence: columns with a gradient: [True, False]
import torch
import torch.nn as nn
import torch.nn.functional as F


class Gaussian(nn.Module):
    """Predicts mean and logarithm of the variance."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        return self.net(x)


def negative_log_likelihood(prediction, y):
    mean, log_variance = prediction[:, 0], prediction[:, 0].detach() * 0
    return (0.5 * (log_variance + (y - mean) ** 2 / log_variance.exp())).mean()


def main():
    torch.manual_seed(0)
    x = torch.randn(500, 3)
    y = x[:, 0] + (0.1 + x[:, 1].abs()) * torch.randn(500)
    model = Gaussian()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(80):
        rows = torch.randperm(500)[:64]
        prediction = model(x[rows])  #C
        loss = negative_log_likelihood(prediction, y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    prediction = model(x)
    (g,) = torch.autograd.grad(negative_log_likelihood(prediction, y), prediction)
    print("evidence: columns with a gradient:", (g != 0).any(0).tolist())


main()
