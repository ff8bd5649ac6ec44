"""torch.fx.immutable_collections: the lists and dicts in a node's arguments, which only the node itself replaces."""

from __future__ import annotations

from typing import Any, NoReturn

from whygrad.base.pytree import register_pytree_node


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    kind = type(self).__bases__[0].__name__
    raise NotImplementedError(f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the "
                              f"kwargs or args of a torch.fx.Node object, instead create a new copy of it and assign the copy "
                              f"to the node: new_args = {kind}(...) # copy and modify, node.args = new_args")


class immutable_list(list):
    append = extend = insert = pop = remove = clear = reverse = sort = __delitem__ = __setitem__ = _refuse  # type: ignore[assignment]
    __iadd__ = __imul__ = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    clear = pop = popitem = setdefault = update = __delitem__ = __setitem__ = __ior__ = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


register_pytree_node(immutable_list, lambda x: (list(x), None), lambda values, _: immutable_list(values))
register_pytree_node(immutable_dict, lambda x: (list(x.values()), list(x)),
                     lambda values, keys: immutable_dict(zip(keys, values, strict=True)))
