# retain-graph-needless, graph-kept | retain_graph/retain graph/retained
# evidence: graph of the last batch still there: True
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ToneNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, kernel_size=5, stride=2)
        self.bn = nn.BatchNorm1d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, wave):
        h = torch.relu(self.bn(self.conv(wave)))
        return self.fc(h.mean(dim=-1))


def tones(n=96, length=32):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(length, dtype=torch.float32)
    freq = torch.tensor([0.3, 0.8, 1.6])[y].unsqueeze(1)
    wave = torch.sin(freq * t + 6.28 * torch.rand(n, 1))
    return TensorDataset(wave.unsqueeze(1), y)


def graph_alive(loss, scores):
    try:
        torch.autograd.grad(loss, scores)
        return True
    except RuntimeError:
        return False


class Trainer:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def step(self, wave, label):
        self.optimizer.zero_grad()
        scores = self.model(wave)
        loss = self.criterion(scores, label)
        loss.backward(retain_graph=True)  #C
        self.optimizer.step()
        return loss, scores

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            total = 0.0
            for wave, label in loader:
                loss, scores = self.step(wave, label)
                total += loss.item()
            print(f"epoch {epoch} loss {total / len(loader):.4f}")
        return graph_alive(loss, scores)


def main():
    torch.manual_seed(14)
    trainer = Trainer(ToneNet())
    alive = trainer.fit(DataLoader(tones(), batch_size=16, shuffle=True), epochs=5)
    print("graph of the last batch still there:", alive)


if __name__ == "__main__":
    main()
