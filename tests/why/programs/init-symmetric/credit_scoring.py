# init-symmetric | constant/same/identical/equal/symmetr
# evidence: hidden units identical after training: True
# parameters: fc1.weight, fc1.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class CreditNet(nn.Module):
    def __init__(self, n_in=6, hidden=16):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, 1)
        self.reset()

    def reset(self):
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.constant_(m.weight, 0.1)  #C
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(1)


def applicants(n=256):
    x = torch.randn(n, 6)
    y = (x[:, 0] * x[:, 1] > 0).float()
    return TensorDataset(x, y)


def main():
    torch.manual_seed(25)
    loader = DataLoader(applicants(), batch_size=32, shuffle=True)
    model = CreditNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(10):
        total, hits = 0.0, 0
        for x, y in loader:
            logits = model(x)
            loss = F.binary_cross_entropy_with_logits(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            hits += ((logits > 0).float() == y).sum().item()
        print(f"epoch {epoch} loss {total / len(loader):.4f} acc {hits / 256:.3f}")
    w = model.fc1.weight
    print("hidden units identical after training:", torch.allclose(w, w[:1].expand_as(w), atol=1e-3))


if __name__ == "__main__":
    main()
