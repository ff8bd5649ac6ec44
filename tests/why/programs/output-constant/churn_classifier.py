# output-constant, zero-local-derivative, saturated, loss-constant | softmax, dim/one/size 1/single/1/constant
# evidence: distinct outputs over the validation set: [1.0], weights moved: False
# parameters: fc1.weight, fc1.bias, fc2.weight, fc2.bias, fc3.weight, fc3.bias
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class ChurnModel(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.fc1 = nn.Linear(n_features, 24)
        self.fc2 = nn.Linear(24, 12)
        self.fc3 = nn.Linear(12, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = self.drop(torch.tanh(self.fc2(x)))
        return torch.softmax(self.fc3(x), dim=1)  #C


def make_customers(n=240):
    months = torch.rand(n) * 2 - 1
    calls = torch.randn(n)
    spend = torch.randn(n)
    plan = torch.randint(0, 2, (n,)).float()
    x = torch.stack([months, calls, spend, plan], dim=1)
    leaves = (1.2 * calls - 1.5 * months - 0.5 * spend + 0.2 * torch.randn(n)) > 0
    return TensorDataset(x, leaves.float().unsqueeze(1))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr):
        self.model = model
        self.train_loader, self.val_loader = train_loader, val_loader
        self.criterion = nn.BCELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        out = torch.cat([self.model(x) for x, _ in self.val_loader])
        y = torch.cat([y for _, y in self.val_loader])
        return out, ((out > 0.5).float() == y).float().mean().item()


def main():
    torch.manual_seed(0)
    train_set, val_set = random_split(make_customers(), [200, 40])
    model = ChurnModel(4)
    first = [p.detach().clone() for p in model.parameters()]
    trainer = Trainer(model, DataLoader(train_set, 25, shuffle=True), DataLoader(val_set, 40), lr=5e-3)
    for epoch in range(6):
        loss = trainer.train_epoch()
        out, acc = trainer.validate()
        print(f"epoch {epoch}: loss {loss:.3f} val acc {acc:.2f}")
    moved = any(not torch.equal(a, b) for a, b in zip(first, model.parameters()))
    print(f"distinct outputs over the validation set: {out.unique().tolist()[:3]}, weights moved: {moved}")


if __name__ == "__main__":
    main()
