"""What a pickle would do, without doing it: its steps are followed on paper.

A pickle is a small program for a stack machine. `follow` walks through the steps that `pickletools`
lists and keeps, where the machine would call something, a note of the call: nothing is imported,
called or unpacked. Dictionaries stay lists of pairs, so that not even a hash is computed.
"""

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_STEPS = 150_000  # a model of 3,000 tensors takes about 100,000


@dataclass(frozen=True, eq=False)
class Named:
    """Something that the pickle asks to import."""

    module: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False)
class Pairs:
    """A dictionary."""

    items: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(eq=False)
class Call:
    """A call that the pickle asks for; or, with `what` None, bytes that lie outside of it."""

    what: Any
    arguments: Any
    put: Pairs = field(default_factory=Pairs)  # what is put into the result (an OrderedDict)


class Lost(Exception):
    """The steps are not those of a plain file of weights, or not those of a pickle at all."""


class _Machine:
    """The stack, the marks on it, and the values kept for later."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.named: dict[str, Named] = {}
        self.calls = 0

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise Lost("it takes more from the stack than there is")
        return self.stack.pop()

    def since_mark(self) -> list[Any]:
        if not self.marks:
            raise Lost("a mark is missing")
        at = self.marks.pop()
        items, self.stack[at:] = self.stack[at:], []
        return items

    def several(self, count: int) -> tuple[Any, ...]:
        return tuple(self.pop() for _ in range(count))[::-1]

    def name(self, module: Any, name: Any) -> None:
        known = isinstance(module, str) and isinstance(name, str)
        made = Named(module, name) if known else Named("?", "made up while reading")
        self.named.setdefault(made.path, made)
        self.push(made)

    def call(self, what: Any, arguments: Any) -> None:
        self.calls += 1
        self.push(Call(what, arguments))

    def put(self, items: list[Any]) -> None:
        below = self.stack[-1] if self.stack else None
        pairs = below.put if isinstance(below, Call) else below
        if isinstance(pairs, Pairs):
            pairs.items.extend(zip(items[::2], items[1::2], strict=False))

    def extend(self, items: list[Any]) -> None:
        if self.stack and isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)


def _global(machine: _Machine, argument: Any) -> None:
    module, _, name = str(argument).partition(" ")
    machine.name(module, name)


def _stack_global(machine: _Machine, argument: Any) -> None:
    machine.name(*machine.several(2))


def _inst(machine: _Machine, argument: Any) -> None:
    arguments = tuple(machine.since_mark())
    _global(machine, argument)
    machine.call(machine.pop(), arguments)


def _obj(machine: _Machine, argument: Any) -> None:
    items = machine.since_mark()
    machine.call(items[0] if items else None, tuple(items[1:]))


def _get(machine: _Machine, argument: Any) -> None:
    if int(argument) not in machine.memo:
        raise Lost("it asks for a value that it never kept")
    machine.push(machine.memo[int(argument)])


def _keep(machine: _Machine, argument: Any) -> None:
    if not machine.stack:
        raise Lost("it keeps a value that is not there")
    machine.memo[len(machine.memo) if argument is None else int(argument)] = machine.stack[-1]


def _pop(machine: _Machine, argument: Any) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.pop()


def _pop_mark(machine: _Machine, argument: Any) -> None:
    machine.since_mark()


def _again(machine: _Machine, argument: Any) -> None:
    machine.push(machine.stack[-1] if machine.stack else None)


def _state(machine: _Machine, argument: Any) -> None:
    state = machine.pop()  # `__setstate__` of what lies below: a call in its own right
    if not machine.stack:
        raise Lost("it gives a state to nothing")
    if isinstance(machine.stack[-1], Call):
        machine.calls += 1
        return
    machine.extend([state])


Step = Callable[[_Machine, Any], None]
STEPS: dict[str, Step] = {
    "PROTO": lambda m, a: None,
    "FRAME": lambda m, a: None,
    "STOP": lambda m, a: None,
    "MARK": lambda m, a: m.marks.append(len(m.stack)),
    "NONE": lambda m, a: m.push(None),
    "NEWTRUE": lambda m, a: m.push(True),
    "NEWFALSE": lambda m, a: m.push(False),
    "EMPTY_DICT": lambda m, a: m.push(Pairs()),
    "EMPTY_LIST": lambda m, a: m.push([]),
    "EMPTY_TUPLE": lambda m, a: m.push(()),
    "EMPTY_SET": lambda m, a: m.push([]),
    "TUPLE": lambda m, a: m.push(tuple(m.since_mark())),
    "TUPLE1": lambda m, a: m.push(m.several(1)),
    "TUPLE2": lambda m, a: m.push(m.several(2)),
    "TUPLE3": lambda m, a: m.push(m.several(3)),
    "LIST": lambda m, a: m.push(m.since_mark()),
    "FROZENSET": lambda m, a: m.push(m.since_mark()),
    "DICT": lambda m, a: _dict(m),
    "SETITEM": lambda m, a: m.put(list(m.several(2))),
    "SETITEMS": lambda m, a: m.put(m.since_mark()),
    "APPEND": lambda m, a: m.extend([m.pop()]),
    "APPENDS": lambda m, a: m.extend(m.since_mark()),
    "ADDITEMS": lambda m, a: m.extend(m.since_mark()),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "INST": _inst,
    "OBJ": _obj,
    "REDUCE": lambda m, a: m.call(*m.several(2)),
    "NEWOBJ": lambda m, a: m.call(*m.several(2)),
    "NEWOBJ_EX": lambda m, a: m.call(*m.several(3)[:2]),
    "BUILD": _state,
    "BINPERSID": lambda m, a: m.push(Call(None, m.pop())),
    "PERSID": lambda m, a: m.push(Call(None, a)),
    "POP": _pop,
    "POP_MARK": _pop_mark,
    "DUP": _again,
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _get),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _keep),
}
# The argument itself is the value.
VALUES = (
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING",
    "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
)  # fmt: skip


def _dict(machine: _Machine) -> None:
    items = machine.since_mark()
    machine.push(Pairs(list(zip(items[::2], items[1::2], strict=False))))


@dataclass
class Followed:
    """What the steps would make, and what they would import."""

    value: Any
    named: list[Named]
    problem: str = ""


def follow(file: io.BytesIO) -> Followed:
    """Follow one pickle from the file's place to its end; a problem is told, not raised."""
    machine = _Machine()
    problem = ""
    try:
        for number, (step, argument, _) in enumerate(pickletools.genops(file)):
            if number >= MAX_STEPS:
                raise Lost(f"it has more than {MAX_STEPS:,} steps")
            if step.name in VALUES:
                machine.push(argument)
            elif step.name in STEPS:
                STEPS[step.name](machine, argument)
            else:
                raise Lost(f"step {step.name} has no place in a file of weights")
    except Lost as lost:
        problem = str(lost)
    except (ValueError, IndexError, OverflowError, UnicodeError) as error:
        problem = f"it is not a whole pickle ({type(error).__name__})"
    value = machine.stack[-1] if machine.stack else None
    return Followed(value, list(machine.named.values()), problem)
