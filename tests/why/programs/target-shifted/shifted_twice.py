# target-shifted | shifted twice/two places
# evidence: the model learns to predict two on: True
import torch
from torch import nn


class Language(nn.Module):
    """Shifts the labels itself, as models of transformers do."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(12, 16), nn.Linear(16, 12)

    def forward(self, input_ids, labels):
        logits = self.head(self.embedding(input_ids))
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()), logits  #C


torch.manual_seed(0)
model = Language()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(60):
    start = torch.randint(0, 12, (16, 1))
    text = (start + torch.arange(11)) % 12
    loss, logits = model(text[:, :-1], labels=text[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
guess = model(torch.tensor([[3, 4, 5, 6]]), labels=torch.tensor([[3, 4, 5, 6]]))[1].argmax(-1)
print("evidence: the model learns to predict two on:", guess.tolist() == [[5, 6, 7, 8]])
