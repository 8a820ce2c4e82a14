"""Kinds of HTML elements, by name."""

from __future__ import annotations

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FORMATTING: Final = _names("b big code em font i s small strike strong tt u")
"""Parsers reopen them in every following block until they are closed."""

NEED_END_TAG: Final = FORMATTING | _names("""
    a abbr acronym address applet article aside audio bdi bdo blockquote button canvas center cite data datalist del
    details dfn dialog dir div dl fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup iframe
    ins kbd label legend listing main map mark marquee math menu meter nav nobr noembed noframes noscript object ol
    optgroup output picture plaintext pre progress q rb rp rt rtc ruby samp script section select slot span style sub
    summary sup svg table template textarea time title ul var video xmp
""")

NEED_NO_END_TAG: Final = _names("""
    area base basefont bgsound body br caption col colgroup dd dt embed frame head hr html image img input keygen li
    link meta option p param source tbody td tfoot th thead tr track wbr
""")

BLOCKS: Final = _names("""
    address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer form frame h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav noscript ol optgroup
    option p pre search section select summary table tbody td textarea tfoot th thead title tr ul
""")
"""Their edges separate words, even without white space."""

INVISIBLE: Final = _names("audio canvas iframe map object script style svg template video")

HEADINGS: Final = _names("h1 h2 h3 h4 h5 h6")
BOILERPLATE_TAGS: Final = _names("aside button dialog footer menu nav search select")
BOILERPLATE_ROLES: Final = _names("alertdialog banner contentinfo dialog menu menubar navigation search")
HOLD_CONTENT: Final = _names("article main")

ALL: Final = NEED_END_TAG | NEED_NO_END_TAG | BLOCKS | INVISIBLE
