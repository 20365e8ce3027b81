"""Client of Pullback, a gradient server. See Program."""

from .client import Client
from .errors import (ArgumentError, BudgetError, DeadlineError, Diagnostic, ProgramError,
                     PullbackError, RunError, TransportError, UnimplementedError)
from .program import Evaluation, Kernel, Program
from .sparse import SparseTensor
from .types import ListType, Parameter, Signature, StructType, TensorType, TupleType

__version__ = "0.1.0"
__all__ = [
    "ArgumentError", "BudgetError", "Client", "DeadlineError", "Diagnostic", "Evaluation", "Kernel", "ListType",
    "Parameter", "Program", "ProgramError", "PullbackError", "RunError", "Signature", "SparseTensor",
    "StructType", "TensorType", "TransportError", "TupleType", "UnimplementedError",
]
