"""Nested containers as trees: flattened into a list of leaves and the structure around them, and back.

Lists, tuples, named tuples, dicts, ordered dicts, default dicts and deques are nodes, and so is what was registered; all
else is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_whygrad_internal_ = True

Context = Any
PyTree = Any


class NodeDef(NamedTuple):
    """How a container comes apart into (children, context), and how it is put together again."""

    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]


SUPPORTED_NODES: dict[type[Any], NodeDef] = {
    tuple: NodeDef(lambda t: (list(t), None), lambda children, _: tuple(children)),
    list: NodeDef(lambda t: (list(t), None), lambda children, _: list(children)),
    dict: NodeDef(lambda t: (list(t.values()), list(t)), lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: NodeDef(lambda t: (list(t.values()), list(t)),
                         lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: NodeDef(lambda t: (list(t.values()), [t.default_factory, list(t)]),
                         lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True))),
    deque: NodeDef(lambda t: (list(t), t.maxlen), lambda children, maxlen: deque(children, maxlen)),
}
# Any class of named tuples is a node of this kind.
NAMEDTUPLE = NodeDef(lambda t: (list(t), type(t)), lambda children, kind: kind(*children))


def register_pytree_node(cls: type[Any], flatten_fn: Any, unflatten_fn: Any, **options: Any) -> None:
    """Let instances of a class be nodes: `flatten_fn(x) -> (children, context)`, `unflatten_fn(children, context) -> x`."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)


def is_namedtuple(tree: Any) -> bool:
    return isinstance(tree, tuple) and hasattr(type(tree), "_fields")


def _node_type(tree: Any) -> type[Any] | None:
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    return tuple if is_namedtuple(tree) else None


def _definition(tree: Any) -> NodeDef | None:
    found = SUPPORTED_NODES.get(type(tree))
    return found if found is not None else NAMEDTUPLE if is_namedtuple(tree) else None


class TreeSpec:
    """The structure of a tree: the type of its root, what it needs besides children, and their structures."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_leaves: int = 1 if type is None else sum([spec.num_leaves for spec in children_specs])

    def is_leaf(self) -> bool:
        return self.type is None

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TreeSpec) and self.type == other.type and self.context == other.context
                and self.children_specs == other.children_specs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.is_leaf():
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join([spec._text(indent + 2) for spec in self.children_specs])
        name = "namedtuple" if self.type not in SUPPORTED_NODES else self.type.__name__
        context = self.context.__name__ if name == "namedtuple" else self.context
        return f"TreeSpec({name}, {context}, [{inner}])"


LEAF = TreeSpec(None, None, [])


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(tree: PyTree, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    definition = None if is_leaf is not None and is_leaf(tree) else _definition(tree)
    if definition is None:
        leaves.append(tree)
        return LEAF
    children, context = definition.flatten_fn(tree)
    return TreeSpec(type(tree), context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that "
                         f"holds {treespec.num_leaves} items ({treespec}).")
    return _unflatten(iter(given), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> PyTree:
    if spec.type is None:
        return next(leaves)
    definition = SUPPORTED_NODES.get(spec.type, NAMEDTUPLE)
    return definition.unflatten_fn([_unflatten(leaves, child) for child in spec.children_specs], spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_leaves_up_to(spec, rest) for rest in rests]
    return tree_unflatten([func(*column) for column in zip(leaves, *others, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree,
              is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Call `func` on each leaf, and give the tree back as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _leaves_up_to(spec: TreeSpec, tree: PyTree) -> list[Any]:
    """The parts of a tree that stand where `spec` has its leaves."""
    if spec.type is None:
        return [tree]
    definition = _definition(tree)
    if definition is None or type(tree) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children, _ = definition.flatten_fn(tree)
    if len(children) != len(spec.children_specs):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}.")
    return [leaf for child, part in zip(spec.children_specs, children, strict=True) for leaf in _leaves_up_to(child, part)]


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: PyTree,
                  is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    return any(map(pred, tree_leaves(tree)))


def tree_iter(tree: PyTree) -> Iterable[Any]:
    return iter(tree_leaves(tree))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    return [leaf for arg in (*args, *kwargs.values()) for leaf in tree_leaves(arg)]


def treespec_pprint(treespec: TreeSpec) -> str:
    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(tree_unflatten([Star() for _ in range(treespec.num_leaves)], treespec))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """The leaves of a tree that is a beginning of `treespec`, each as often as that has leaves there; None if it is not."""
    definition = _definition(tree)
    if definition is None:
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or type(tree) is not treespec.type:
        return None
    children, context = definition.flatten_fn(tree)
    if len(children) != len(treespec.children_specs) or context != treespec.context:
        return None
    result: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(child, spec)
        if part is None:
            return None
        result += part
    return result
