"""Relations: sets of index tuples, from what Python has for them."""

import numpy as np

from .errors import argument_error


def write_relation(value, type_, what, message):
    """Fills a Relation message from

    - a dict {"shape": (n, m), "coo": (i, j)} or {"shape": (n, m), "csr": (row starts, columns)},
    - a tuple (shape, i, j) with an array of indices for each axis,
    - a sparse matrix or array of SciPy: its stored entries, zeros among them too,
    - an array of bools: where it is true.
    """
    if isinstance(value, dict):
        shape, coordinates, rows = _of_dict(value, type_, what)
    elif isinstance(value, np.ndarray) and value.dtype == bool:
        shape, coordinates, rows = value.shape, np.nonzero(value), None
    elif hasattr(value, "tocoo") and hasattr(value, "shape"):
        shape, coordinates, rows = _of_scipy(value)
    elif isinstance(value, (tuple, list)) and len(value) == len(type_.dims) + 1:
        shape, coordinates, rows = value[0], value[1:], None
    else:
        raise _mismatch(value, type_, what)
    message.sizes.extend(_integers(shape, f"{what}.shape").tolist())
    if rows is not None:
        message.rows.starts = _bytes(rows[0], f"{what}.csr[0]")
        message.rows.columns = _bytes(rows[1], f"{what}.csr[1]")
        return
    if len(coordinates) != len(type_.dims):
        raise _mismatch(value, type_, what)
    message.coordinates.SetInParent()
    for k, indices in enumerate(coordinates):
        message.coordinates.indices.append(_bytes(indices, f"{what}.coo[{k}]"))


def _of_dict(value, type_, what):
    if set(value) == {"shape", "coo"}:
        return value["shape"], value["coo"], None
    if set(value) == {"shape", "csr"} and len(value["csr"]) == 2:
        return value["shape"], None, value["csr"]
    raise _mismatch(value, type_, what)


def _of_scipy(value):
    if value.format == "csr":
        return value.shape, None, (value.indptr, value.indices)
    entries = value.tocoo()
    return value.shape, (entries.row, entries.col), None


def _integers(value, what):
    array = np.asarray(value)
    if array.size == 0:
        array = array.astype("<i8")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected one axis of integers, got {array.dtype} of shape "
                             f"{array.shape}")
    if array.dtype.kind == "u" and np.any(array > np.iinfo("i8").max):
        raise argument_error("INVALID_VALUE", f"{what}: an integer is out of range for i64")
    return array.astype("<i8")


def _bytes(value, what):
    return _integers(value, what).tobytes()


def _mismatch(value, type_, what):
    return argument_error(
        "TYPE_MISMATCH",
        f"{what}: expected {type_} as a dict of 'shape' and 'coo' or 'csr', a tuple of its shape and "
        f"{len(type_.dims)} arrays of indices, a sparse matrix or an array of bools, got {value!r:.60}")
