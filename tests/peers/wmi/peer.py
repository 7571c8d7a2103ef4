"""One weighted model integral by one peer: prints its value and the seconds of its solver.

    peer.py wmpy|pyxadd INSTANCE.json

Neither is given MathSAT: wmpy enumerates with its z3 enumerator, PyXADD's solver of the name `msat` is z3. PyXADD's algebra of sympy is also mended where
it asks whether a term is one or zero, which fails for plain numbers.
"""

import json
import os
import sys
import sysconfig
import time
from fractions import Fraction

import pysmt.shortcuts as smt
from pysmt.typing import BOOL, REAL


def number(text):
    return smt.Real(Fraction(text))


class Reader:
    """Terms and formulas of pysmt from the prefix form."""

    def __init__(self, instance):
        given = instance["given"]
        self.names = {}
        self.reals = []
        self.bounds = []
        for name, lower, upper in instance["reals"]:
            symbol = number(given[name]) if name in given else smt.Symbol(name, REAL)
            self.names[name] = symbol
            if name not in given:
                self.reals.append((symbol, lower, upper))
            if lower is not None:
                self.bounds.append(smt.LE(number(lower), symbol))
            if upper is not None:
                self.bounds.append(smt.LE(symbol, number(upper)))
        self.bools = [smt.Symbol(name, BOOL) for name in instance["bools"]]
        for name, term in instance["defs"]:
            self.names[name] = self.read(term)
        self.support = smt.And(*self.bounds, self.read(instance["formula"])).simplify()
        self.weight = self.read(instance["weight"]).simplify()

    def read(self, tree):
        if isinstance(tree, bool):
            return smt.Bool(tree)
        if isinstance(tree, str):
            return self.names.get(tree) or number(tree)
        head, *rest = tree
        if head == "b":
            return smt.Symbol(rest[0], BOOL)
        if head == "^":
            return smt.Times([self.read(rest[0])] * int(rest[1]))
        zero, minus = smt.Real(0), smt.Real(-1)
        operators = {
            "+": smt.Plus, "*": smt.Times, "and": smt.And, "or": smt.Or, "not": smt.Not, "=>": smt.Implies, "iff": smt.Iff,
            "<=": compared(smt.LE), "<": compared(smt.LT), ">=": compared(smt.GE), ">": compared(smt.GT), "=": compared(smt.Equals),
            "ite": smt.Ite, "-": smt.Minus,
            "max": lambda one, other: smt.Ite(compared(smt.GE)(one, other), one, other),
            "min": lambda one, other: smt.Ite(compared(smt.LE)(one, other), one, other),
            "xor": lambda one, other: smt.Not(smt.Iff(one, other)),
            "neg": lambda one: smt.Times(minus, one),
            "relu": lambda one: smt.Ite(compared(smt.GE)(one, zero), one, zero),
            "abs": lambda one: smt.Ite(compared(smt.GE)(one, zero), one, smt.Times(minus, one)),
        }
        return operators[head](*[self.read(part) for part in rest])


def compared(operator):
    return lambda one, other: lifted(operator(one, other)).simplify()


def lifted(atom):
    """A comparison with its choices between terms moved out of it, for neither peer takes them inside."""
    choice = next((node for node in nodes(atom) if node.is_ite()), None)
    if choice is None:
        return atom
    condition, one, other = choice.args()
    chosen = [lifted(atom.substitute({choice: term})) for term in (one, other)]
    return smt.Or(smt.And(condition, chosen[0]), smt.And(smt.Not(condition), chosen[1]))


def nodes(term):
    yield term
    for argument in term.args():
        yield from nodes(argument)


def wmpy(reader):
    # `integrate` and the programs of cddlib that it calls are in a folder of the wheels.
    wheels = os.path.join(sysconfig.get_paths()["purelib"], "sage_wheels", "bin")
    os.environ["PATH"] = wheels + os.pathsep + os.environ["PATH"]
    from wmpy.enumeration import TotalEnumerator
    from wmpy.integration import LattEIntegrator
    from wmpy.solvers import WMISolver

    weight = reader.weight
    if weight.is_constant():
        # wmpy fails on a weight without variables.
        weight = smt.Plus(weight, smt.Times(smt.Real(0), reader.reals[0][0]))
    started = time.perf_counter()
    solver = WMISolver(TotalEnumerator(reader.support, weight), integrator=LattEIntegrator())
    result = solver.compute(smt.Bool(True), [symbol for symbol, *_ in reader.reals])
    return float(result["wmi"]), time.perf_counter() - started


def pyxadd(reader):
    from pywmi import Domain, PyXaddEngine
    from pywmi.engines.algebraic_backend import SympyAlgebra
    from pywmi.engines.pyxadd import reduce

    SympyAlgebra.is_one = lambda self, expression: expression == 1
    SympyAlgebra.is_zero = lambda self, expression: expression == 0
    solver = reduce.smt.Solver
    reduce.smt.Solver = lambda name=None: solver(name="z3")
    # The bounds are in the support, as exact numbers.
    domain = Domain.make([symbol.symbol_name() for symbol in reader.bools], {symbol.symbol_name(): (None, None) for symbol, *_ in reader.reals})
    started = time.perf_counter()
    value = PyXaddEngine(domain, reader.support, reader.weight, algebra=SympyAlgebra()).compute_volume(add_bounds=False)
    return float(value), time.perf_counter() - started


def main():
    name, path = sys.argv[1:]
    with open(path) as file:
        reader = Reader(json.load(file))
    value, seconds = {"wmpy": wmpy, "pyxadd": pyxadd}[name](reader)
    print(json.dumps({"value": value, "seconds": seconds}))


if __name__ == "__main__":
    main()
