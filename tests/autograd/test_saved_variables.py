"""Inspecting saved values on nodes."""

from __future__ import annotations

from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def the_very_tensors(T):
    a = leaf(T)
    b = a * a
    c = a * b
    d = a.exp()
    saved = d.grad_fn._saved_result
    seen = [b.grad_fn._saved_self is a, b.grad_fn._saved_other is a, c.grad_fn._saved_self is a, c.grad_fn._saved_other is b,
            saved is d, saved.detach(), saved.grad_fn is d.grad_fn]
    c.sum().backward()
    return seen, told(lambda: c.grad_fn._saved_self), told(lambda: d.grad_fn._saved_nothing)[0]


@program
def versions_are_shared(T):
    b = leaf(T).exp()
    saved = b.grad_fn._saved_result
    with T.no_grad():
        b += 1
    return saved.detach(), b._version, saved._version


@program
def values_by_name(T):
    a, b = T.ones(2, 2, requires_grad=True), leaf(T)
    F = T.nn.functional
    unfolded = F.unfold(T.ones(1, 1, 3, 4, requires_grad=True), 3)
    rows = [
        (T.stack([b, b], dim=1), "dim"), (a.mean(), "self_sym_sizes"), (a.sum(1, keepdim=True), "dim"),
        (a.sum(1, keepdim=True), "keepdim"), (b**2, "exponent"), (b.tanh(), "result"), (T.logit(b / 4, 1e-3), "eps"),
        (T.logit(b / 4), "eps"),
        (T.threshold(b, 1.0, 1.0), "threshold"), (T.threshold(b, 1, 1), "threshold"), (T.threshold(b, True, False), "threshold"),
        (T.addmm(a, a, a), "mat1"), (T.pdist(a, p=1), "p"), (b[0:2], "end"), (a.permute(1, 0), "dims"), (b.flip(0), "dims"),
        (F.softmax(a, dim=1), "dim"), (a.prod(), "result"), (b.clamp(0.5, 2.5), "min"), (b.clamp(0.5, 2.5), "max"),
        (a.view(4), "self_sym_sizes"), (a.transpose(0, 1), "dim0"), (a.transpose(0, 1), "dim1"), (a.select(0, 1), "index"),
        (a.unsqueeze(0), "dim"), (a.expand(2, 2, 2), "self_sym_sizes"), (b.cumsum(0), "dim"),
        (F.leaky_relu(b, 0.2), "negative_slope"), (unfolded, "self_sym_argsize_minus_1"), (unfolded, "self_sym_argsize_minus_2"),
        *[(a.as_strided((3,), (1,), 1), name) for name in ("size", "stride", "storage_offset")],
    ]
    return [(name, getattr(out.grad_fn, f"_saved_{name}")) for out, name in rows]


@program
def everything_a_node_lists(T):
    F = T.nn.functional
    x, y = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], requires_grad=True), T.full((2, 3), 2.0, requires_grad=True)
    made = [x * y, x + y, x - y, x / y, x**2, x**y, x.exp(), x.sin(), x.sum(), x.sum(1), x.t(), x.relu(), F.softmax(x, 1),
            T.cat([x, y]), x[0], x.view(-1), x.permute(1, 0), x.unsqueeze(0), x.expand(2, 2, 3), x.clamp(1, 3), x.std(1),
            x.norm(), x.index_select(0, T.tensor([0])), T.where(x.detach() > 1, x, y), F.gelu(x), F.elu(x), F.softplus(x),
            F.mse_loss(x, y), F.binary_cross_entropy_with_logits(x, y.detach()), x.abs(), x.logsumexp(1), T.dot(x[0], y[0]),
            x.unbind()[0], x.repeat(2, 1), x.flip(0), x.tril(), x.diagonal(), T.addcmul(x, x, y), T.lerp(x, y, 0.5), x @ y[0],
            x.cumsum(0), T.bmm(x[None], y.t()[None]), x.max(1)[0]]
    return [[(name, getattr(node, name)) for name in dir(node) if name.startswith("_saved_")]
            for node in [t.grad_fn for t in made]]


@program
def a_linear_layer(T):
    x, weight, bias = T.ones(2, 3, requires_grad=True), T.ones(4, 3, requires_grad=True), T.ones(4, requires_grad=True)
    with_bias, without = T.nn.functional.linear(x, weight, bias).grad_fn, T.nn.functional.linear(x, weight).grad_fn
    return [[getattr(node, name).detach() for name in names]
            for node, names in ((with_bias, ("_saved_mat1", "_saved_mat2")), (without, ("_saved_self", "_saved_mat2")))]


@program
def a_convolution(T):
    node = T.nn.functional.conv1d(T.ones(1, 1, 4, requires_grad=True), T.ones(1, 1, 2, requires_grad=True), stride=2).grad_fn
    return [getattr(node, f"_saved_{name}") for name in ("input", "weight", "stride", "padding", "dilation", "groups")]


@program
def indices(T):
    a = T.ones(2, 2, requires_grad=True)
    index = T.tensor([0, 1])
    out = a[:, index]
    raw = out.grad_fn._raw_saved_indices
    return (out.grad_fn._saved_indices, out.grad_fn._saved_self_sym_sizes, type(raw[1]).__name__,
            told(lambda: raw[0].register_hooks(lambda x: x, lambda x: x)),
            told(lambda: raw[1].register_hooks(lambda x: x, lambda x: x)))


