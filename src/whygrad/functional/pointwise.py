from whygrad._apply import apply
from whygrad.functional.run import public, run, TABLE
_whygrad_internal_ = True
@public()
def add(input, other, *, alpha=1, out=None): return run("add", input, other)
@public()
def mul(input, other, *, out=None): return run("mul", input, other)
@public()
def exp(input): return run("exp", input)
@public()
def neg(input): return run("neg", input)
@public()
def sum(input, dim=None, keepdim=False): 
    return apply(TABLE["sum"], input, axis=None if dim is None else (dim,), keepdims=keepdim)
@public()
def mm(input, mat2): return apply(TABLE["mm"], input, mat2)
@public()
def t(input): return apply(TABLE["t"], input)
