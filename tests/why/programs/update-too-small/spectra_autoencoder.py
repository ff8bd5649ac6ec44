# update-too-small, loss-scaled-twice | loss/gradient/update, scale/small/tiny
# evidence: weights identical to their initial values to 5 digits: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LOSS_SCALE = 2.0 ** 24


class AutoEncoder(nn.Module):
    def __init__(self, n_in=24, code=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 16), nn.Tanh(), nn.Linear(16, code))
        self.decoder = nn.Sequential(nn.Linear(code, 16), nn.Tanh(), nn.Linear(16, n_in))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def make_spectra(n=160, n_in=24):
    """Spectra made of four fixed peaks of varying height."""
    grid = torch.linspace(0, 1, n_in)
    peaks = torch.stack([torch.exp(-((grid - c) / 0.08) ** 2) for c in (0.15, 0.4, 0.6, 0.85)])
    return torch.rand(n, 4) @ peaks


def scaled(loss):
    """Static loss scale, keeps the values inside the range of the number format."""
    return loss / LOSS_SCALE  #C


def fit(model, loader, epochs=6, lr=0.5):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for (x,) in loader:
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            scaled(loss).backward()  #C
            optimizer.step()
            running += loss.item() * len(x)
        print(f"epoch {epoch}: reconstruction {running / len(loader.dataset):.5f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(make_spectra()), batch_size=16, shuffle=True)
    model = AutoEncoder()
    start = [p.detach().clone() for p in model.parameters()]
    fit(model, loader)
    same = all(torch.allclose(p, s, rtol=0.0, atol=1e-5) for p, s in zip(model.parameters(), start))
    print("weights identical to their initial values to 5 digits:", same)


if __name__ == "__main__":
    main()
