# sigmoid-before-logits | sigmoid, logits/bcewithlogits/bcewithlogitsloss
# evidence: last loss below 0.45: False
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ChurnModel(nn.Module):
    """Categorical plan id + numeric usage features -> churn score."""

    def __init__(self, n_plans=6, n_numeric=5):
        super().__init__()
        self.plan = nn.Embedding(n_plans, 4)
        self.fc1 = nn.Linear(4 + n_numeric, 24)
        self.fc2 = nn.Linear(24, 1)
        self.act = nn.ReLU()

    def forward(self, plan, numeric):
        h = torch.cat([self.plan(plan), numeric], dim=1)
        h = self.act(self.fc1(h))
        return torch.sigmoid(self.fc2(h)).squeeze(-1)  #C


def synth_customers(n):
    plan = torch.randint(0, 6, (n,))
    numeric = torch.randn(n, 5)
    score = 2.0 * numeric[:, 0] - 1.5 * numeric[:, 1] + (plan.float() - 2.5)
    return TensorDataset(plan, numeric, (score > 0).float())


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--batch-size", type=int, default=32)
    return p.parse_args([])


def main():
    args = parse_args()
    torch.manual_seed(1)
    loader = DataLoader(synth_customers(256), batch_size=args.batch_size, shuffle=True)
    model = ChurnModel()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(args.epochs):
        losses = []
        for plan, numeric, churned in loader:
            pred = model(plan, numeric)
            loss = loss_fn(pred, churned)  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        mean = sum(losses) / len(losses)
        print(f"epoch {epoch}: {mean:.4f}")
    print("last loss below 0.45:", mean < 0.45)


if __name__ == "__main__":
    main()
