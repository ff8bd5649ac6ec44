import torch
from complexPyTorch.complexLayers import ComplexBatchNorm2d, ComplexConv2d, ComplexLinear, ComplexReLU

torch.manual_seed(0)
model = torch.nn.Sequential(
    ComplexConv2d(1, 4, 3), ComplexBatchNorm2d(4), ComplexReLU(), torch.nn.Flatten(), ComplexLinear(144, 2)
)
x = torch.randn(4, 1, 8, 8, dtype=torch.complex64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    loss = (model(x).abs() - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
