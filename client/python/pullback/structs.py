"""Values of structs: named tuples."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Mapping


@functools.lru_cache(maxsize=1024)
def struct_class(name, fields):
    """The named tuple of a struct. Its fields are attributes, and items by name (`p["lambda"]`): names
    that Python keeps for itself are reached so only.
    """
    base = collections.namedtuple("Struct", fields, rename=True)

    def item(self, key):
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, fields.index(key))
            except ValueError:
                raise KeyError(key) from None
        return tuple.__getitem__(self, key)

    def reduce(self):
        return _make, (name, fields, tuple(self))

    return type(name, (base,), {"__slots__": (), "__getitem__": item, "__reduce__": reduce,
                                "field_names": fields})


def _make(name, fields, values):
    return struct_class(name, fields)(*values)


def named_parts(value):
    """{field: part} of a value that has names for its parts; None where it has none."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    names = getattr(value, "field_names", None) or getattr(value, "_fields", None)
    if isinstance(value, tuple) and names:
        return dict(zip(names, value))
    return None
