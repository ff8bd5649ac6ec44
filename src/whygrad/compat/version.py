"""torch.version: the version of torch whose behaviour whygrad follows."""

__version__ = "2.13.0+whygrad"
debug = False
cuda = None
git_version = "unknown"
hip = None
rocm = None
xpu = None
