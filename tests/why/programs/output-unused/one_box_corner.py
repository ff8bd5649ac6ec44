# output-unused
# evidence: columns with a gradient: [True, True, True, False]
import torch
import torch.nn as nn
import torch.nn.functional as F


class BoxFinder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(), nn.Flatten())
        self.box = nn.Linear(8 * 9, 4)

    def forward(self, images):
        return self.box(self.features(images))


def scenes(n):
    corners = torch.randint(0, 8, (n, 2))
    sizes = torch.randint(3, 7, (n, 2))
    grid = torch.arange(16)
    inside = [((grid >= corners[:, i:i + 1]) & (grid < corners[:, i:i + 1] + sizes[:, i:i + 1])).float() for i in (0, 1)]
    return (inside[0][:, :, None] * inside[1][:, None])[:, None], torch.cat([corners, sizes], 1) / 16


def box_loss(prediction, boxes):
    corner = F.smooth_l1_loss(prediction[:, :2], boxes[:, :2])
    size = F.smooth_l1_loss(prediction[:, 2:-1], boxes[:, 2:-1])
    return corner + size


torch.manual_seed(0)
finder = BoxFinder()
optimizer = torch.optim.Adam(finder.parameters(), lr=2e-3)
for step in range(60):
    images, boxes = scenes(32)
    found = finder(images)  #C
    loss = box_loss(found, boxes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
prediction = finder(images)
(g,) = torch.autograd.grad(box_loss(prediction, boxes), prediction)
print("evidence: columns with a gradient:", (g != 0).any(0).tolist())
