# ok
# evidence: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
full = TensorDataset(torch.randn(60, 4), torch.randint(0, 3, (60,)))
train_set, test_set = random_split(full, [45, 15])
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters())
crit = nn.CrossEntropyLoss()


def run_epoch(loader, train):
    model.train(train)
    total, hits, n = 0.0, 0, 0
    with torch.set_grad_enabled(train):
        for xb, yb in loader:
            logits = model(xb)
            loss = crit(logits, yb)
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += float(loss) * len(xb)
            hits += int((logits.argmax(1) == yb).sum())
            n += len(xb)
    return total / n, hits / n, logits


for epoch in range(2):
    print(run_epoch(DataLoader(train_set, 15, shuffle=True), True)[:2])
    loss, acc, logits = run_epoch(DataLoader(test_set, 15), False)
print("evidence:", logits.requires_grad)
