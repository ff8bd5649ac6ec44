"""Fuzzing against PyTorch: `python -m tests.fuzz --minutes 10 --seed 1 [kinds]`. See README.md."""
