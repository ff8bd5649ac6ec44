# broadcast-loss | broadcast/shape
# evidence: fit follows the trusted samples: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Trials(Dataset):
    """Dose-response measurements with a quality weight; the cheap sensor has an offset."""

    def __init__(self, n=240):
        self.dose = torch.rand(n, 1) * 2
        self.cheap = torch.rand(n) < 0.5
        self.response = torch.tanh(2 * self.dose - 1) + 3.0 * self.cheap.float().unsqueeze(1)
        self.weight = torch.where(self.cheap, 0.01, 1.0)

    def __len__(self):
        return len(self.dose)

    def __getitem__(self, i):
        return self.dose[i], self.response[i], self.weight[i]


class DoseResponse(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, dose):
        return self.fc2(torch.tanh(self.fc1(dose)))


def weighted_mse(pred, target, weight):
    per_sample = F.mse_loss(pred, target, reduction="none")
    return (per_sample * weight).mean() / weight.mean()  #C


def main():
    torch.manual_seed(87)
    trials = Trials()
    loader = DataLoader(trials, batch_size=24, shuffle=True)
    model = DoseResponse()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(12):
        total = 0.0
        for dose, response, weight in loader:
            loss = weighted_mse(model(dose), response, weight)  #C
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 0:
            print(f"epoch {epoch} weighted mse {total / len(loader):.4f}")
    good = ~trials.cheap
    with torch.no_grad():
        gap = (model(trials.dose[good]) - trials.response[good]).mean().item()
    print("fit follows the trusted samples:", abs(gap) < 0.5)


if __name__ == "__main__":
    main()
