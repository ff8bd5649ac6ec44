import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(0, 60, (4, 10))
mask = torch.ones_like(ids)
mask[1, 6:] = 0
for _ in range(3):
    loss = model(input_ids=ids, attention_mask=mask, labels=torch.tensor([0, 1, 1, 0])).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
