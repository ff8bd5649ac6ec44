# frozen | contains
# evidence: done
"""Img is in two places."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Captioner(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.img = nn.Linear(6, d)
        self.text = nn.ModuleDict({"words": nn.Embedding(12, d), "img_attn": nn.Linear(d, d)})
        self.out = nn.Linear(d, 12)

    def forward(self, x, words):
        h = self.text["words"](words)
        return self.out(h + self.text["img_attn"](self.img(x))[:, None])


def freeze_pictures(model):
    for name, p in model.named_parameters():
        if "img" in name:  #C
            p.requires_grad = False  #C


def main():
    torch.manual_seed(0)
    model = Captioner()
    freeze_pictures(model)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    for step in range(30):
        x, words = torch.randn(16, 6), torch.randint(0, 12, (16, 5))
        goal = (words + (x[:, :1] > 0)) % 12
        loss = F.cross_entropy(model(x, words).flatten(0, 1), goal.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
