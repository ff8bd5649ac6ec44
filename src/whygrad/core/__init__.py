"""The engine: tensors, recording, writing, nodes, the walk back."""
