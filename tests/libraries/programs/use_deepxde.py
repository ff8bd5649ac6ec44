import os

os.environ["DDE_BACKEND"] = "pytorch"
import deepxde as dde
import torch

dde.config.set_random_seed(0)


def equation(x, y):
    return dde.grad.hessian(y, x) - torch.sin(x)


domain = dde.geometry.Interval(0, 3.14159)
data = dde.data.PDE(domain, equation, dde.icbc.DirichletBC(domain, lambda x: 0, lambda x, on: on), num_domain=8, num_boundary=2,
                    train_distribution="uniform")
model = dde.Model(data, dde.nn.FNN([1, 8, 1], "tanh", "Glorot uniform"))
model.compile("adam", lr=0.01, verbose=0)
losses, _ = model.train(iterations=20, verbose=0)
print("\n", *losses.loss_train[-1])
