import torch
from byol_pytorch import BYOL
from torchvision.models import resnet18

torch.manual_seed(0)
learner = BYOL(resnet18(), image_size=64, hidden_layer="avgpool", projection_size=16, projection_hidden_size=32,
               augment_fn=torch.nn.Identity())
optimizer = torch.optim.SGD(learner.parameters(), lr=0.001)
for _ in range(2):
    loss = learner(torch.rand(8, 3, 64, 64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    learner.update_moving_average()
    print(loss.item())
