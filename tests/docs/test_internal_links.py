"""The check of the links inside the built site finds those that lead nowhere, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, SITE, module_at

LINKS = module_at(SITE / "_ext" / "internal_links.py")
PAGE = '<h1 id="top-of-it">A page</h1><a name="old-name"></a><h2 id="gr\u00f6\u00dfe">Size</h2>'
SOUND = [
    '<a href="page.html">a page</a>',
    '<a href="page.html#top-of-it">a place</a>',
    '<a href="page.html#old-name">a named place</a>',
    '<a href="page.html#gr%C3%B6%C3%9Fe">an escaped place</a>',
    '<a href="folder/">a folder with an index</a>',
    '<a href="/page.html?highlight=word">from the root</a>',
    '<a href="#here" id="here">itself</a>',
    '<a href="#">its top</a>',
    '<a href="https://example.com/none.html#none">another site</a>',
    '<a href="//example.com/none.html">another site, with this scheme</a>',
    '<a href="mailto:someone@example.com">a person</a>',
    '<img src="_images/way%20out.svg#layer">',
]
BROKEN = {
    '<a href="none.html">': "there is no such file",
    '<a href="page.html#nowhere">': "the page has no such place",
    '<a href="#nowhere">': "the page has no such place",
    '<a href="_images/">': "there is no such file",
    '<a href="../secret.html">': "it leaves the site",
    '<img src="_images/none.png">': "there is no such file",
    '<link rel="stylesheet" href="_static/none.css">': "there is no such file",
    '<script src="_static/none.js"></script>': "there is no such file",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "folder").mkdir(parents=True)
    (site / "_images").mkdir()
    (site / "page.html").write_text(PAGE, "utf-8")
    (site / "folder" / "index.html").write_text('<a href="../page.html#top-of-it">up</a>')
    (site / "_images" / "way out.svg").write_text("<svg/>")
    (tmp_path / "secret.html").write_text("")
    return site


def test_links_that_lead_somewhere_are_sound(site: Path) -> None:
    (site / "index.html").write_text("\n".join(SOUND), "utf-8")
    assert LINKS.broken_links(site) == []
    assert LINKS.main(str(site)) == 0


@pytest.mark.parametrize("link", BROKEN)
def test_a_link_that_leads_nowhere_is_told_with_its_place(
    site: Path, link: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "index.html").write_text(f"<p>\n{link}")
    assert LINKS.main(str(site)) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("index.html:2: ")
    assert line.endswith(BROKEN[link])


def test_a_site_without_pages_is_no_pass(tmp_path: Path) -> None:
    assert LINKS.main(str(tmp_path)) == 1


def test_every_build_of_the_site_is_checked() -> None:
    nox = (ROOT / "noxfile.py").read_text("utf-8")
    build, _, rest = nox.partition('session.run("sphinx-build"')
    assert "sphinx-build" not in build
    assert 'session.run("python", "docs/_ext/internal_links.py", "docs/_build")' in rest.splitlines()[1]
