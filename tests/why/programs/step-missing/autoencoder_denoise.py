# step-missing | step
# evidence: weights changed by training: False
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset


class Denoiser(nn.Module):
    def __init__(self, width=16, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 12), nn.ReLU(), nn.Linear(12, code))
        self.decoder = nn.Sequential(nn.Linear(code, 12), nn.ReLU(), nn.Linear(12, width))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def waves(n=128, width=16):
    t = torch.linspace(0, 6.28, width)
    phase = torch.rand(n, 1) * 6.28
    return torch.sin(t + phase)


def train(model, loader, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs)
    mse = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for (clean,) in loader:  #C
            noisy = clean + 0.1 * torch.randn_like(clean)
            optimizer.zero_grad()
            loss = mse(model(noisy), clean)
            loss.backward()  #C
            total += loss.item()
        scheduler.step()  #C
        print(f"epoch {epoch} loss {total / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.5f}")


def main():
    torch.manual_seed(17)
    model = Denoiser()
    before = [p.detach().clone() for p in model.parameters()]
    train(model, DataLoader(TensorDataset(waves()), batch_size=16, shuffle=True), epochs=5)
    changed = any(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
    print("weights changed by training:", changed)


if __name__ == "__main__":
    main()
