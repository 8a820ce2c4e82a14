"""What the pictures that are drawn as SVG share."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from pathlib import Path


def new_svg(title: str, style: str, width: int, height: int) -> ElementTree.Element:
    """Return an empty picture."""
    svg = ElementTree.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=f"{width}",
        role="img",
    )
    ElementTree.SubElement(svg, "title").text = title
    ElementTree.SubElement(svg, "style").text = style
    return svg


def add_text(
    svg: ElementTree.Element, left: int, base: int, words: str, look: str = ""
) -> ElementTree.Element:
    """Add a line of text, and return it."""
    text = ElementTree.SubElement(svg, "text", {"x": f"{left}", "y": f"{base}", "class": look})
    text.text = words
    return text


def save_svg(svg: ElementTree.Element, path: Path) -> None:
    """Write a picture to a file."""
    path.write_text(ElementTree.tostring(svg, encoding="unicode") + "\n", encoding="utf-8")
