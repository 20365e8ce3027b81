"""Blocks of sparse Jacobians and Hessians."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class SparseTensor:
    """The elements that may be other than 0 (COO), in lexicographic order of their coordinates.

    coordinates: an array for each axis. seeds: how many tangents or cotangents were run for the block.
    """

    shape: tuple[int, ...]
    coordinates: tuple[np.ndarray, ...]
    elements: np.ndarray
    seeds: int

    def todense(self):
        dense = np.zeros(self.shape, self.elements.dtype)
        if self.shape:
            dense[self.coordinates] = self.elements
        else:
            dense[...] = self.elements.sum()  # one element, or none
        return dense

    def toscipy(self):
        """A scipy.sparse.coo_array; of two axes."""
        from scipy import sparse

        return sparse.coo_array((self.elements, self.coordinates), shape=self.shape)
