import torch
from jaxtyping import Float, Int


def f(x: Float[torch.Tensor, "a b"]) -> Float[torch.Tensor, "a"]:
    return x.sum(1)


print(isinstance(torch.ones(2, 3), Float[torch.Tensor, "2 3"]), isinstance(torch.ones(2), Int[torch.Tensor, "2"]), f(torch.ones(2, 3)).sum().item())
