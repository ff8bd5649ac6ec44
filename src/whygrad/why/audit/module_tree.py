"""ModuleTree: which module belongs to which, so that parameters have names wherever their model was made."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from whygrad.why import engine, record
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.engine import next_sequence_number
from whygrad.why.module_owners import unregistered
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Outermost modules that are known.
MAX_ROOTS = 64
MAX_MODULES = 20_000
# Callers that are kept of the line that made a module: a class's __init__, a function that builds models ...
MAX_CALLERS = 4


class ModuleTree:
    """Knows the outermost modules, from registrations and from calls."""

    every_round = frozenset({"module_made"})

    def __init__(self) -> None:
        # Outermost modules, by id. They are held, so that their parameters can be named at the end.
        self.roots: dict[int, Any] = {}
        # Modules that belong to another, by id.
        self._inner: dict[int, weakref.ref[Any]] = {}
        self._names: dict[int, tuple[Any, str]] = {}
        # The parameters of each name.
        self._named: dict[str, list[Any]] = {}
        # The line that made each module, and those that called it, by id; and the loss module that each line last called.
        self._made: dict[int, tuple[weakref.ref[Any], tuple[Site, ...], int]] = {}
        self._losses: dict[Site, Any] = {}
        self._called: dict[Site, dict[int, Any]] = {}
        # Where each parameter is registered, by id.
        self._places: dict[int, list[tuple[weakref.ref[Any], str]]] = {}
        # Ties that the replacement of a module broke: the module and name that still have the old parameter, those that have a
        # new one, and the line.
        self.broken_ties: list[tuple[Any, str, Any, str, Site]] = []
        self._handles = [engine.current.hooks.register_module_module_registration_hook(self._module_registered),
                         engine.current.hooks.register_module_parameter_registration_hook(self._parameter_registered)]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _module_registered(self, module: Any, name: str, child: Any) -> None:
        old = module._modules.get(name)
        if old is not None and old is not child:
            for own, p in old._parameters.items():
                partner = next((place for place in self._places.get(id(p), ())
                                if place[0]() is not old and place[0]() is not None), None)
                if partner is not None and child is not None and child._parameters.get(own) is not p:
                    self.broken_ties.append((partner[0](), partner[1], child, own, record.program_site()))
        if child is not None:
            self.roots.pop(id(child), None)
            self._inner[id(child)] = weakref.ref(child)
            drop_oldest(self._inner, MAX_MODULES)
        self._add_root(module)

    def _parameter_registered(self, module: Any, name: str, parameter: Any) -> None:
        if parameter is not None:
            places = self._places.setdefault(id(parameter), [])
            places.append((weakref.ref(module), name))
            drop_oldest(self._places, MAX_MODULES)
        self._add_root(module)

    def module_made(self, module: Any, site: Site) -> None:
        self._made[id(module)] = weakref.ref(module), (site, *record.callers(MAX_CALLERS)), next_sequence_number()
        drop_oldest(self._made, MAX_MODULES)

    def made_at(self, module: Any) -> Site | None:
        """The line that made a module."""
        return next(iter(self.making(module)), None)

    def making(self, module: Any) -> tuple[Site, ...]:
        """The line that made a module, and those that called its function, outwards."""
        known = self._made.get(id(module))
        return known[1] if known is not None and known[0]() is module else ()

    def is_younger(self, module: Any, number: int) -> bool:
        known = self._made.get(id(module))
        return known is not None and known[0]() is module and known[2] > number

    def module_called(self, call: ModuleCall) -> None:
        self._called.setdefault(call.site, {})[id(call.module)] = call.module
        drop_oldest(self._called, MAX_ROOTS)
        if type(call.module).__name__.endswith("Loss"):
            self._losses[call.site] = call.module
        if call.depth == 0:
            self._add_root(call.module)

    def add_model(self, model: Any) -> None:
        """A model that was made before anybody listened: its parts are no outermost modules."""
        for inner in list(model.modules())[1:]:
            self._inner[id(inner)] = weakref.ref(inner)
            drop_oldest(self._inner, MAX_MODULES)
        self._add_root(model)

    def _add_root(self, module: Any) -> None:
        known = self._inner.get(id(module))
        is_inner = known is not None and known() is module  # the id of a module that is gone is used again
        if not is_inner and self.roots.get(id(module)) is not module:
            self.roots[id(module)] = module
            if len(self.roots) > MAX_ROOTS:
                del self.roots[next(iter(self.roots))]

    def owner(self, p: Any) -> tuple[Any, str] | None:
        """The outermost module that has this parameter, and the parameter's name in it."""
        known = self._names.get(id(p))
        if known is not None and _has(known[0], known[1], p):
            return known
        self._names, self._named = {}, {}
        for root in list(self.roots.values()):
            for name, q in (*root.named_parameters(remove_duplicate=False), *unregistered(root)):
                if id(q) not in self._names:
                    self._names[id(q)] = root, name
                    self._named.setdefault(name, []).append(q)
        return self._names.get(id(p))

    def named(self, name: str) -> list[Any]:
        """The parameters that have a name in their models, when the owners were last looked for."""
        return self._named.get(name, [])

    def modules_around(self, p: Any) -> Iterator[Any]:
        """The modules that have this parameter, the outermost first."""
        found = self.owner(p)
        if found is None:
            return
        module, (*parts, _) = found[0], found[1].split(".")
        yield module
        for part in parts:
            module = module._modules.get(part)
            if module is None:
                return  # in a plain list or attribute
            yield module

    def made_at_of_loss(self, site: Site) -> list[Site]:
        """The line that made the loss module which was called at a site."""
        made = self.made_at(self._losses.get(site))
        return [] if made is None else [made]

    def made_at_called(self, site: Site, is_meant: Callable[[Any], bool]) -> list[Site]:
        """The lines that made the modules of a kind that were called at a site."""
        modules = self._called.get(site, {}).values()
        return [made for module in modules if is_meant(module) and (made := self.made_at(module)) is not None]

    def path_of(self, module: Any) -> tuple[Any, str] | None:
        """The outermost module that has this one, and its dotted name in it ("" for the outermost one itself)."""
        for root in list(self.roots.values()):
            for name, inner in root.named_modules():
                if inner is module:
                    return root, name
        return None


def _has(root: Any, name: str, p: Any) -> bool:
    found: Any = root
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is p
