"""Between Python's values and protobuf's, by the types of a signature."""

from __future__ import annotations

import numpy as np

from .errors import argument_error
from .relations import write_relation
from .sparse import SparseTensor
from .structs import named_parts, struct_class
from .types import (
    ListType,
    RelationType,
    SparseType,
    StructArrayType,
    StructType,
    TensorType,
    dtype_of,
)
from .v1 import tensor_pb2

_ACCEPTED = {"f": "fiu", "i": "iu", "b": "b"}  # kinds that become a kind without surprises


def _array(value, type_, what):
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise argument_error("TYPE_MISMATCH", f"{what}: expected {type_}: {error}") from error
    if array.dtype.kind not in _ACCEPTED[type_.dtype.kind] and array.size > 0:
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected {type_}, got {_describe(value, array)}")
    if array.ndim != len(type_.dims):
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected {type_}, got an array of shape {array.shape}")
    if array.dtype.kind == "u" and type_.dtype.kind == "i" and np.any(array > np.iinfo("i8").max):
        raise argument_error("INVALID_VALUE", f"{what}: an integer is out of range for i64")
    return np.asarray(array, type_.dtype, order="C")


def _describe(value, array):
    if array.dtype == object:
        return f"{type(value).__name__} ({value!r:.60})"
    return f"{array.dtype} of shape {array.shape}" if array.ndim else f"{value!r:.60}"


def _write_tensor(value, type_, what, message):
    array = _array(value, type_, what)
    message.dtype = type_.code
    message.shape.extend(array.shape)
    message.data = array.tobytes()


def write_value(value, type_, what, message, derivative=False):
    """Fills a Value. In a derivative None (or an empty tuple) is what holds no floats."""
    if isinstance(type_, (TensorType, ListType, RelationType)):
        if derivative and not type_.is_float:
            _check_none(value, type_, what)
            message.tuple.SetInParent()
        elif isinstance(type_, RelationType):
            write_relation(value, type_, what, message.relation)
        elif isinstance(type_, ListType):
            _ListWriter(message.list, derivative).write(value, type_, what)
        else:
            _write_tensor(value, type_, what, message.tensor)
        return
    message.tuple.SetInParent()
    for name, part, part_type in _parts(value, type_, what):
        element = message.tuple.elements.add()
        write_value(part, part_type, f"{what}.{name}", element, derivative)


def _is_none(value):
    if isinstance(value, list):  # of the elements of an array of structs
        return all(map(_is_none, value))
    return value is None or (isinstance(value, tuple) and not value)


def _check_none(value, type_, what):
    if not _is_none(value):
        raise argument_error("TYPE_MISMATCH", f"{what}: {type_} has no derivative: None")


def _parts(value, type_, what):
    """(name, part, type) of each element of a tuple or struct."""
    is_struct = isinstance(type_, StructType) and bool(type_.fields)
    if isinstance(type_, StructArrayType) and isinstance(value, list):
        return _columns(value, type_, what)
    parts = named_parts(value) if is_struct else None
    if parts is not None:
        for name in parts:
            if name not in type_.fields:
                fields = ", ".join(type_.fields)
                raise argument_error("TYPE_MISMATCH",
                                     f"{what}: {type_} has no field {name!r}; it has: {fields}")
        for name, part_type in zip(type_.fields, type_.elements):
            if name not in parts:
                raise argument_error("TYPE_MISMATCH",
                                     f"{what}: the field {name!r} is missing; it is {part_type}")
        return [(n, parts[n], t) for n, t in zip(type_.fields, type_.elements)]
    if not isinstance(value, (tuple, list)) or len(value) != len(type_.elements):
        kind = "its fields" if is_struct else "a tuple"
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected {kind} {type_}, got {value!r:.60}")
    names = type_.fields if is_struct else range(len(value))
    return zip(names, value, type_.elements)


def _columns(value, type_, what):
    """The same of an array of tuples or structs that is given as the list of its elements."""
    count = len(type_.elements)
    names = type_.fields or tuple(map(str, range(count)))

    def column(items, axes, name):
        if axes == 0:
            parts = named_parts(items) if type_.fields else None
            if parts is None and isinstance(items, (tuple, list)) and len(items) == count:
                parts = dict(zip(names, items))
            if parts is None or set(parts) != set(names):
                expected = f"{type_.element} ({', '.join(names)})"
                raise argument_error("TYPE_MISMATCH",
                                     f"{what}: expected elements {expected}, got {items!r:.60}")
            return parts[name]
        if not isinstance(items, list):
            raise argument_error("TYPE_MISMATCH",
                                 f"{what}: expected a list of {type_.element}, got {items!r:.60}")
        return [column(item, axes - 1, name) for item in items]

    return [(name, column(value, len(type_.dims), name), part_type)
            for name, part_type in zip(names, type_.elements)]


class _Scalars(TensorType):
    """Of a list of scalars, which is as good as an array of one axis."""

    def __str__(self):
        return f"list {self.name}"


