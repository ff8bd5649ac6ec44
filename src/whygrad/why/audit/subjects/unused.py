"""Unused: is every option, mask and layer that the program has read somewhere?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from whygrad.base.frames import is_of_package
from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.subject import Subject
from whygrad.why.engine import is_module, is_tensor
from whygrad.why.library_design import is_library_file
from whygrad.why.locations import SourceLocation, location_of_line
from whygrad.why.program_text import called_name, syntax_tree

MAX_CLASSES = 64
# Names of what is computed from the end.
RETURNS = re.compile(r"ret|adv|gae|discount", re.IGNORECASE)
# Functions that begin a sequence of random numbers.
SEEDING = {"manual_seed", "seed", "default_rng", "RandomState"}
# Names of values that are there to change what is computed.
WORKING = re.compile(r"mask|length|weight|gamma|lambd|\blam\b|alpha|beta|temperature|margin|decay|\bdones?\b|terminal|"
                     r"momentum|warm|dropout|discount|entropy|smooth|\btau\b|reward", re.IGNORECASE)
# Calls whose result is computed for its value: not a device, a seed, an optimizer, a module, a hook's handle.
COMPUTING = re.compile(r"torch\.(?!device|manual_seed|seed|Generator|compile|load|set_)[a-z_]+$|F\.|self\.(?!register_|log)|"
                       r"torch\.(nn\.functional|linalg|fft|special)\.")
# Ways to reach attributes without naming them.
BY_ITERATION = re.compile(r"\.(children|named_children|modules|named_modules|_modules|buffers|named_buffers)\b|__dict__|\bvars\(|"
                          r"getattr\(|Sequential\)")


class Unused(Subject):
    checks = {"options-read": "options, masks and layers that the program has are read somewhere"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # A module of each class of the program whose forward has run in training, by the class.
        self._modules: dict[type, Any] = {}
        self._files: set[str] = set()

    def module_called(self, call: ModuleCall) -> None:
        kind = type(call.module)
        if kind not in self._modules and len(self._modules) < MAX_CLASSES:
            self._modules[kind] = call.module
            if not is_of_package(kind.forward):
                self._files.add(kind.forward.__code__.co_filename)
            if not call.depth and call.site[0] is not None:
                self._files.add(call.site[0].co_filename)

    def was_seen(self, check: str) -> bool:
        return not all(map(is_library_file, self._files))

    def findings(self) -> Iterator[Finding]:
        trees = {file: tree for file in self._files if "site-packages" not in file and (tree := syntax_tree(file)) is not None}
        names = {kind.__name__: module for kind, module in self._modules.items()}
        loaded = set().union(*[_loaded(tree, ast.Name) for tree in trees.values()])
        attributes = set().union(*[_loaded(tree, ast.Attribute) for tree in trees.values()])
        for file, tree in trees.items():
            if is_library_file(file):
                continue  # its options are for all of its users
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.name in names and not BY_ITERATION.search(ast.unparse(node)):
                    yield from self._attributes(file, node, names[node.name], attributes)
                elif isinstance(node, ast.For):
                    yield from self._late_bound(file, node)
                elif isinstance(node, ast.FunctionDef):
                    yield from self._arguments(file, node, loaded | attributes)
                    yield from self._variables(file, node)
                    yield from self._results(file, node, tree)
                    yield from self._seeded(file, node)
                    yield from self._in_reverse(file, node)

    def _attributes(self, file: str, of: ast.ClassDef, module: Any, loaded: set[str]) -> Iterator[Finding]:
        for name, line in _stored(of):
            value = getattr(module, name, None)
            works = (is_module(value) and not any(True for _ in value.parameters())) or is_tensor(value) or (
                isinstance(value, float) and WORKING.search(name))
            if name not in loaded and works and not getattr(value, "requires_grad", False):
                what = "tensor" if is_tensor(value) else f"value {value:g}" if isinstance(value, float) else (
                    f"layer {type(value).__name__}")
                yield self._found(location_of_line(file, line), f"`{name}` of {of.name} is never used",
                                  f"{of.name} has the {what} as `{name}`, made {{here}}, and no line of the program reads it")

    def _arguments(self, file: str, function: ast.FunctionDef, loaded: set[str]) -> Iterator[Finding]:
        read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        does_nothing = all(isinstance(s, (ast.Pass, ast.Raise)) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
                           for s in function.body)
        if does_nothing or function.name not in loaded | {"forward"} or "locals" in read:
            return
        for argument in (*function.args.args, *function.args.kwonlyargs):
            if argument.arg not in read and WORKING.search(argument.arg):
                yield self._found(location_of_line(file, argument.lineno), f"`{argument.arg}` of {function.name}() is never used",
                                  f"{function.name}() has an argument `{argument.arg}` {{here}}, and no line of it reads that")

    def _variables(self, file: str, function: ast.FunctionDef) -> Iterator[Finding]:
        """Names that a function binds, and never reads. They are missing in the lines that use what was bound beside them."""
        read = _loaded(function, ast.Name)
        shared = {name for node in ast.walk(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
        for statement in ast.walk(function):
            if not isinstance(statement, (ast.Assign, ast.For)):
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            for node in names:
                if node.id not in read | shared and WORKING.search(node.id):
                    beside = {other.id for other in names} - {node.id}
                    users = [location_of_line(file, user.lineno) for user in ast.walk(function) if isinstance(user, ast.Assign)
                             and user.lineno > node.lineno and (not beside or beside & _loaded(user, ast.Name))]
                    yield self._found(location_of_line(file, node.lineno), f"`{node.id}` of {function.name}() is never used",
                                      f"`{node.id}` gets a value {{here}}, and no line of {function.name}() reads it", *users[:4])

    def _results(self, file: str, function: ast.FunctionDef, tree: ast.Module) -> Iterator[Finding]:
        """What a function computes with torch, or gets from another one in the loop of the training, and never reads."""
        read = _loaded(function, ast.Name)
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        trains = [loop for loop in ast.walk(function) if isinstance(loop, (ast.For, ast.While)) and any(
            called_name(node) == "backward" for node in ast.walk(loop))]
        in_loop = {id(node) for loop in trains for node in ast.walk(loop)}
        for statement in ast.walk(function):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target, value = statement.targets[0], statement.value
            calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
            if isinstance(target, ast.Name):
                computes = (function.name == "forward" or trains) and any(
                    COMPUTING.match(ast.unparse(call.func)) for call in calls)
                names = [target.id] if computes else []
            else:
                is_own = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in own
                is_read_elsewhere = len([n for n in ast.walk(tree) if called_name(n) == called_name(value)]) > 1
                names = [node.id for node in ast.walk(target) if isinstance(node, ast.Name)] if (
                    is_own and id(statement) in in_loop and not is_read_elsewhere) else []
            for name in names:
                if name not in read and not name.startswith("_") and not WORKING.search(name):
                    beside = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)} - {name}
                    later = [node for node in ast.walk(function) if isinstance(node, ast.Assign)
                             and node.lineno > statement.lineno and _loaded(node, ast.Name) & beside]
                    yield self._found(location_of_line(file, statement.lineno), f"`{name}` of {function.name}() is never used",
                                      f"`{name}` gets a value {{here}}, and no line of {function.name}() reads it",
                                      *[location_of_line(file, node.lineno) for node in later[:4]])

    def _seeded(self, file: str, function: ast.FunctionDef) -> Iterator[Finding]:
        """A dataset that seeds with one number for each sample."""
        for call in ast.walk(function) if function.name == "__getitem__" else ():
            if called_name(call) in SEEDING and isinstance(call, ast.Call) and call.args and all(
                    isinstance(argument, ast.Constant) for argument in call.args):
                line = location_of_line(file, call.lineno)
                yield finding("options-read", "draws-repeated", "the same random numbers are drawn for each sample",
                              f"`{ast.unparse(call)}` in line {line.line} seeds anew for each sample, and always with the same "
                              "number: what is drawn after it is the same for all samples and in all epochs.",
                              "seed once, outside of __getitem__, or with a number that depends on the sample and the epoch.",
                              causes=(line, *[location_of_line(file, n) for n in (line.line + 1, line.line + 2)]),
                              symptom="wrong-value")
                return

    def _in_reverse(self, file: str, function: ast.FunctionDef) -> Iterator[Finding]:
        """Returns that are computed from the last to the first, and never turned round."""
        text = ast.unparse(function)
        for loop in ast.walk(function):
            backwards = loop.iter if isinstance(loop, ast.For) else None
            if not isinstance(loop, ast.For) or called_name(backwards) != "reversed" or not isinstance(backwards, ast.Call):
                continue
            for call in ast.walk(loop):
                name = ast.unparse(call.func.value) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and (
                    call.func.attr == "append") else ""
                is_sequence = isinstance(backwards.args[0], (ast.Name, ast.Attribute)) or RETURNS.search(name)
                if not name or not is_sequence or not re.search(rf"(stack|tensor|cat)\(\[?{re.escape(name)}\b", text):
                    continue
                turned = rf"reversed\({re.escape(name)}\)|{re.escape(name)}\[::-1\]|{re.escape(name)}\.reverse\(|flip\("
                if not re.search(turned, text):
                    yield finding("options-read", "labels-shuffled", f"`{name}` stands in the reverse order",
                                  f"`{name}` of {function.name}() is filled from the last element of "
                                  f"`{ast.unparse(backwards.args[0])}` to the first (line {loop.lineno}), and is not turned "
                                  "round: its first element belongs to the last one, and so on.",
                                  f"turn it round: {name}.reverse() behind the loop, or insert(0, ...).",
                                  causes=(location_of_line(file, getattr(call, "lineno", loop.lineno)),
                                          location_of_line(file, loop.lineno)), symptom="wrong-value")
                    return

    def _late_bound(self, file: str, loop: ast.For) -> Iterator[Finding]:
        """Functions that a loop makes and keeps, and that read its variable when they run."""
        names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        for call in ast.walk(loop):
            kept = call.args if isinstance(call, ast.Call) and called_name(call) == "append" else []
            if isinstance(call, ast.Assign) and isinstance(call.targets[0], (ast.Subscript, ast.Attribute)):
                kept = [call.value]
            for function in [value for value in kept if isinstance(value, ast.Lambda)]:
                late = sorted((names & _loaded(function.body, ast.Name)) - {argument.arg for argument in function.args.args})
                if late:
                    where = location_of_line(file, function.lineno)
                    yield finding("options-read", "hook-late-binding", "functions made in a loop all use the last value of a "
                                                                       "variable",
                                  f"The function made in line {where.line} reads `{late[0]}` when it is called: by then the "
                                  "loop is over, and all of them use the last one. What was meant for the other turns is never "
                                  "used.",
                                  f"bind the value when it is made: lambda x, {late[0]}={late[0]}: ...", causes=(where,),
                                  symptom="wrong-value")
                    return

    def _found(self, where: SourceLocation, headline: str, text: str, *users: SourceLocation) -> Finding:
        found = finding("options-read", "value-unused", headline,
                        f"{text.format(here=f'in line {where.line}')}: it has no influence on what is computed.",
                        "use it where it is meant to act, or remove it.", causes=(where, *users), symptom="wrong-value")
        found.unless = {"argument-unused", "unused-in-loss"}
        return found


def _loaded(tree: ast.AST, kind: type[ast.Name | ast.Attribute]) -> set[str]:
    """The names, or the attributes, that are read, or deleted on purpose."""
    return {node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(tree)
            if isinstance(node, kind) and isinstance(node.ctx, (ast.Load, ast.Del))}


def _stored(of: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """The attributes that a class sets, with their lines."""
    for node in ast.walk(of):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr, node.lineno
        elif isinstance(node, ast.Call) and called_name(node) == "register_buffer" and node.args:
            name = ast.unparse(node.args[0])
            yield name[1:-1], node.lineno  # without its quotes
