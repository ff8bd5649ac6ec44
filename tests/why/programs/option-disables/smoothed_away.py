# option-disables | label_smoothing
# evidence: done
"""Smoothed away."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(500, 10)
    y = (x @ torch.randn(10, 4)).argmax(1)
    model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 4))
    criterion = nn.CrossEntropyLoss(label_smoothing=1.0)  #C
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for a, b in DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True):
            loss = criterion(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
