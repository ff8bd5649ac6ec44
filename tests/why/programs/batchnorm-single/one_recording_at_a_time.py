# batchnorm-single | batchnorm/batch norm/bn, single/one/size 1/batch of 1
# evidence: explains the level of a recording: False
# parameters: conv.weight, norm.weight, norm.bias
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoudnessNet(nn.Module):
    """Predicts the loudness of a recording (variable length)."""

    def __init__(self, channels=8):
        super().__init__()
        self.conv = nn.Conv1d(1, channels, 5, bias=False)
        self.norm = nn.BatchNorm1d(channels)  #C
        self.head = nn.Linear(channels, 1)

    def forward(self, wave):
        h = F.relu(self.norm(self.conv(wave)))  #C
        return self.head(h.mean(dim=-1)).squeeze(-1)


def recordings(n=40):
    items = []
    for _ in range(n):
        length = int(torch.randint(40, 80, (1,)))
        loudness = 0.2 + 1.8 * torch.rand(1)
        items.append((loudness * torch.randn(length), loudness.item()))
    return items


def collate(items):
    length = min(len(w) for w, _ in items)
    wave = torch.stack([w[:length] for w, _ in items]).unsqueeze(1)
    return wave, torch.tensor([v for _, v in items])


def train(model, data, epochs=10, group=1, lr=2e-2):  #C
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        errors = []
        for k in range(0, len(data), group):
            wave, target = collate(data[k:k + group])
            loss = F.mse_loss(model(wave), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors.append(loss.item())
        print(f"epoch {epoch} mse {sum(errors) / len(errors):.4f}")
    return sum(errors) / len(errors)


def main():
    torch.manual_seed(83)
    data = recordings()
    model = LoudnessNet()
    error = train(model, data)
    spread = torch.tensor([v for _, v in data]).var().item()
    print("explains the level of a recording:", error < 0.6 * spread)


if __name__ == "__main__":
    main()
