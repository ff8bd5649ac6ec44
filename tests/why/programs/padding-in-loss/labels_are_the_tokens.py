# padding-in-loss | padding, -100
# evidence: labels of padding that count: 40
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(10, 8), nn.Linear(8, 10)

    def forward(self, input_ids, attention_mask, labels):
        hidden = self.embedding(input_ids) * attention_mask.unsqueeze(-1)
        return nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), labels.flatten())


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
lengths = torch.tensor([2, 5, 3, 4, 8, 2, 7, 5, 4, 4, 6, 6])
attention_mask = (torch.arange(8) < lengths.unsqueeze(1)).long()
for step in range(6):
    input_ids = torch.randint(1, 10, (12, 8)) * attention_mask
    labels = input_ids.clone()  #C
    loss = model(input_ids, attention_mask=attention_mask, labels=labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("evidence: labels of padding that count:", int((attention_mask == 0).sum()))
