# frozen | adapter
# evidence: second adapter moved: False
# What peft does with two adapters, in short.
import torch
from torch import nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.active = base, ""
        self.lora_A, self.lora_B = nn.ModuleDict(), nn.ModuleDict()

    def forward(self, x):
        return self.base(x) + self.lora_B[self.active](self.lora_A[self.active](x))


class Adapted(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.peft_config, self.layer = {}, LoraLinear(base)
        base.requires_grad_(False)

    def add_adapter(self, name):
        self.peft_config[name] = {"r": 2}
        self.layer.lora_A[name], self.layer.lora_B[name] = nn.Linear(5, 2, bias=False), nn.Linear(2, 3, bias=False)
        nn.init.zeros_(self.layer.lora_B[name].weight)
        for p in [*self.layer.lora_A[name].parameters(), *self.layer.lora_B[name].parameters()]:
            p.requires_grad = not self.layer.active or name == self.layer.active
        self.layer.active = self.layer.active or name

    def forward(self, x):
        return self.layer(x)


def tune(model, shift, steps=8):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)  #C
    for _ in range(steps):
        x = torch.randn(16, 5)
        loss = F.cross_entropy(model(x), (x[:, :3] + shift).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    model = Adapted(nn.Linear(5, 3))
    model.add_adapter("north")
    tune(model, torch.tensor([0.0, 1.0, 0.0]))
    model.add_adapter("south")  #C
    tune(model, torch.tensor([1.0, 0.0, 0.0]))
    print(f"second adapter moved: {bool(model.layer.lora_B['south'].weight.any())}")


main()
