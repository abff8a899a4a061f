"""Expressions: the numbers that students write, and the formulas of boxes. They are read, and never run as code."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATIONS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.MatMult: operator.matmul,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
NO_FUNCTIONS: Mapping[str, Callable[..., Any]] = {}
MAX_LETTERS = 200
"""The length of an expression."""
FAULTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What an expression that has no value raises."""


def evaluate(text: str, names: Any, functions: Mapping[str, Callable[..., Any]] = NO_FUNCTIONS) -> Any:
    """Return the value of an expression of numbers, texts, names, functions and operations.

    Parameters
    ----------
    text : str
    names : mapping of str to object
    functions : mapping of str to callable

    Raises
    ------
    FAULTS
        The expression has no value.

    Examples
    --------
    >>> evaluate("2 * n + 1/2", {"n": 3.0})
    6.5
    """

    def compute(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Constant(value=str() as word):
                return word
            case ast.Name(id=name):
                return names[name]
            case ast.UnaryOp(op=sign, operand=operand):
                return OPERATIONS[type(sign)](compute(operand))
            case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
                return OPERATIONS[type(sign)](compute(left), compute(right))
            case ast.Subscript(value=values, slice=index):
                position = compute(index)
                return compute(values)[int(position) if isinstance(position, float) else position]
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return functions[name](*map(compute, arguments))
        raise ValueError(text)

    if len(text) > MAX_LETTERS:
        raise ValueError(text)
    return compute(ast.parse(text, mode="eval").body)
