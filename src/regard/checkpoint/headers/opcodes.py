"""What a pickle would do, without doing it: its instructions are followed on paper.

A pickle is a small program for a stack machine. `follow` walks through the instructions that
`pickletools` lists and keeps, where the machine would call something, a note of the call: nothing
is imported, called or unpacked. Dictionaries stay lists of pairs, so that not even a hash is
computed. A loader goes no further than those instructions and names that torch.save writes for a
dictionary of tensors; the doctor follows the others too, and says what they ask for.
"""

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from regard.checkpoint.headers.contents import Contents
from regard.errors import shown

MAX_STEPS = 300_000  # a tensor takes about 30
ONLY = "only a dictionary of plain tensors is read"
# What a pickle may name: the storages of tensors, and what is called to make them.
STORAGES = {
    "torch.DoubleStorage": "F64", "torch.FloatStorage": "F32", "torch.HalfStorage": "F16",
    "torch.BFloat16Storage": "BF16", "torch.LongStorage": "I64", "torch.IntStorage": "I32",
    "torch.ByteStorage": "U8", "torch.BoolStorage": "BOOL",
}  # fmt: skip
CALLED = (
    "collections.OrderedDict",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_parameter",
)
# What harmless files name, too, and regard does not read.
UNREAD = (
    "torch.Size", "torch.storage.UntypedStorage", "torch._utils._rebuild_tensor",
    "torch.ShortStorage", "torch.CharStorage", "torch.UntypedStorage",
)  # fmt: skip
# The instructions that torch.save writes for a dictionary of tensors.
PLAIN = {
    "PROTO", "STOP", "GLOBAL", "REDUCE", "BINPERSID", "BUILD", "MARK", "TUPLE", "TUPLE1",
    "TUPLE2", "TUPLE3", "EMPTY_TUPLE", "EMPTY_DICT", "SETITEM", "SETITEMS", "BINUNICODE",
    "BININT", "BININT1", "BININT2", "LONG1", "NONE", "NEWTRUE", "NEWFALSE", "BINPUT",
    "LONG_BINPUT", "BINGET", "LONG_BINGET",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class NamedObject:
    """Something that the pickle asks to import; it is compared, never looked up."""

    path: str


@dataclass(eq=False)
class ObjectPairs:
    """A dictionary."""

    items: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(eq=False)
class Call:
    """A call that the pickle asks for; or, with `what` None, bytes that lie outside of it."""

    what: Any
    arguments: Any
    # what is put into the result (an OrderedDict)
    put: ObjectPairs = field(default_factory=ObjectPairs)


class _Lost(Exception):
    """The instructions are not those of a pickle."""


class _Machine:
    """The stack, the marks on it, and the values kept for later."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.several(1)[0]

    def since_mark(self) -> list[Any]:
        at = self.marks.pop()
        items, self.stack[at:] = self.stack[at:], []
        return items

    def several(self, count: int) -> tuple[Any, ...]:
        if len(self.stack) - count < (self.marks[-1] if self.marks else 0):
            raise _Lost("it takes more from the stack than there is")
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        return items

    def name(self, module: Any, name: Any) -> None:
        path = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "?"
        if path not in STORAGES and path not in CALLED:
            level: Any = "note" if path in UNREAD else "unsafe"
            text = f"its pickle asks for {shown(path, 200)}; {ONLY}"
            self.contents.find(level, text, stops=True)
        self.push(NamedObject(path))

    def call(self, what: Any, arguments: Any) -> None:
        if not isinstance(what, NamedObject):
            kind = type(what).__name__.lower()
            self.contents.find("unsafe", f"its pickle calls {kind}; {ONLY}")
        self.push(Call(what, arguments))

    def put(self, items: list[Any]) -> None:
        below = self.stack[-1]
        pairs = below.put if isinstance(below, Call) else below
        if not isinstance(pairs, ObjectPairs) or len(items) % 2:
            text = f"its pickle sets items of something that is no dictionary; {ONLY}"
            self.contents.find("note", text, stops=True)
        else:
            pairs.items.extend(zip(items[::2], items[1::2], strict=True))

    def extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def keep(self, argument: Any) -> None:
        self.memo[len(self.memo) if argument is None else int(argument)] = self.stack[-1]

    def drop(self) -> None:
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.pop()

    def instance(self, argument: Any) -> None:
        arguments = tuple(self.since_mark())
        self.name(*str(argument).split(" ", 1))
        self.call(self.pop(), arguments)

    def state(self) -> None:
        """A state dict carries the versions of modules along, which change no number."""
        state, target = self.pop(), self.stack[-1]
        keys = [key for key, _ in state.items] if isinstance(state, ObjectPairs) else []
        if keys != ["_metadata"] or not isinstance(target, Call | ObjectPairs):
            self.contents.find("note", f"its pickle sets attributes; {ONLY}", stops=True)


# Their argument is itself the value.
VALUES = (
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
)  # fmt: skip
OpcodeStep = Callable[[_Machine, Any], None]
STEPS: dict[str, OpcodeStep] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda m, a: None),
    "MARK": lambda m, a: m.marks.append(len(m.stack)),
    "NONE": lambda m, a: m.stack.append(None),
    "NEWTRUE": lambda m, a: m.stack.append(True),
    "NEWFALSE": lambda m, a: m.stack.append(False),
    "EMPTY_DICT": lambda m, a: m.stack.append(ObjectPairs()),
    **dict.fromkeys(("EMPTY_LIST", "EMPTY_SET"), lambda m, a: m.stack.append([])),
    "EMPTY_TUPLE": lambda m, a: m.stack.append(()),
    "TUPLE": lambda m, a: m.stack.append(tuple(m.since_mark())),
    "TUPLE1": lambda m, a: m.stack.append((m.stack.pop(),)),
    "TUPLE2": lambda m, a: m.stack.append(m.several(2)),
    "TUPLE3": lambda m, a: m.stack.append(m.several(3)),
    **dict.fromkeys(("LIST", "FROZENSET"), lambda m, a: m.stack.append(m.since_mark())),
    "DICT": lambda m, a: _dict(m),
    "SETITEM": lambda m, a: m.put(list(m.several(2))),
    "SETITEMS": lambda m, a: m.put(m.since_mark()),
    "APPEND": lambda m, a: m.extend([m.pop()]),
    **dict.fromkeys(("APPENDS", "ADDITEMS"), lambda m, a: m.extend(m.since_mark())),
    "GLOBAL": lambda m, a: m.name(*str(a).split(" ", 1)),
    "STACK_GLOBAL": lambda m, a: m.name(*m.several(2)),
    "INST": _Machine.instance,
    "OBJ": lambda m, a: _object(m),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), lambda m, a: m.call(*m.several(2))),
    "NEWOBJ_EX": lambda m, a: m.call(*m.several(3)[:2]),
    "BUILD": lambda m, a: m.state(),
    "BINPERSID": lambda m, a: m.stack.append(Call(None, m.pop())),
    "PERSID": lambda m, a: m.stack.append(Call(None, a)),
    "POP": lambda m, a: m.drop(),
    "POP_MARK": lambda m, a: m.since_mark().clear(),
    "DUP": lambda m, a: m.stack.append(m.stack[-1]),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda m, a: m.stack.append(m.memo[int(a)])),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.keep),
    **dict.fromkeys(VALUES, lambda m, a: m.stack.append(a)),
}


def _dict(machine: _Machine) -> None:
    items = machine.since_mark()
    machine.push(ObjectPairs(list(zip(items[::2], items[1::2], strict=False))))


def _object(machine: _Machine) -> None:
    what, *arguments = machine.since_mark()
    machine.call(what, tuple(arguments))


def follow(file: io.BytesIO, contents: Contents) -> Any:
    """What one pickle would make, from the file's place to its end; `contents` gets findings."""
    machine, foreign = _Machine(contents), False
    try:
        for number, (instruction, argument, _) in enumerate(pickletools.genops(file)):
            name = instruction.name
            if number >= MAX_STEPS:
                raise _Lost(f"it has more than {MAX_STEPS:,} instructions")
            if name not in PLAIN and not foreign:
                foreign = True  # one is enough to know that torch did not write it
                text = f"its pickle uses the instruction {name}; {ONLY}"
                contents.find("note", text, stops=True)
            if name not in STEPS:
                raise _Lost(f"{name} has no place in a file of weights")
            STEPS[name](machine, argument)
    except _Lost as lost:
        contents.find("broken", f"its pickle is damaged: {lost}")
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        contents.find("broken", f"its pickle is damaged ({type(error).__name__})")
    return machine.stack[-1] if machine.stack else None
