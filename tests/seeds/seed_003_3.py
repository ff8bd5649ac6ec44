import torch
import torch.nn as nn

class MyNet(nn.Module):
    def __init__(self):
        super(MyNet, self).__init__()
        self.fc1 = nn.Linear(10, 5)
        self.fc2 = nn.Linear(5, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return self.fc2(x)

net = MyNet()

input_data = torch.randn(1, 10, requires_grad=True)

output = net(input_data)

target = torch.randn(1, 1)

gradient_value = torch.ones_like(output)
output.backward(gradient_value)

print(net.fc1.weight.grad)
print(net.fc2.weight.grad)

print (input_data.grad)
