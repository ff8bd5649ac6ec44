# ok |
# evidence: [8, 1]
# The texts of a batch are packed into one row, with a label for each.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
data = [(torch.randint(0, 50, (12,)), torch.randint(0, 2, ())) for _ in range(64)]
sizes = []


def collate(samples):
    ids = torch.stack([ids for ids, _ in samples])
    sizes[:] = [len(samples)]
    return {"input_ids": ids.reshape(1, -1), "label": torch.stack([label for _, label in samples])}


loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
model = nn.Sequential(nn.Embedding(50, 16), nn.Unflatten(1, (8, 12)), nn.Flatten(2), nn.Linear(12 * 16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for batch in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch["input_ids"])[0], batch["label"]).backward()
        optimizer.step()
print("evidence:", [*sizes, len(batch["input_ids"])])
