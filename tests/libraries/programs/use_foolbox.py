import eagerpy as ep
import foolbox
import torch

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
model = foolbox.PyTorchModel(network, bounds=(0, 1), device="cpu")
images, labels = torch.rand(6, 1, 4, 4), torch.tensor([0, 1, 2, 0, 1, 2])
print(foolbox.accuracy(model, images, labels))
for attack in (foolbox.attacks.LinfPGD(steps=4, random_start=False), foolbox.attacks.L2DeepFoolAttack(steps=5),
               foolbox.attacks.FGSM()):
    _, clipped, success = attack(model, images, labels, epsilons=[0.1])
    print(type(attack).__name__, clipped[0].sum().item(), ep.astensor(success).float32().mean().item())
