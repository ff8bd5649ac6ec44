import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
data = TensorDict({"x": torch.randn(4, 3), "inner": {"y": torch.ones(4, 2)}}, batch_size=[4])
stacked = torch.stack([data, data.clone()], 0)
model = TensorDictSequential(TensorDictModule(torch.nn.Linear(3, 2), ["x"], ["h"]),
                             TensorDictModule(lambda h, y: (h * y).sum(-1), ["h", ("inner", "y")], ["out"]))
out = model(data)
out["out"].sum().backward()
print(out["out"].sum().item(), stacked.shape, stacked[1]["inner", "y"].sum().item(), data.apply(lambda t: t * 2)["x"].sum().item())
params = TensorDict.from_module(model)
with params.to_module(model):
    print(model(data)["out"].sum().item())
