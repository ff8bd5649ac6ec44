import torch
from pytorch_optimizer import load_optimizer

for name in ("adabelief", "lion", "ranger", "lamb", "adan", "prodigy", "sophiah", "madgrad", "adafactor", "soap", "muon", "shampoo"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Tanh(), torch.nn.Linear(4, 4, bias=False))
    # SOAP divides by what rounding leaves of zero: with its eps, an input larger by 1e-7 changes PyTorch's own loss by 1 %.
    options = {"eps": 1e-2} if name == "soap" else {}
    params = [{"params": list(model.parameters()), "use_muon": True}] if name == "muon" else model.parameters()
    optimizer = load_optimizer(name)(params, lr=1.0 if name == "prodigy" else 1e-2, **options)
    x = torch.randn(8, 4)
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward(create_graph=name == "sophiah")
        optimizer.step()
    print(name, loss.item())
