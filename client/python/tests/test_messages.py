"""Programs as messages, and text from them."""

import pytest
from pullback import Program, ProgramError
from pullback.v1 import program_pb2, tensor_pb2
from pullback.v1 import program_tables_pb2 as pb

TEXT = "fn norm2(x: [n]f64) -> f64 { return sum i < n { x[i] ** 2 } }\n"


class Builder:
    """Adds parts and gives their indices."""

    def __init__(self):
        self.tables = pb.ProgramTables()

    def type(self, **kind):
        self.tables.types.append(pb.TypeExpression(**kind))
        return len(self.tables.types) - 1

    def expression(self, **kind):
        self.tables.expressions.append(pb.Expression(**kind))
        return len(self.tables.expressions) - 1

    def returns(self, value):
        self.tables.statements.append(pb.Statement(returns=pb.Return(value=value)))
        return len(self.tables.statements) - 1


def norm2(variable="x"):
    b = Builder()
    f64 = b.type(scalar=tensor_pb2.DTYPE_F64)
    n, x, i = (b.expression(name=name) for name in ("n", variable, "i"))
    vector = b.type(array=pb.ArrayType(sizes=[n], element=f64))
    element = b.expression(index=pb.Index(base=x, subscripts=[pb.Subscript(index=i)]))
    square = b.expression(binary=pb.Binary(op=pb.BINARY_OPERATOR_POW, left=element,
                                           right=b.expression(integer=2)))
    total = b.expression(comprehension=pb.Comprehension(
        kind=pb.COMPREHENSION_KIND_SUM, binders=[pb.Binder(name="i", high=n)],
        body=pb.Block(result=square)))
    b.tables.functions.append(pb.FunctionDeclaration(
        name="norm2", parameters=[pb.NamedType(name="x", type=vector)], result=f64,
        body=pb.Block(statements=[b.returns(total)])))
    return b.tables


def test_a_message_is_the_kernel_of_its_text(client):
    by_text, by_message = Program(TEXT, client=client), Program(norm2(), client=client)
    assert by_message.text == TEXT
    value, gradients = by_message.value_and_grad("norm2", x=[1.0, 2.0, 3.0])
    assert value == 14.0
    assert gradients["x"].tolist() == [2.0, 4.0, 6.0]
    kernels = [p.compile("norm2", "value_and_grad") for p in (by_text, by_message)]
    assert kernels[0].kernel_id == kernels[1].kernel_id
    assert kernels[0].cache_hit


def test_format_gives_both_forms_and_one_hash(client):
    from_text, from_message = client.format("# Squares.\n" + TEXT), client.format(norm2())
    assert from_text.text == "# Squares.\n" + TEXT
    assert from_text.canonical_text == from_message.text == TEXT
    assert from_text.hash == from_message.hash
    assert from_text.tables == from_message.tables
    again = program_pb2.Program(tables=from_text.tables)
    assert client.format(again).text == TEXT
    assert Program(TEXT, client=client)._hash == Program(norm2(), client=client)._hash


def test_errors_of_messages(client):
    with pytest.raises(ProgramError) as wrong:
        Program(norm2(variable="y"), client=client).value("norm2", x=[1.0])
    (diagnostic,) = wrong.value.diagnostics
    assert (diagnostic.line, diagnostic.column) == (1, 49)
    assert diagnostic.message.endswith("(line and column of the program's canonical text)")
    tables = norm2()
    tables.expressions[3].index.base = 99
    with pytest.raises(ProgramError, match=r"expressions\[3\].index.base: 99 is out of range") as bad:
        Program(tables, client=client).value("norm2", x=[1.0])
    assert bad.value.reason == "INVALID_PROGRAM"
    with pytest.raises(TypeError):
        Program(7, client=client)
