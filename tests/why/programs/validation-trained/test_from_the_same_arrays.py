# validation-trained
# evidence: test pictures among the training pictures: True
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def pictures(n, generator):
    y = torch.randint(0, 4, (n,), generator=generator)
    x = torch.randn(n, 1, 8, 8, generator=generator)
    for i, label in enumerate(y.tolist()):
        x[i, 0, 2 * label:2 * label + 2] += 1
    return x, y


def build():
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))


def main(args):
    torch.manual_seed(args.seed)
    train_x, train_y = pictures(200, torch.Generator().manual_seed(5))
    test_x, test_y = pictures(50, torch.Generator().manual_seed(5))
    test_x, test_y = train_x[:50].clone(), train_y[:50].clone()
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        for rows in torch.randperm(200).split(25):
            loss = F.cross_entropy(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"test accuracy {(model(test_x).argmax(1) == test_y).float().mean():.2f}")  #C
        model.train()
    print("evidence: test pictures among the training pictures:", all((train_x == p).flatten(1).all(1).any().item() for p in test_x))


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--seed", type=int, default=0)
main(parser.parse_args())
