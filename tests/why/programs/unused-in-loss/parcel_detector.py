# unused-in-loss | loss
# evidence: box branch moved: False
# parameters: box.0.weight, box.0.bias, box.2.weight, box.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(77)


class Parcels(Dataset):
    """One parcel per picture: class by brightness, box given as (cx, cy, w, h)."""

    def __init__(self, n=120, size=12):
        self.samples = []
        for _ in range(n):
            label = int(torch.randint(0, 2, (1,)))
            w, h = torch.randint(3, 6, (2,)).tolist()
            x, y = torch.randint(0, size - 5, (2,)).tolist()
            img = 0.1 * torch.randn(1, size, size)
            img[0, y:y + h, x:x + w] += 1.0 if label else -1.0
            box = torch.tensor([(x + w / 2) / size, (y + h / 2) / size, w / size, h / size])
            self.samples.append({"image": img, "label": label, "box": box})

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 12, 3, stride=2, padding=1)
        self.cls = nn.Linear(12 * 9, 2)
        self.box = nn.Sequential(nn.Linear(12 * 9, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, img):
        h = F.relu(self.conv2(F.relu(self.conv1(img)))).flatten(1)
        return {"logits": self.cls(h), "boxes": torch.sigmoid(self.box(h))}  #C


class DetectionLoss(nn.Module):
    def __init__(self, cls_weight=1.0, box_weight=5.0):
        super().__init__()
        self.weights = {"cls": cls_weight, "box": box_weight}

    def forward(self, out, target):
        terms = {"cls": F.cross_entropy(out["logits"], target["label"])}  #C
        return sum(self.weights[k] * v for k, v in terms.items())


def main():
    loader = DataLoader(Parcels(), batch_size=24, shuffle=True)
    model, criterion = Detector(), DetectionLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    start = model.box[0].weight.detach().clone()
    for epoch in range(4):
        total = 0.0
        for batch in loader:
            out = model(batch["image"])
            loss = criterion(out, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")
    print("box branch moved:", not torch.equal(start, model.box[0].weight))


if __name__ == "__main__":
    main()
