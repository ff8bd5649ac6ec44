"""The audit of a training run: subjects that keep a bounded history, and judge it without being asked (see README.md)."""
