import torch
from pytorch_optimizer import load_optimizer

for name in ("adabelief", "lion", "ranger", "lamb", "adan", "prodigy", "sophiah", "madgrad", "adafactor", "soap", "muon", "shampoo"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6, bias=False), torch.nn.Tanh(), torch.nn.Linear(6, 2, bias=False))
    params = [{"params": list(model.parameters()), "use_muon": True}] if name == "muon" else model.parameters()
    optimizer = load_optimizer(name)(params, lr=1e-2)
    x = torch.randn(8, 4)
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward(create_graph=name == "sophiah")
        optimizer.step()
    print(name, loss.item())
