"""torch.utils._pytree: flattening of nested lists, tuples and dicts into leaves, and the inverse."""

from __future__ import annotations

import builtins
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """The functions that flatten one type of container into children and a context, and unflatten it."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Any]] | None = None


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


def register_pytree_node(cls: Any, flatten_fn: Any, unflatten_fn: Any, *, flatten_with_keys_fn: Any = None,
                         **for_other_uses: Any) -> None:
    """Register a class as a container. The arguments for serialization are accepted and ignored."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def register_dataclass(cls: Any, *, field_names: Any = None, drop_field_names: Any = None, **for_other_uses: Any) -> None:
    """Register a dataclass as a container of its fields. Fields that are None are part of the structure."""
    names = [each.name for each in fields(cls) if each.init] if field_names is None else list(field_names)
    names = [name for name in names if name not in (drop_field_names or ())]

    def flatten(instance: Any) -> tuple[list[Any], Any]:
        given = {name: getattr(instance, name) for name in names}
        present = [name for name in names if given[name] is not None]
        return [given[name] for name in present], [present, [name for name in names if given[name] is None]]

    def flatten_with_keys(instance: Any) -> tuple[list[Any], Any]:
        values, context = flatten(instance)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values, strict=True)], context

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)


def register_constant(cls: Any) -> None:
    """Register a class whose instances are part of the structure, without leaves."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    register_pytree_node(cls, lambda instance: ([], instance), lambda _, instance: instance,
                         flatten_with_keys_fn=lambda instance: ([], instance))


@dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def _tuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), None


_list_flatten = _tuple_flatten


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), type(d)


def _deque_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), d.maxlen


def _dict_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


_ordereddict_flatten = _dict_flatten


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), [d.default_factory, list(d)]


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return context(*values)


def _deque_unflatten(values: Iterable[Any], context: Any) -> deque[Any]:
    return deque(values, maxlen=context)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _ordereddict_unflatten(values: Iterable[Any], context: Any) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=True))


def _defaultdict_unflatten(values: Iterable[Any], context: Any) -> defaultdict[Any, Any]:
    return defaultdict(context[0], zip(context[1], values, strict=True))


def _with_keys(flatten: Any, keys_of: Callable[[Any], list[Any]]) -> Any:
    """The function that also gives the key of each child."""
    def flatten_with_keys(d: Any) -> tuple[list[Any], Any]:
        values, context = flatten(d)
        return list(zip(keys_of(d), values, strict=True)), context

    return flatten_with_keys


def _indices(d: Any) -> list[Any]:
    return [SequenceKey(i) for i in range(len(d))]


def _mapping_keys(d: Any) -> list[Any]:
    return [MappingKey(key) for key in d]


_list_flatten_with_keys = _tuple_flatten_with_keys = _with_keys(_list_flatten, _indices)
_deque_flatten_with_keys = _with_keys(_deque_flatten, _indices)
_dict_flatten_with_keys = _ordereddict_flatten_with_keys = _with_keys(_dict_flatten, _mapping_keys)
_defaultdict_flatten_with_keys = _with_keys(_defaultdict_flatten, _mapping_keys)
_namedtuple_flatten_with_keys = _with_keys(_namedtuple_flatten, lambda d: [GetAttrKey(name) for name in d._fields])

for _kind in ("list", "tuple", "dict", "OrderedDict", "defaultdict", "deque", "namedtuple"):
    _functions = [globals()[f"_{_kind.lower()}_{_what}"] for _what in ("flatten", "unflatten", "flatten_with_keys")]
    register_pytree_node(vars(builtins).get(_kind) or globals()[_kind], *_functions[:2], flatten_with_keys_fn=_functions[2])


def is_namedtuple_class(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def is_namedtuple_instance(x: Any) -> bool:
    return is_namedtuple_class(type(x))


def is_namedtuple(x: Any) -> bool:
    return is_namedtuple_class(x if isinstance(x, type) else type(x))


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


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return _node_of(tree, is_leaf) is None


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, each with the keys that lead to it, and the structure."""
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def _paths(path: tuple[Any, ...], tree: Any, is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[tuple[Any, ...], Any]]:
    node = _node_of(tree, is_leaf)
    if node is None:
        yield path, tree
        return
    flatten = SUPPORTED_NODES[node].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {node}. Please pass a flatten_with_keys_fn argument to "
                         "register_pytree_node.")
    for key, child in flatten(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`tree_map` whose function is given the path of each leaf first."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [_leaves_at(rest, spec) for rest in rests]
    return tree_unflatten([func(path, leaf, *row) for (path, leaf), *row in zip(leaves, *columns, strict=True)], spec)


def keystr(kp: Iterable[Any]) -> str:
    """A path as text: ['weights'][0].bias"""
    return "".join([str(key) for key in kp])


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What is at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


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
