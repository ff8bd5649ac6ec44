# target-equals-input | target/input, same/equal/identical/in place/in-place/add_
# evidence: target of the loss is the same tensor as the input: True
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SignalDataset(Dataset):
    def __init__(self, n=128, length=32):
        t = torch.linspace(0, 1, length)
        phase = torch.rand(n, 1) * 2 * math.pi
        freq = torch.randint(1, 4, (n, 1)).float()
        self.signals = torch.sin(2 * math.pi * freq * t + phase)

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, i):
        return self.signals[i].clone()


class Denoiser(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.enc = nn.Conv1d(1, channels, 5, padding=2)
        self.mid = nn.Conv1d(channels, channels, 5, padding=2)
        self.dec = nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, x):
        h = torch.tanh(self.enc(x.unsqueeze(1)))
        h = torch.tanh(self.mid(h))
        return self.dec(h).squeeze(1)


def corrupt(signal, sigma):
    """Adds white noise to a batch of signals."""
    return signal.add_(torch.randn_like(signal) * sigma)  #C


class DenoisingTrainer:
    def __init__(self, model, lr=1e-2, sigma=0.5):
        self.model = model
        self.sigma = sigma
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()
        self.always_same = True

    def step(self, clean):
        noisy = corrupt(clean, self.sigma)
        restored = self.model(noisy)
        loss = self.loss_fn(restored, clean)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.always_same &= torch.equal(noisy, clean)
        return loss.item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(SignalDataset(), batch_size=32, shuffle=True)
    trainer = DenoisingTrainer(Denoiser())
    for epoch in range(10):
        losses = [trainer.step(batch) for batch in loader]
        if epoch % 3 == 0:
            print(f"epoch {epoch}: reconstruction mse {sum(losses) / len(losses):.4f}")
    print("target of the loss is the same tensor as the input:", trainer.always_same)


if __name__ == "__main__":
    main()
