import torch

linear_layer = torch.nn.Linear(10, 1)

input_data = torch.randn(1, 10, requires_grad=True)

output = linear_layer(input_data)

target = torch.randn(1, 1)

loss = torch.nn.functional.mse_loss(output, target)

loss.backward()

print(linear_layer.weight.grad)
