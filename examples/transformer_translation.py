"""nn.Transformer translates numbers written in digits into words."""

import argparse
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, START, END = 0, 1, 2
DIGITS = ["<pad>", "<s>", "</s>", *"0123456789"]
WORDS = ["<pad>", "<s>", "</s>", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "twice"]


def translate_exactly(digits):
    """Word by word; a digit that comes twice in a row becomes 'twice' and the word."""
    words, i = [], 0
    while i < len(digits):
        if i + 1 < len(digits) and digits[i] == digits[i + 1]:
            words.append(WORDS.index("twice"))
            i += 1
        words.append(digits[i])
        i += 1
    return words


class Sentences(Dataset):
    """Pairs of a number in digits and the same in words, as token ids."""

    def __init__(self, count, longest=7):
        lengths = torch.randint(3, longest + 1, (count,)).tolist()
        self.sources = [torch.randint(3, 13, (length,)) for length in lengths]

    def __len__(self):
        return len(self.sources)

    def __getitem__(self, index):
        source = self.sources[index]
        return source, torch.tensor([START, *translate_exactly(source.tolist()), END])


def collate(pairs):
    sources, targets = zip(*pairs)
    return (pad_sequence(sources, batch_first=True, padding_value=PAD),
            pad_sequence(targets, batch_first=True, padding_value=PAD))


class PositionalEncoding(nn.Module):
    def __init__(self, width, dropout, longest=32):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(longest).unsqueeze(1)
        frequency = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        encoding = torch.zeros(longest, width)
        encoding[:, 0::2] = torch.sin(position * frequency)
        encoding[:, 1::2] = torch.cos(position * frequency)
        self.register_buffer("encoding", encoding)

    def forward(self, x):
        return self.dropout(x + self.encoding[: x.size(1)])


class Translator(nn.Module):
    def __init__(self, width=32, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.width = width
        self.source_embedding = nn.Embedding(len(DIGITS), width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(len(WORDS), width, padding_idx=PAD)
        self.positions = PositionalEncoding(width, dropout)
        self.transformer = nn.Transformer(width, heads, layers, layers, dim_feedforward=64, dropout=dropout,
                                          batch_first=True)
        self.head = nn.Linear(width, len(WORDS))

    def embed(self, embedding, tokens):
        return self.positions(embedding(tokens) * math.sqrt(self.width))

    def forward(self, source, target):
        source_padding = source == PAD
        future = torch.triu(torch.ones(target.size(1), target.size(1), dtype=torch.bool), diagonal=1)
        output = self.transformer(
            self.embed(self.source_embedding, source),
            self.embed(self.target_embedding, target),
            tgt_mask=future,
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source_padding,
        )
        return self.head(output)

    @torch.no_grad()
    def translate(self, source, longest=12):
        target = torch.tensor([[START]])
        while target.size(1) < longest and target[0, -1] != END:
            following = self(source, target)[:, -1].argmax(dim=-1, keepdim=True)
            target = torch.cat([target, following], dim=1)
        return [WORDS[i] for i in target[0, 1:].tolist()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = Translator()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))
    loader = DataLoader(Sentences(16 * args.steps), batch_size=16, shuffle=True, collate_fn=collate)

    for step, (source, target) in enumerate(loader):
        logits = model(source, target[:, :-1])
        loss = criterion(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        print(f"step {step} loss {loss.item():.6f}")

    model.eval()
    print("2773 is", *model.translate(torch.tensor([[DIGITS.index(d) for d in "2773"]])))


if __name__ == "__main__":
    main()
