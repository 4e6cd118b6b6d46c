# Follows aten/src/ATen/core/List and torch/csrc/jit/runtime/register_ops_utils.h. Items of a list are compared by value,
# with `==` or `<`, and the result of each comparison must be one bool.


def index_of_equal(items: List[Tensor], wanted) -> int:
    for i in range(len(items)):
        if wanted == items[i]:
            return i
    return -1


def index__list_Tensor(items: List[Tensor], wanted) -> int:
    at = index_of_equal(items, wanted)
    assert at >= 0, "'" + str(wanted) + "' is not in list"
    return at


def count__Tensor(items: List[Tensor], wanted) -> int:
    n = 0
    for item in items:
        if wanted == item:
            n += 1
    return n


def remove__Tensor(items: List[Tensor], wanted) -> None:
    at = index_of_equal(items, wanted)
    assert at >= 0, "list.remove(x): x not in list"
    items.pop(at)


def eq__Tensor_list(a: List[Tensor], b: List[Tensor]) -> bool:
    if len(a) != len(b):
        return False
    for i in range(len(a)):
        if not (a[i] == b[i]):
            return False
    return True


def ne__Tensor_list(a: List[Tensor], b: List[Tensor]) -> bool:
    return not eq__Tensor_list(a, b)


def sort__Tensor(items: List[Tensor], reverse: bool) -> None:
    """Moves each item in front of larger ones. If `reverse` is true, equal items are reversed, too, as in libtorch."""
    for i in range(1, len(items)):
        item = items[i]
        at = i
        while at > 0 and bool(item < items[at - 1]) != reverse:
            items[at] = items[at - 1]
            at -= 1
        items[at] = item


def sorted__Tensor(items: List[Tensor]) -> List[Tensor]:
    out = items.copy()
    sort__Tensor(out, False)
    return out
