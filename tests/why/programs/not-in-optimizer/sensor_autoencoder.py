# not-in-optimizer | optimizer
# evidence: encoder moved: False
# parameters: encoder.0.weight, encoder.0.bias, encoder.2.weight, encoder.2.bias
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(44)


class AutoEncoder(nn.Module):
    def __init__(self, n_in=24, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 32), nn.ELU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ELU(), nn.Linear(32, n_in))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class SensorStream:
    """Readings of 24 sensors driven by four hidden causes."""

    def __init__(self):
        self.mix = torch.randn(4, 24)

    def batch(self, n):
        return torch.tanh(torch.randn(n, 4) @ self.mix * 0.5) + 0.05 * torch.randn(n, 24)


class Reconstructor:
    def __init__(self, lr=3e-3):
        self.model = AutoEncoder()
        self.optimizer = torch.optim.Adam(self.model.decoder.parameters(), lr=lr)  #C
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=20, gamma=0.5)

    def step(self, x):
        noisy = x + 0.1 * torch.randn_like(x)
        loss = F.mse_loss(self.model(noisy), x)
        self.model.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def save(self, folder):
        torch.save(self.model.state_dict(), os.path.join(folder, "ae.pt"))


def main():
    stream, rec = SensorStream(), Reconstructor()
    first = [p.detach().clone() for p in rec.model.encoder.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        for step in range(1, 61):
            loss = rec.step(stream.batch(64))
            if step % 20 == 0:
                rec.save(folder)
                print(f"step {step} mse {loss:.4f}")
    print("encoder moved:", any(not torch.equal(a, b) for a, b in zip(first, rec.model.encoder.parameters())))


if __name__ == "__main__":
    main()