class _ListWriter:
    """Writes a list with all within it, in the order that tensor.proto says."""

    def __init__(self, message, derivative):
        self._message = message
        self._derivative = derivative
        self._records = {}  # by id of the element's type
        self._types = []  # keeps those alive

    def write(self, value, type_, what):
        self._message.length = self._count(value, type_, what)
        self._append(value, type_, what)
        for _, record, columns in self._records.values():
            for column, (extents, data) in zip(record.columns, columns):
                column.extents = np.array(extents, "<i8").tobytes()
                column.data = b"".join(data)

    def _record(self, element):
        """Its index, message and columns (extents, data)."""
        if id(element) not in self._records:
            record = self._message.records.add()
            columns = []
            self._records[id(element)] = (len(self._types), record, columns)
            self._types.append(element)
            for leaf in _leaf_types(element):
                column = record.columns.add()
                columns.append(([], []))
                if self._derivative and not leaf.is_float:
                    continue
                if isinstance(leaf, ListType):
                    column.list = self._record(leaf.element)[0]
                else:
                    column.dtype, column.rank = leaf.code, len(leaf.dims)
        return self._records[id(element)]

    def _count(self, value, type_, what):
        is_array = isinstance(value, np.ndarray) and value.ndim > 0
        if not is_array and not isinstance(value, (list, tuple)):
            raise argument_error("TYPE_MISMATCH", f"{what}: expected {type_}, got {value!r:.60}")
        return len(value)

    def _append(self, value, type_, what):
        element = type_.element
        _, _, columns = self._record(element)
        if isinstance(element, TensorType) and not element.dims:
            array = _array(value, _Scalars(element.code, ("_",)), what)
            columns[0][1].append(array.tobytes())
            return
        inner = []
        for i, item in enumerate(value):
            leaves = _leaves(item, element, f"{what}[{i}]")
            for (leaf, leaf_type, name), (extents, data) in zip(leaves, columns):
                if self._derivative and not leaf_type.is_float:
                    _check_none(leaf, leaf_type, name)
                elif isinstance(leaf_type, ListType):
                    extents.append(self._count(leaf, leaf_type, name))
                    inner.append((leaf, leaf_type, name))
                else:
                    array = _array(leaf, leaf_type, name)
                    extents.extend(array.shape)
                    data.append(array.tobytes())
        for item in inner:
            self._append(*item)


def _leaf_types(type_):
    if isinstance(type_, (TensorType, ListType)):
        return [type_]
    return [leaf for element in type_.elements for leaf in _leaf_types(element)]


def _leaves(value, type_, what):
    """(value, type, name) of each leaf of an element."""
    if isinstance(type_, (TensorType, ListType)):
        return [(value, type_, what)]
    return [leaf for name, part, part_type in _parts(value, type_, what)
            for leaf in _leaves(part, part_type, f"{what}.{name}")]


class _ListReader:
    """Reads a list with all within it; lists are taken in their order."""

    def __init__(self, message):
        self._records = message.records
        self._next = [0] * len(message.records)
        self._columns = {}

    def read(self, type_, record, count):
        """The next `count` elements of a record."""
        if count == 0:
            return []
        begin = self._next[record]
        self._next[record] += count
        rows = slice(begin, begin + count)
        columns = [self._column(record, k) for k in range(len(self._records[record].columns))]
        values = [column[rows] if column is not None else [None] * count for column in columns]
        if len(values) == 1 and isinstance(type_.element, TensorType):
            return list(values[0])
        return [self._element(type_.element, record, [v[i] for v in values]) for i in range(count)]

    def _element(self, type_, record, leaves):
        leaves = zip(leaves, self._records[record].columns)

        def compose(part):
            if isinstance(part, (TensorType, ListType)):
                leaf, column = next(leaves)
                return self.read(part, column.list, leaf) if column.HasField("list") else leaf
            return _compose(part, [compose(p) for p in part.elements])

        return compose(type_)

    def _column(self, record, k):
        """What each element has there: scalars, arrays, or lengths of lists."""
        if (record, k) not in self._columns:
            self._columns[record, k] = self._read_column(self._records[record].columns[k])
        return self._columns[record, k]

    @staticmethod
    def _read_column(column):
        extents = np.frombuffer(column.extents, "<i8")
        if column.HasField("list"):
            return extents.tolist()
        if column.dtype == tensor_pb2.DTYPE_UNSPECIFIED:
            return None  # in derivatives what holds no floats
        dtype = dtype_of(column.dtype)
        data = np.frombuffer(column.data, dtype).astype(dtype.newbyteorder("="))
        if column.rank == 0:
            return list(data) if column.dtype == tensor_pb2.DTYPE_F32 else data.tolist()
        shapes = extents.reshape(-1, column.rank)
        ends = np.cumsum(shapes.prod(axis=1))
        return [part.reshape(shape).copy() for part, shape in zip(np.split(data, ends[:-1]), shapes)]


def _read_tensor(message):
    dtype = dtype_of(message.dtype)
    array = np.frombuffer(message.data, dtype).reshape(tuple(message.shape))
    if array.ndim:
        return array.astype(dtype.newbyteorder("="))  # a copy that may be written
    return array[()] if message.dtype == tensor_pb2.DTYPE_F32 else array.item()


def _compose(type_, parts):
    if isinstance(type_, StructType) and type_.fields:
        return struct_class(type_.name, type_.fields)(*parts)
    return tuple(parts)


def _read_sparse(message):
    seeds, shape, coordinates, elements = message.tuple.elements
    return SparseTensor(tuple(_read_tensor(shape.tensor).tolist()),
                        tuple(_read_tensor(c.tensor) for c in coordinates.tuple.elements),
                        _read_tensor(elements.tensor), _read_tensor(seeds.tensor))


def read_value(message, type_, derivative=False):
    if isinstance(type_, SparseType):
        return _read_sparse(message)
    if isinstance(type_, (TensorType, ListType, RelationType)):
        # In a derivative what holds no floats is an empty tuple.
        if derivative and not type_.is_float:
            return None
        if isinstance(type_, ListType):
            return _ListReader(message.list).read(type_, 0, message.list.length)
        return _read_tensor(message.tensor)
    return _compose(type_, [read_value(part, part_type, derivative)
                            for part, part_type in zip(message.tuple.elements, type_.elements)])
