# leaf-replaced, not-in-optimizer, parameter-rewrapped | optimizer/parameter
# evidence: largest change of a code direction over 0.001: False
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)

N_SHAPES = 8


class AutoDecoder(nn.Module):
    """Signed distance of circles from a code per shape."""

    def __init__(self, code_dim=6, hidden=32):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(N_SHAPES, code_dim))
        self.net = nn.Sequential(
            nn.Linear(code_dim + 2, hidden), nn.Softplus(), nn.Linear(hidden, hidden), nn.Softplus(), nn.Linear(hidden, 1)
        )

    def project_codes(self, radius=1.0):
        self.codes = nn.Parameter(F.normalize(self.codes.data, dim=1) * radius)  #C

    def forward(self, shape, xy):
        return self.net(torch.cat([self.codes[shape], xy], dim=1)).squeeze(1)


def sample_points(n):
    shape = torch.randint(0, N_SHAPES, (n,))
    xy = torch.rand(n, 2) * 2 - 1
    radius = 0.2 + 0.6 * shape.float() / N_SHAPES
    return shape, xy, xy.norm(dim=1) - radius


def train(model, epochs=6, batches=8):
    opt = torch.optim.Adam([
        {"params": model.net.parameters(), "lr": 5e-3},
        {"params": [model.codes], "lr": 2e-2},  #C
    ])
    for epoch in range(epochs):
        model.project_codes()  #C
        total = 0.0
        for _ in range(batches):
            shape, xy, sdf = sample_points(128)
            loss = F.l1_loss(model(shape, xy), sdf)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} l1 {total / batches:.4f}")


def main():
    model = AutoDecoder()
    first = F.normalize(model.codes.detach().clone(), dim=1)
    train(model)
    last = F.normalize(model.codes.detach(), dim=1)
    print("largest change of a code direction over 0.001:", (first - last).abs().max().item() > 0.001)


if __name__ == "__main__":
    main()
