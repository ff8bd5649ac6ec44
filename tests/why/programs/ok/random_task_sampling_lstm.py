# ok
# evidence: languages trained: 4, mean loss went down: True
import random

import torch
from torch import nn


class MultilingualTagger(nn.Module):
    """A shared LSTM with one embedding table and one output layer per language."""

    def __init__(self, languages, vocab=15, dim=12, tags=3):
        super().__init__()
        self.embed = nn.ModuleDict({l: nn.Embedding(vocab, dim) for l in languages})
        self.lstm = nn.LSTM(dim, 24, batch_first=True)
        self.out = nn.ModuleDict({l: nn.Linear(24, tags) for l in languages})

    def forward(self, ids, language):
        h, _ = self.lstm(self.embed[language](ids))
        return self.out[language](h)


class Corpus:
    def __init__(self, languages, vocab=15):
        self.rules = {l: torch.randint(0, 3, (vocab,)) for l in languages}
        self.vocab = vocab

    def batch(self, language, n=16, length=6):
        ids = torch.randint(0, self.vocab, (n, length))
        return ids, self.rules[language][ids]


def main():
    torch.manual_seed(35)
    random.seed(35)
    languages, sizes = ["de", "fr", "it", "rm"], [4, 3, 2, 1]     # small languages come up seldom
    corpus, model = Corpus(languages), MultilingualTagger(languages)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    seen, losses = set(), []
    for step in range(90):
        lang = languages[step] if step < 4 else random.choices(languages, sizes)[0]
        ids, tags = corpus.batch(lang)
        loss = criterion(model(ids, lang).transpose(1, 2), tags)
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen.add(lang)
        losses.append(loss.item())
        if step % 20 == 19:
            print(f"step {step + 1} {lang} {loss.item():.3f}")
    print(f"languages trained: {len(seen)}, mean loss went down: {sum(losses[-15:]) < sum(losses[:15])}")


if __name__ == "__main__":
    main()
