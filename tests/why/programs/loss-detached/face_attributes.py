# loss-detached, value-copied-out | item
# evidence: age head moved: False
# parameters: age_head.weight, age_head.bias
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FaceNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.smile_head = nn.Linear(width, 1)
        self.age_head = nn.Linear(width, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.smile_head(h).squeeze(1), self.age_head(h).squeeze(1)


def faces(n):
    x = torch.randn(n, 16)
    smile = (x[:, 0] + x[:, 1] > 0).float()
    age = torch.tanh(x[:, 2]) + 0.5 * x[:, 3]
    return TensorDataset(x, smile, age)


def train(model, loader, args):
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        sums = {"smile": 0.0, "age": 0.0, "total": 0.0}
        for x, smile, age in loader:
            smile_logit, age_pred = model(x)
            smile_loss = F.binary_cross_entropy_with_logits(smile_logit, smile)
            age_loss = F.smooth_l1_loss(age_pred, age).item()  #C
            loss = smile_loss + args.age_weight * age_loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            sums["smile"] += smile_loss.item()
            sums["age"] += age_loss
            sums["total"] += loss.item()
        print(f"epoch {epoch} " + " ".join(f"{k} {v / len(loader):.3f}" for k, v in sums.items()))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--age-weight", type=float, default=0.5)
    args = ap.parse_args([])
    torch.manual_seed(40)
    loader = DataLoader(faces(256), batch_size=32, shuffle=True)
    model = FaceNet()
    before = model.age_head.weight.detach().clone()
    train(model, loader, args)
    print("age head moved:", not torch.equal(before, model.age_head.weight))


if __name__ == "__main__":
    main()
