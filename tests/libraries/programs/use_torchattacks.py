import torch
import torchattacks

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)).eval()
images, labels = torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])
for attack in (torchattacks.FGSM(model, eps=0.1), torchattacks.PGD(model, eps=0.1, alpha=0.02, steps=4),
               torchattacks.CW(model, steps=5), torchattacks.DeepFool(model, steps=5)):
    adversarial = attack(images, labels)
    print(type(attack).__name__, (adversarial - images).abs().sum().item(), model(adversarial).sum().item())
