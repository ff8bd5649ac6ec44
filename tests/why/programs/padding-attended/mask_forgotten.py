# padding-attended | attention mask/attention_mask
# evidence: trained
# A model that takes a mask and has a token for padding, as those of transformers do.
from types import SimpleNamespace

import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, words=40, width=16):
        super().__init__()
        self.config = SimpleNamespace(pad_token_id=0)
        self.words = nn.Embedding(words, width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.out = nn.Linear(width, 2)

    def forward(self, input_ids, attention_mask=None):
        x = self.words(input_ids)
        hidden = None if attention_mask is None else attention_mask == 0
        return self.out(self.attention(x, x, x, key_padding_mask=hidden, need_weights=False)[0].mean(1))


def collate(sequences):
    longest = max(map(len, sequences))
    return torch.stack([F.pad(sequence, (0, longest - len(sequence))) for sequence in sequences])


def main():
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        sequences = [torch.randint(1, 40, (n,)) for n in torch.randint(3, 12, (16,)).tolist()]
        labels = torch.stack([s[0] % 2 for s in sequences])
        loss = F.cross_entropy(model(input_ids=collate(sequences)), labels)  #C
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
