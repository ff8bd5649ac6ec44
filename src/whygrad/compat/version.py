"""torch.version: the version of torch whose behaviour whygrad follows."""

# The version whose behaviour is followed, and what programs see while whygrad answers for torch.
TORCH_VERSION = "2.13.0"
__version__ = f"{TORCH_VERSION}+whygrad"
debug = False
cuda = None
git_version = "unknown"
hip = None
rocm = None
xpu = None
