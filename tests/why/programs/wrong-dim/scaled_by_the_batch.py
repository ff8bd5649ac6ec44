# wrong-dim
# evidence: other samples change a prediction: True
import torch
import torch.nn as nn


class RankPooling(nn.Module):
    """Weighs the chemical features of a wine by attention over them."""

    def __init__(self, features):
        super().__init__()
        self.score = nn.Linear(features, features)
        self.mlp = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        scores = self.score(x)
        gates = scores.exp() / scores.exp().sum(0, keepdim=True)  #C
        return self.mlp(x * gates * x.shape[1]).squeeze(1)


class Trainer:
    def __init__(self, features=8):
        self.model = RankPooling(features)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.criterion = nn.MSELoss()

    def fit(self, x, y, steps=120, batch=40):
        for _ in range(steps):
            rows = torch.randint(0, len(x), (batch,))
            loss = self.criterion(self.model(x[rows]), y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    x = torch.randn(400, 8)
    y = x[:, 0] * 2 - x[:, 3].abs() + 0.1 * torch.randn(400)
    trainer = Trainer()
    print(f"last loss {trainer.fit(x, y):.3f}")
    with torch.no_grad():
        one, two = trainer.model(x[:10])[0], trainer.model(torch.cat([x[:1], x[50:59]]))[0]
    print("evidence: other samples change a prediction:", not torch.allclose(one, two, rtol=1e-3))
