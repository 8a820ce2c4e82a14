"""Values that are kept as long as there is room for them."""

from crawldedup.recent import RecentBytes, put_last, shortened


def test_the_oldest_value_makes_room() -> None:
    values: dict[str, int] = {}
    for number, name in enumerate("abcab"):
        put_last(values, name, number, 2)
    assert values == {"a": 3, "b": 4}


def test_values_are_bounded_in_number_and_in_bytes() -> None:
    many: RecentBytes[int] = RecentBytes(3, 10_000)
    for number in range(5):
        many.put(str(number), number, 1)
    assert len(many) == 3
    assert (many.get("1"), many.get("2")) == (None, 2)
    large: RecentBytes[int] = RecentBytes(100, 10_000)
    for number in range(100):
        large.put(str(number % 7), number, 4000)
    assert len(large) == 2
    assert large.get("1") == 99
    large.put("larger than all", 1, 10_001)
    assert len(large) == 0
    large.put("a", 1, 1)
    assert large.get("a") == 1


def test_a_long_name_is_kept_as_its_digest() -> None:
    assert shortened("http://a.example/") == "http://a.example/"
    names = ["a" * 1000, "a" * 1001, "\ud800" * 300]
    assert len({shortened(name) for name in names}) == 3
    assert all(len(shortened(name)) <= 200 for name in names)
