"""torch.utils._pytree: flattening of nested lists, tuples and dicts into leaves, and the inverse."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """The functions that flatten one type of container into children and a context, and unflatten it."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


@dataclass(frozen=True, repr=False)
class TreeSpec:
    """The structure of a tree without its leaves."""

    type: Any
    context: Any
    children_specs: list[TreeSpec] = field(default_factory=list)

    num_leaves = property(lambda self: 1 if self.is_leaf() else sum(child.num_leaves for child in self.children_specs))
    num_children = property(lambda self: len(self.children_specs))
    num_nodes = property(lambda self: 1 + sum(child.num_nodes for child in self.children_specs))

    def is_leaf(self) -> bool:
        return self.type is None

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def children(self) -> list[TreeSpec]:
        return self.children_specs

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        return tree_unflatten(leaves, self)

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        children = f",\n{' ' * (indent + 2)}".join([child.__repr__(indent + 2) for child in self.children_specs])
        name: str = self.type.__name__
        context = self.context.__name__ if name == "namedtuple" else self.context
        return f"TreeSpec({name}, {context}, [{children}])"


class LeafSpec(TreeSpec):
    def __init__(self) -> None:
        super().__init__(None, None, [])


def treespec_leaf() -> TreeSpec:
    return LeafSpec()


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(cls: Any, flatten_fn: Any, unflatten_fn: Any, **for_other_uses: Any) -> None:
    """Register a class as a container. The arguments for serialization and key paths are accepted and ignored."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


@dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self) -> str:
        return f".{self.name}"


def _list_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), None


def _dict_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Any) -> tuple[list[Any], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


register_pytree_node(list, _list_flatten, lambda children, _: list(children))
register_pytree_node(tuple, _list_flatten, lambda children, _: tuple(children))
register_pytree_node(dict, _dict_flatten, lambda children, keys: dict(zip(keys, children, strict=True)))
register_pytree_node(OrderedDict, _dict_flatten, lambda children, keys: OrderedDict(zip(keys, children, strict=True)))
register_pytree_node(defaultdict, lambda x: (list(x.values()), [x.default_factory, list(x)]),
                     lambda children, about: defaultdict(about[0], zip(about[1], children, strict=True)))
register_pytree_node(deque, lambda x: (list(x), x.maxlen), lambda children, length: deque(children, maxlen=length))
register_pytree_node(namedtuple, lambda x: (list(x), type(x)), lambda children, kind: kind(*children))  # noqa: PYI024


def is_namedtuple(x: Any) -> bool:
    kind = x if isinstance(x, type) else type(x)
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def _get_node_type(tree: Any) -> Any:
    """The type under which `tree` would be registered."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple(kind) else kind  # noqa: PYI024


def _node_of(tree: Any, is_leaf: Callable[[Any], bool] | None) -> Any:
    """The type under which `tree` is registered; None for a leaf."""
    if is_leaf is not None and is_leaf(tree):
        return None
    kind = _get_node_type(tree)
    return kind if kind in SUPPORTED_NODES else None


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure."""
    node = _node_of(tree, is_leaf)
    if node is None:
        return [tree], LeafSpec()
    children, context = SUPPORTED_NODES[node].flatten_fn(tree)
    leaves, specs = [], []
    for child in children:
        below, spec = tree_flatten(child, is_leaf)
        leaves.extend(below)
        specs.append(spec)
    return leaves, TreeSpec(node, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a "
                         f"pytree that holds {treespec.num_leaves} items ({treespec}).")
    rest = iter(leaves)

    def build(spec: TreeSpec) -> Any:
        if spec.is_leaf():
            return next(rest)
        return SUPPORTED_NODES[spec.type].unflatten_fn([build(child) for child in spec.children_specs], spec.context)

    return build(treespec)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply `func` to each leaf, and to the leaves at the same position in `rests`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(_leaves_at(rest, spec) for rest in rests)]
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def _leaves_at(tree: Any, spec: TreeSpec) -> list[Any]:
    """The subtrees of `tree` at the positions of the leaves of `spec`."""
    if spec.is_leaf():
        return [tree]
    if _node_of(tree, None) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, got {type(tree)!r}.")
    children, _ = SUPPORTED_NODES[spec.type].flatten_fn(tree)
    if spec.type in (dict, OrderedDict, defaultdict):
        children = [tree[key] for key in (spec.context[1] if spec.type is defaultdict else spec.context)]
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, got {len(children)}.")
    return [leaf for child, below in zip(children, spec.children_specs, strict=True) for leaf in _leaves_at(child, below)]


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`tree_map` for side effects; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _kind_test(kinds: Any) -> Callable[[Any], bool]:
    if isinstance(kinds, (type, tuple)) or hasattr(kinds, "__args__"):
        return lambda x: isinstance(x, kinds)
    return kinds


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Any], Any]:
    """A decorator that applies a function to leaves of these types only."""
    wanted = _kind_test(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if wanted(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types_or_pred: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    wanted = _kind_test(type_or_types_or_pred)
    return all(pred(x) for x in tree_iter(tree, is_leaf) if wanted(x))


def tree_any_only(type_or_types_or_pred: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    wanted = _kind_test(type_or_types_or_pred)
    return any(pred(x) for x in tree_iter(tree, is_leaf) if wanted(x))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    return [leaf for arg in (*args, *kwargs.values()) for leaf in tree_leaves(arg)]


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure as text, with stars for leaves."""

    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(tree_unflatten([Star() for _ in range(treespec.num_leaves)], treespec))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """The leaves of a tree that is a prefix of `treespec`, each repeated for the leaves below it; None if it is no prefix."""
    node = _node_of(tree, is_leaf)
    if node is None:
        return [tree] * treespec.num_leaves
    if node is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[node].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(child, spec, is_leaf)
             for child, spec in zip(children, treespec.children_specs, strict=True)]
    return None if None in parts else [leaf for part in parts if part is not None for leaf in part]
