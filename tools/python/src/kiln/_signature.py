"""What a kernel takes at each place, as far as its symbol tells: the part of the Itanium C++ ABI's mangling that kernels'
signatures are made of. Whatever goes beyond it gives no answer, never a wrong one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A struct module's letter for each builtin type; "P" for an address.
BUILTINS = {"b": "?", "c": "b", "a": "b", "h": "B", "s": "h", "t": "H", "i": "i", "j": "I", "l": "q", "m": "Q",
            "x": "q", "y": "Q", "w": "i", "f": "f", "d": "d"}
LONG_BUILTINS = {"Dh": "e", "Di": "I", "Ds": "H", "Du": "B"}
# CUDA's own classes that a number stands for.
NUMBER_CLASSES = {"__half": "e", "__nv_bfloat16": "bfloat16"}
ABBREVIATIONS = {"a": "allocator", "b": "basic_string", "s": "string", "i": "istream", "o": "ostream", "d": "iostream"}
OTHER = "other"


class Unknown(Exception):
    """The symbol goes beyond what is read here."""


class Name:
    """A name, with the arguments of the template that it is an instance of, if it is one."""

    def __init__(self, text: str, arguments: list[Any] | None = None) -> None:
        self.text = text
        self.arguments = arguments

    @property
    def kind(self) -> str:
        return NUMBER_CLASSES.get(self.text, OTHER) if self.arguments is None else OTHER


class Parser:
    """Reads one symbol. A type is its letter, OTHER, or a list of types for a template's pack."""

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        self.at = 0
        self.substitutions: list[Any] = []
        self.parameters: list[Any] = []

    def peek(self, length: int = 1) -> str:
        return self.symbol[self.at:self.at + length]

    def accept(self, text: str) -> bool:
        if not self.symbol.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise Unknown

    def digits(self, alphabet: str) -> str:
        begin = self.at
        while self.peek() and self.peek() in alphabet:
            self.at += 1
        return self.symbol[begin:self.at]

    def signature(self) -> list[str]:
        self.expect("_Z")
        name = self.function_name()
        if name.arguments is not None:
            self.parameters = name.arguments
            self.type()  # What a template returns is part of its symbol.
        if self.peek() == "v" and self.at + 1 == len(self.symbol):
            return []
        kinds: list[str] = []
        while self.at < len(self.symbol):
            kind = self.type()
            kinds += kind if isinstance(kind, list) else [kind]
        return kinds

    def function_name(self) -> Name:
        if self.peek() == "N":
            return self.nested_name()
        name = Name(self.plain_name())
        if self.peek() == "I":
            self.substitutions.append(name)
            name = Name(name.text, self.template_arguments())
        return name

    def plain_name(self) -> str:
        self.accept("St")
        self.accept("L")
        length = self.digits("0123456789")
        if not length:
            raise Unknown
        begin = self.at
        self.at += int(length)
        if self.at > len(self.symbol) or self.peek() == "B":
            raise Unknown
        return self.symbol[begin:self.at]

    def nested_name(self) -> Name:
        self.expect("N")
        name: Name | None = None
        while not self.accept("E"):
            if self.peek() == "I":
                if name is None or name.arguments is not None:
                    raise Unknown
                name = Name(name.text, self.template_arguments())
            elif self.peek() == "S" and name is None:
                if self.accept("St"):
                    name = Name("std")
                    continue
                known = self.substitution()
                if not isinstance(known, Name):
                    raise Unknown
                name = known
                continue
            else:
                name = Name(self.plain_name() if name is None else f"{name.text}::{self.plain_name()}")
            if self.peek() != "E":
                self.substitutions.append(name)
        if name is None:
            raise Unknown
        return name

    def template_arguments(self) -> list[Any]:
        self.expect("I")
        arguments: list[Any] = []
        while not self.accept("E"):
            arguments.append(self.template_argument())
        return arguments

    def template_argument(self) -> Any:
        if self.accept("L"):
            if self.peek() == "_":
                raise Unknown
            self.type()
            self.digits("0123456789abcdefn")
            self.expect("E")
            return OTHER
        if self.accept("J"):
            pack: list[Any] = []
            while not self.accept("E"):
                pack.append(self.template_argument())
            return pack
        return self.type()

    def sequence_number(self) -> int:
        digits = self.digits("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        self.expect("_")
        return int(digits, 36) + 1 if digits else 0

    def substitution(self) -> Any:
        self.expect("S")
        if self.peek() in ABBREVIATIONS:
            name = Name(ABBREVIATIONS[self.peek()])
            self.at += 1
            return name
        number = self.sequence_number()
        if number >= len(self.substitutions):
            raise Unknown
        return self.substitutions[number]

    def template_parameter(self) -> Any:
        self.expect("T")
        digits = self.digits("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        self.expect("_")
        number = int(digits, 36) + 1 if digits else 0
        if number >= len(self.parameters):
            raise Unknown
        return self.parameters[number]

    def added(self, item: Any) -> Any:
        self.substitutions.append(item)
        return item

    def type(self) -> Any:
        item = self.item()
        return item.kind if isinstance(item, Name) else item

    def item(self) -> Any:
        """A type as it may be substituted later: a class by its name, so that it may be the beginning of another name."""
        letter = self.peek()
        if letter in BUILTINS:
            self.at += 1
            return BUILTINS[letter]
        if letter == "v":
            self.at += 1
            return OTHER
        if self.peek(2) in LONG_BUILTINS:
            self.at += 2
            return LONG_BUILTINS[self.symbol[self.at - 2:self.at]]
        if letter and letter in "rVK":
            self.digits("rVK")
            return self.added(self.type())
        if letter and letter in "PRO":
            self.at += 1
            self.type()
            return self.added("P")
        if letter == "T":
            return self.added(self.template_parameter())
        if letter == "A":
            return self.array()
        if letter == "F":
            return self.function()
        if self.accept("Dp"):
            if self.peek() != "T":
                raise Unknown
            pack = self.template_parameter()
            if not isinstance(pack, list):
                raise Unknown
            self.substitutions += [pack, pack]
            return pack
        return self.class_name()

    def array(self) -> Any:
        self.expect("A")
        if not self.digits("0123456789"):
            raise Unknown
        self.expect("_")
        self.type()
        return self.added(OTHER)

    def function(self) -> Any:
        self.expect("F")
        self.accept("Y")
        while not self.accept("E"):
            self.type()
        return self.added(OTHER)

    def class_name(self) -> Any:
        if self.peek() == "N":
            return self.added(self.nested_name())
        if self.peek() == "S" and self.peek(2) != "St":
            found = self.substitution()
        elif self.peek(2) == "St" or self.peek().isdigit():
            found = self.added(Name(self.plain_name()))
        else:
            raise Unknown
        if self.peek() == "I":
            if not isinstance(found, Name) or found.arguments is not None:
                raise Unknown
            found = self.added(Name(found.text, self.template_arguments()))
        return found


def parameter_letters(symbol: str) -> list[str] | None:
    """For each parameter a letter of the struct module, "P" for an address, "bfloat16", or "other" for a type of the
    program's own. None where the symbol does not tell, as that of an `extern "C"` kernel."""
    try:
        return Parser(symbol).signature()
    except (Unknown, RecursionError):
        return None
