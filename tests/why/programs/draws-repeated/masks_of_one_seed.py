# draws-repeated
# evidence: two masks are equal: True
import torch
import torch.nn as nn
import torch.nn.functional as F


def hide(x, share=0.3, seed=7):
    generator = torch.Generator().manual_seed(seed)
    kept = torch.rand(x.shape, generator=generator) > share  #C
    return x * kept, kept


class Imputer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, width))

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    table = torch.randn(400, 3) @ torch.randn(3, 10)
    model = Imputer(10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(50):
        rows = torch.randint(0, 400, (40,))
        given, kept = hide(table[rows])
        loss = F.mse_loss(model(given)[~kept], table[rows][~kept])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("evidence: two masks are equal:", torch.equal(hide(table[:9])[1], hide(table[9:18])[1]))


main()
