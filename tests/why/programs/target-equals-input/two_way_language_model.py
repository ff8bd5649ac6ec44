# target-equals-input
# evidence: a later token changes an earlier prediction: True
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY = 20


class TokenModel(nn.Module):
    def __init__(self, dim=24, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.encoder = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)  #C
        self.decoder = nn.Linear(2 * hidden, VOCABULARY)

    def forward(self, tokens):
        states, _ = self.encoder(self.embedding(tokens))  #C
        return self.decoder(states)


def corpus(n):
    follows = torch.randint(0, VOCABULARY, (VOCABULARY, 2))
    text = [3]
    for coin in torch.randint(0, 2, (n,)).tolist():
        text.append(int(follows[text[-1], coin]))
    return torch.tensor(text)


def run():
    torch.manual_seed(0)
    text = corpus(2000)
    model = TokenModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(80):
        starts = torch.randint(0, len(text) - 17, (12,))
        window = text[starts[:, None] + torch.arange(17)]
        logits = model(window[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        one = text[:16][None]
        two = one.clone()
        two[0, -1] = (two[0, -1] + 1) % VOCABULARY
        print("evidence: a later token changes an earlier prediction:", not torch.allclose(model(one)[0, 5], model(two)[0, 5]))


run()
