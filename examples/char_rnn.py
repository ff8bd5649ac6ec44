"""A character-level LSTM learns a nursery rhyme and then goes on by itself."""

import argparse

import torch
from torch import nn

ANIMALS = ["cow", "sheep", "duck", "horse"]
SOUNDS = ["moo", "baa", "quack", "neigh"]
TEXT = "".join(
    f"The farmer has a {animal}, and the {animal} says {sound}.\n"
    f"With a {sound}, {sound} here and a {sound}, {sound} there.\n"
    for animal, sound in zip(ANIMALS, SOUNDS)
) * 8


class CharRNN(nn.Module):
    def __init__(self, vocabulary, embedding=24, hidden=64, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens, state=None):
        output, state = self.lstm(self.embedding(tokens), state)
        return self.head(output), state


def batchify(data, batch):
    """The text as `batch` long rows, side by side."""
    length = len(data) // batch
    return data[: length * batch].view(batch, length)


@torch.no_grad()
def sample(model, characters, prompt, length):
    model.eval()
    tokens = torch.tensor([[characters.index(c) for c in prompt]])
    state, text = None, prompt
    for _ in range(length):
        logits, state = model(tokens, state)
        probabilities = torch.softmax(logits[0, -1] / 0.8, dim=-1)
        tokens = torch.multinomial(probabilities, num_samples=1).unsqueeze(0)
        text += characters[tokens.item()]
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--window", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    characters = sorted(set(TEXT))
    data = batchify(torch.tensor([characters.index(c) for c in TEXT]), batch=16)
    model = CharRNN(len(characters))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    state, position = None, 0
    for step in range(args.steps):
        if position + args.window >= data.size(1):
            state, position = None, 0
        inputs = data[:, position : position + args.window]
        targets = data[:, position + 1 : position + args.window + 1]
        position += args.window

        # The state goes on to the next window, its history does not.
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(inputs, state)
        loss = criterion(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))

        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")

    print(sample(model, characters, "The ", 60))


if __name__ == "__main__":
    main()
