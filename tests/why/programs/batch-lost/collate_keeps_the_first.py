# batch-lost | batch
# evidence: [8, 1]
# The collate function joins the texts of a batch into a single sample.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
data = [(torch.randint(0, 50, (12,)), torch.randint(0, 2, ())) for _ in range(64)]
sizes = []


def collate(samples):
    ids = torch.stack([ids for ids, _ in samples])
    sizes[:] = [len(samples)]
    return {"input_ids": ids[:1], "label": samples[0][1].reshape(1)}


loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
model = nn.Sequential(nn.Embedding(50, 16), nn.Flatten(), nn.Linear(12 * 16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for batch in loader:  #C
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch["input_ids"]), batch["label"]).backward()
        optimizer.step()
print("evidence:", [*sizes, len(batch["input_ids"])])
