"""Enums, and objects of classes that the program defines."""
from conformance import *

COLOR = """
import enum

class Color(enum.Enum):
    RED = 1
    GREEN = 2

class Word(enum.Enum):
    YES = "yes"
    NO = "no"
"""

row("enum_compared", COLOR + """
def f(x, n: int):
    c = Color.GREEN if n == 2 else Color.RED
    w = Word.YES if c == Color.RED else Word.NO
    return x * c.value, c.name, w.value, c != Color.GREEN, [w.value for w in Word]
""", x=f32(3), n=1, also=[{"n": 2}])
row("enum_as_text", COLOR + """
def f(x, n: int):
    c = Color.GREEN if n == 2 else Color.RED
    return f"{c.name} {c.value}", len(c.name)
""", x=f32(3), n=1, also=[{"n": 2}])

POINT = """
@torch.jit.script
class Point:
    def __init__(self, x: Tensor, n: int):
        self.x = x
        self.n = n
        self.log: List[int] = []

    def add(self, by: int) -> int:
        self.n += by
        self.log.append(by)
        return self.n

    def __len__(self):
        return self.n

    def __add__(self, other: int):
        return Point(self.x + other, self.n)

@torch.jit.script
class Chain:
    def __init__(self, point: Point):
        self.point = point
        self.other = point
"""

row("object_through_an_alias", POINT + """
def f(x, n: int):
    p = Point(x, n)
    q = p
    q.add(2)
    q.x += 1
    return p.x, p.n, p.log, q is p, Point(x, n) is p
""", x=f32(3), n=5, mutates=True, types={})
row("object_changed_in_a_loop", POINT + """
def f(x, n: int):
    p = Point(x, 0)
    for i in range(n):
        if i % 2 == 0:
            p.add(i)
        else:
            p = p + i
    return p.x, len(p), p.log
""", x=f32(3), n=5, also=[{"n": 0}])
row("object_in_containers", POINT + """
def f(x, n: int):
    points = [Point(x * i, i) for i in range(n)]
    by_name = {"a": points[0], "b": points[-1]}
    pair = (points[0], 3)
    by_name["b"].add(7)
    pair[0].add(pair[1])
    total = 0
    for p in points:
        total += p.n
    return total, points[0].x + by_name["b"].x, points[-1].log
""", x=f32(3), n=3, also=[{"n": 1}])
row("object_in_an_object", POINT + """
def f(x, n: int):
    c = Chain(Point(x, n))
    c.other.add(1)
    same = c.other is c.point
    c.other = Point(x * 2, n)
    c.other.add(1)
    return c.point.n, c.other.n, c.other.x, same, c.other is c.point
""", x=f32(3), n=3)
row("object_chosen_by_a_branch", POINT + """
def f(x, n: int):
    a, b = Point(x, n), Point(-x, -n)
    c = a if n > 0 else b
    c.add(1)
    return c.x, a.n, b.n
""", x=f32(3), n=3, also=[{"n": -3}])
row("object_or_none", POINT + """
def g(x: Tensor, n: int) -> Optional[Point]:
    if n > 0:
        return Point(x, n)
    return None

def f(x, n: int):
    p = g(x, n)
    if p is None:
        return x - 1
    assert isinstance(p, Point)
    return p.x * p.add(1)
""", x=f32(3), n=3, also=[{"n": -3}])
