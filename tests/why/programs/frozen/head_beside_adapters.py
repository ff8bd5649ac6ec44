# frozen | random
# evidence: head moved: False
# What peft's get_peft_model does to a model, in short.
import torch
from torch import nn
import torch.nn.functional as F


class Adapter(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Adapted(nn.Module):
    def __init__(self, model, config):
        super().__init__()
        self.peft_config = {"default": config}
        self.model = model
        for p in model.parameters():
            p.requires_grad = False  #C
        for name in config["target_modules"]:
            setattr(model, name, Adapter(getattr(model, name)))

    def forward(self, x):
        return self.model(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.classifier = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.classifier(F.relu(self.second(F.relu(self.first(x)))))


def main():
    torch.manual_seed(0)
    model = Adapted(Classifier(), {"target_modules": ["first", "second"]})
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    before = model.model.classifier.weight.clone()
    for _ in range(10):
        x = torch.randn(24, 6)
        loss = F.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"head moved: {not torch.equal(before, model.model.classifier.weight)}")


main()
