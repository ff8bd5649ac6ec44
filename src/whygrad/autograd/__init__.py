"""torch.autograd."""