@program
def raw_values(T):
    a = T.tensor(2.0, requires_grad=True)

    def unpack(t):
        return t

    with T.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        b = a**2
    c = b.exp()
    d = c**2
    hooked, output, plain = b.grad_fn._raw_saved_self, c.grad_fn._raw_saved_result, d.grad_fn._raw_saved_self
    return (type(hooked).__name__, hooked.data is a, hooked.unpack_hook is unpack, output.data is c, output.unpack_hook,
            plain.data is c, plain.unpack_hook)


@program
def hooks_on_one_value(T):
    def leaf_of(T):
        return leaf(T)

    def between(T):
        return 1 + leaf(T)

    def plus_one(t):
        t *= 2
        return t

    seen = []
    for make in (leaf_of, between):
        for pack, unpack in ((lambda t: 2 * t, lambda t: t / 2), (lambda t: 2 * t, lambda t: t)):
            a = make(T)
            y = a * a
            y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
            saved = y.grad_fn._saved_self
            seen += [saved.detach(), saved.grad_fn is a.grad_fn]
            y.sum().backward()
            seen.append(a.grad if a.is_leaf else None)
        a = make(T)
        y = a**3
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
        (g,) = T.autograd.grad(y.sum(), a, create_graph=True)
        seen += [g.detach(), told(lambda: g.sum().backward())]
        for pack, unpack in ((lambda t: t, lambda t: 1), (lambda t, b: t, lambda t: t), (plus_one, lambda t: t)):
            y = make(T) ** 2
            y.grad_fn._saved_self  # noqa: B018
            failed = told(lambda: y.grad_fn._raw_saved_self.register_hooks(pack, unpack))
            seen.append(failed if failed != "fine" else told(lambda: y.grad_fn._saved_self))
    y = leaf(T).exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    seen += [y.grad_fn._saved_result.detach(), y.grad_fn._saved_result.grad_fn is y.grad_fn]
    return seen


@program
def registering_wrongly(T):
    class Save(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, save):
            if save:
                ctx.save_for_backward(x, None)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g, None

    a = leaf(T)
    y = Save.apply(a, True)
    saved = y.grad_fn._raw_saved_tensors
    node = y.grad_fn
    seen = [node.saved_tensors[0] is a, node.saved_tensors[1], type(saved[0]).__name__, type(saved[1]).__name__,
            told(lambda: saved[1].register_hooks(lambda x: x, lambda x: x)),
            told(lambda: saved[0].register_hooks(lambda x: x))[0],
            told(lambda: saved[0].register_hooks(1, 1))[0], told(lambda: saved[0].register_hooks(lambda x: x, lambda x: x)),
            told(lambda: saved[0].register_hooks(lambda x: x, lambda x: x))]
    y.sum().backward()
    seen += [told(lambda: node._raw_saved_tensors), told(lambda: node.saved_tensors)]
    empty = Save.apply(a, False).grad_fn
    b = a * a
    raw = b.grad_fn._raw_saved_self
    raw.register_hooks(lambda x: x, lambda x: x)
    b.sum().backward()
    return seen, empty.saved_tensors, empty._raw_saved_tensors, told(lambda: raw.register_hooks(lambda x: x, lambda x: x))


@program
def detached_in_place_after_being_saved(T):
    seen = []
    for use in (lambda a: a.sin(), lambda a: a * a, lambda a: a.exp(), lambda a: a * 2, lambda a: a[:1] * a[:1]):
        a = leaf(T).clone()
        b = use(a)
        a.detach_()
        seen.append(told(lambda: b.sum().backward()))
    x = leaf(T)
    y = x * x
    x.detach_()
    y.sum().backward()
    return seen, x.grad


@program
def hooks_registered_wrongly(T):
    x = leaf(T)
    y = x * x
    raw = y.grad_fn._raw_saved_self
    wrong = [lambda: raw.register_hooks(lambda t: t), raw.register_hooks, lambda: raw.register_hooks(1, 1)]
    seen = [told(call)[0] for call in wrong]
    y.sum().backward()
    return seen, told(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)), told(
        lambda: y.grad_fn._saved_self)


@program
def interpolation(T):
    F, seen = T.nn.functional, []
    images = [T.ones(1, 1, *(3,) * n, requires_grad=True) for n in (1, 2, 3)]
    for x, mode in ((images[0], "linear"), (images[1], "bilinear"), (images[1], "bicubic"), (images[2], "trilinear"),
                    (images[0], "nearest"), (images[1], "nearest-exact"), (images[2], "nearest")):
        for options in ({"size": 4}, {"scale_factor": 0.5}, {"scale_factor": 2.0, "recompute_scale_factor": True}):
            node = F.interpolate(x, mode=mode, **options).grad_fn
            names = ("output_size", "align_corners", "scales", "scales_d", "scales_h", "scales_w", "self_sym_sizes")
            seen.append([(name, getattr(node, f"_saved_{name}", "missing")) for name in names])
    for bias in (True, False):
        seen.append(T.nn.Conv2d(1, 2, 3, bias=bias)(images[1]).grad_fn._saved_bias_sym_sizes_opt)
    return seen


@program
def made_from_python(T):
    return told(T.autograd.SavedTensor)


@program
def read_once_only(T):
    class Once(T.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            first = ctx.saved_tensors
            return first[0] * len(ctx.saved_tensors)

    return told(lambda: Once.apply(leaf(T)).sum().backward())


@parity(PROGRAMS)
def test_program(program):
    same(program)
