# ok
# evidence: weight matrices: 2, reconstruction improved: True
import torch
import torch.nn.functional as F
from torch import nn


class TiedAutoencoder(nn.Module):
    """The decoder uses the transposed encoder matrices."""

    def __init__(self, sizes=(20, 12, 5)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.decoder_bias = nn.ParameterList(nn.Parameter(torch.zeros(a)) for a in sizes[:-1])

    def encode(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x

    def decode(self, z):
        for i in reversed(range(len(self.layers))):
            z = F.linear(z, self.layers[i].weight.t(), self.decoder_bias[i])
            if i > 0:
                z = torch.tanh(z)
        return z

    def forward(self, x):
        return self.decode(self.encode(x))


def main():
    torch.manual_seed(28)
    mix = torch.randn(4, 20) / 2
    model = TiedAutoencoder()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for step in range(60):
        x = torch.tanh(torch.randn(48, 4) @ mix)
        loss = F.mse_loss(model(x), x)          # the input is its own target
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 15 == 14:
            print(f"step {step + 1} mse {losses[-1]:.4f}")
    matrices = sum(1 for p in model.parameters() if p.dim() == 2)
    print(f"weight matrices: {matrices}, reconstruction improved: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
