"""The same answers for programs on real PyTorch."""
