"""Which pages are compared: sites, salts of scopes, spellings of one URL, parameters that keep
pages apart.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from crawldedup.key import NO_SALT, salt_of
from crawldedup.scope import Folder, folder_at, folder_of, is_shared_host, kept_apart, site_of
from crawldedup.urls import canonical_url

any_text = st.text(st.characters(exclude_categories=()), max_size=40)
# Text of the kind that breaks URL parsers.
broken_urls = st.text("htps:/[]@#?%.\0\r\nx1é\ud800", max_size=30).map("http://{}".format)
plain_urls = st.from_regex(
    r"https?://[a-z0-9.-]{1,6}(:[0-9]{1,5})?(/[a-zA-Z0-9._~-]{0,4}){0,4}", fullmatch=True
)


@given(plain_urls)
def test_plain_urls_are_no_others_than_any(url: str) -> None:
    try:
        canonical = canonicalize_url(url)
    except ValueError:
        canonical = url
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://example.com/a", "example.com"),
        ("https://user:pass@news.EXAMPLE.co.uk/?q=1", "example.co.uk"),
        ("http://localhost:6800/", "localhost"),
        ("http://m.shop.internal/", "shop.internal"),
        ("http://shop.internal/", "shop.internal"),
        ("http://co.uk/", "co.uk"),
        ("http://www.münchen.example/", "xn--mnchen-3ya.example"),
        ("http://XN--MNCHEN-3YA.example/", "xn--mnchen-3ya.example"),
        ("http://user@BÜCHER.example:8080/", "xn--bcher-kva.example"),
        ("http://пример.рф/", "xn--e1afmkfd.xn--p1ai"),
        ("http://日本語。jp/", "xn--wgv71a119e.jp"),
        ("http://straße.de/", "xn--strae-oqa.de"),
        ("http://m%C3%BCnchen.example/", "xn--mnchen-3ya.example"),
        ("http://stra%c3%9fe.de/", "xn--strae-oqa.de"),
        ("http://☃.net/", "xn--n3h.net"),
        ("http://ä..de/", "ä..de"),
        ("http://[::1]:80/", "::1"),
        ("https://alice.github.io/x", "alice.github.io"),
        *(
            (url, "")
            for url in (
                "file:///tmp/page.html",
                "data:text/html,hello",
                "not a URL",
                "http://[broken",
                "",
            )
        ),
    ],
)
def test_the_site_is_the_registered_domain_or_the_host(url: str, site: str) -> None:
    assert site_of(url) == site


def test_folders_of_one_host_are_the_same_in_both_spellings() -> None:
    folder = folder_of("http://münchen.example:8080/a/b/c")
    assert folder == folder_of("http://xn--mnchen-3ya.example:8080/a/b/c")
    assert folder.host == "xn--mnchen-3ya.example:8080"
    assert folder_of("http://me:pw@münchen.example/").host == "me:pw@xn--mnchen-3ya.example"


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("https://example.com/?b=2&a=1", "https://example.com/?a=1&b=2", True),
        ("https://example.com", "https://example.com/", True),
        ("https://example.com/é", "https://example.com/%C3%A9", True),
        ("https://straße.de/a", "https://xn--strae-oqa.de/a", True),
        ("https://straße.de/a", "https://strasse.de/a", False),
        ("https://m%C3%BCnchen.example:8080/a?b", "https://münchen.example:8080/a?b", True),
        ("https://a%2fb.example/", "https://a/b.example/", False),
        ("https://a%40b.example/", "https://b.example/", False),
        ("https://example.com/a", "http://example.com/a", False),
        ("https://example.com/?a=", "https://example.com/", False),
    ],
)
def test_spellings_of_one_url_are_one_url(one: str, other: str, are_same: bool) -> None:
    assert (canonical_url(one) == canonical_url(other)) is are_same


@given(st.one_of(any_text, broken_urls))
def test_any_text_may_stand_for_a_url(url: str) -> None:
    assert isinstance(site_of(url), str)
    assert isinstance(canonical_url(url), str)


@given(any_text, any_text, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_salt_keeps_distances_within_a_scope_and_parts_scopes(
    key: str, other: str, one: int, two: int
) -> None:
    number, signature = salt_of(key, 32)
    assert signature < 1 << 256
    assert (number, signature) == salt_of(key, 32)
    assert ((one ^ number) ^ (two ^ number)).bit_count() == (one ^ two).bit_count()
    if key.encode("utf-8", "replace") != other.encode("utf-8", "replace"):
        assert (signature ^ salt_of(other, 32).signature).bit_count() > 50
    assert salt_of("", 32) == NO_SALT == (0, 0)


def test_only_pages_of_the_host_have_values_that_keep_them_apart() -> None:
    params = {"shop.example": ["img", "colour"]}
    found = kept_apart(params, "https://m.shop.example/?colour=red&img=&img=1#img=2")
    assert found == ("parameter colour=red", "parameter img=", "parameter img=1")
    for url in (
        "https://othershop.example/?img=1",
        "https://shop.example/?imgs=1",
        "https://[/?img=1",
        "",
    ):
        assert kept_apart(params, url) == ()


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://h.example", ""),
        ("http://h.example/", ""),
        ("http://h.example/page", ""),
        ("http://h.example/a/page", "a"),
        ("http://h.example/a/b/page?q=1/2/3", "a/b"),
        ("http://h.example/a/b/c/page", "a/b"),
        ("http://h.example/a/b/", "a"),
        ("http://h.example/~alice", "~alice"),
        ("http://h.example/~alice/", "~alice"),
        ("http://h.example//~alice/page", "~alice"),
        ("http://h.example/%7Ealice/page", "%7Ealice"),
        ("http://h.example/users/alice", "users"),
        ("http://h.example/users/alice/", "users/alice"),
        ("http://h.example/users/alice/blog/page", "users/alice"),
        ("http://h.example/en/users/alice/page", "en/users/alice"),
        ("http://h.example/a/b/c/@alice/page", "a/b/c/@alice"),
        ("http://h.example/home/users/alice/page", "home/users/alice"),
        ("http://h.example/a/b/c/view/7/page", "a/b"),
        ("http://[broken", ""),
    ],
)
def test_a_folder_has_two_names_or_those_that_name_a_user(url: str, path: str) -> None:
    assert folder_of(url).path == path


@pytest.mark.parametrize(
    ("path", "owner", "undated", "form"),
    [
        ("a/b", "", "a/b", "a/b"),
        ("2025/07", "", "0", "0/0"),
        ("news/2025", "", "news/0", "news/0"),
        ("questions/17", "", "questions/17", "questions/0"),
        ("20250/07", "", "20250/07", "0/0"),
        ("~alice/2025", "~alice", "~alice/0", "~alice/0"),
        ("~alice7/p8", "~alice7", "~alice7/p8", "~alice7/p0"),
        ("users/2025", "users/2025", "users/2025", "users/2025"),
        ("users/17", "users/17", "users/17", "users/17"),
        ("en/users/17", "en/users/17", "en/users/17", "en/users/17"),
    ],
)
def test_numbers_count_but_in_the_names_of_users(
    path: str, owner: str, undated: str, form: str
) -> None:
    folder = Folder("h.example", path)
    assert (folder.owner, folder.undated, folder.form) == (owner, undated, form)


@pytest.mark.parametrize(
    ("host", "is_shared"),
    [
        ("github.com", True),
        ("www.github.com", True),
        ("gist.github.com", True),
        ("de.linkedin.com:443", True),
        ("old.reddit.com", True),
        ("m.facebook.com", True),
        ("github.io", True),
        ("alice.github.io", False),
        ("alice.tumblr.com", False),
        ("mygithub.com", False),
        ("news.example", False),
        ("10.0.0.1", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_hosts_of_many_users_are_known(host: str, is_shared: bool) -> None:
    assert is_shared_host(host) is is_shared
    folder = Folder(host, "alice/7")
    assert folder.is_shared is is_shared
    assert folder.owner == ("alice/7" if is_shared else "")


@pytest.mark.parametrize(
    ("url", "is_common"),
    [
        ("http://medium.com/story", True),
        ("http://medium.com/alice/story", False),
        ("http://h.example/story", False),
        ("http://h.example/users/alice", True),
        ("http://h.example/%75sers/alice", True),
        ("http://h.example/users/alice/story", False),
        ("http://h.example/users/users/story", False),
        ("http://h.example/~users/story", False),
        ("http://h.example/view/7", False),
    ],
)
def test_where_users_stand_side_by_side_the_folder_is_nobodys(url: str, is_common: bool) -> None:
    assert folder_of(url).is_common is is_common


@given(any_text, any_text)
def test_any_text_may_stand_for_a_folder(host: str, path: str) -> None:
    for folder in (folder_at(host, path), folder_of(path), Folder(host, path)):
        assert folder.undated.startswith(folder.owner)
        assert folder.form.startswith(folder.owner)
        assert isinstance(folder.is_common, bool)
        assert isinstance(folder.is_shared, bool)
    folder_at(host, path).path.encode()
