"""Find the main text of a page by its blocks. (A prototype's rules; see the tables of benchmarks/templates.py.)"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawldedup.markup.blocks import NUMBER, numbers

if TYPE_CHECKING:
    from crawldedup.markup.blocks import Blocks

_H1, _TABLE = NUMBER["h1"], NUMBER["table"]
_MAINS = numbers(["article", "main"])
_AROUND = numbers(["nav", "footer", "aside", "menu", "dialog", "search", "figcaption"])
_PLAIN = numbers(
    ["blockquote", "center", "dd", "dl", "dt", "figure", "h2", "h3", "h4", "h5", "li", "ol", "p", "pre", "table", "ul"]
)
_IN_LINES = numbers(["li", "p"])
_CELLS = numbers(["li", "p", "td", "tr", "tbody", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6"])

_PUNCTUATION = re.compile(r"[.!?,;:…。！？、，；：．،؛؟।॥។៕၊။።፡፣·]")
_NOISE = re.compile(
    r"(?:^|\s|(?<!\bhas)(?<!\bwith)(?<!\bno)(?<!\bwithout)[_-])"
    r"(?:shar(?:e|es|ing)|social|related|recommend\w*|newsletter\w*|subscri\w+|promo\w*|side-?bar|breadcrumbs?|"
    r"comments?|disqus|cookie\w*|consent|banner|adverts?|advertisement\w*|sponsor\w*|outbrain|taboola|popup|modal|"
    r"trending|most-?read|most-?popular|read-?more|more-?on|also-?read|tags|tag-?list|tag-?cloud|footer|nav|"
    r"navigation|navbar|menu|byline|author-?bio|bio|copyright|toolbar|sr-only|screen-?reader\w*|visually-?hidden)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
)
_NOISE_ID = re.compile(
    r"^(?:[\w-]*[_-])?(?:sidebar|footer|nav|navigation|menu|comments|disqus_thread|related|share|social|newsletter)"
    r"(?:[_-][\w-]*)?$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(
    r"article[-_]*(?:body|content|text|copy|main|detail|story)|entry[-_]*(?:content|body|text)|"
    r"post[-_]*(?:content|body|text|entry|article)|story[-_]*(?:content|body|text)|"
    r"(?:body|main|rich|content|page|single|blog|news|text|full)[-_]*(?:content|copy|article|text|body)|"
    r"content[-_]*(?:body|main|article|text)",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)

_LINKED = 0.5
"""A line with a larger share of links is one."""
_LIST_OF_LINKS = 0.6
"""And goes, if its list or block is."""
_MISLEADING_H1, _MISLEADING_MAIN, _MISLEADING, _MISLEADING_HIDDEN = 0.1, 0.5, 0.9, 0.8
_TOGETHER = 1000
_CALLED_ARTICLE, _IN_MAIN = 4.0, 1.5
_MOST, _MAY_BE_LEFT = 0.5, 0.25
_MIN_CHARACTERS, _MIN_SHARE, _SHARE_OF_LINKS = 250, 0.3, 0.3

_NOTHING_SAID, _SAYS_NOISE, _SAYS_ARTICLE, _IS_HIDDEN = range(4)
_said: dict[str, int] = {}


def _cue(node) -> int:
    attributes = node.attributes
    if not attributes:
        return _NOTHING_SAID
    get = attributes.get
    if "hidden" in attributes or ("style" in attributes and _HIDDEN.search(get("style") or "")):
        return _IS_HIDDEN
    names = f"{get('class') or ''} {get('role') or ''} {get('itemprop') or ''}"
    identity = get("id")
    key = f"{names}|{identity}" if identity else names
    said = _said.get(key)
    if said is None:
        if len(_said) > 20_000:
            _said.clear()
        if _NOISE.search(names) or (identity and _NOISE_ID.search(identity)):
            said = _SAYS_NOISE
        else:
            said = _SAYS_ARTICLE if _ARTICLE.search(key) else _NOTHING_SAID
        _said[key] = said
    return said


def main_text(blocks: Blocks) -> str:
    """Return the article, or all but navigation and the like of a page that is none."""
    if not blocks.nodes:
        return ""
    page = blocks.nodes, blocks.parents, blocks.kinds, blocks.lines
    text = _choose(*page)
    return _choose(*page, trust_names=False) if text is None else text


def _marked(tags, parent, wanted, within_itself) -> list[bool]:
    marks = [False] * len(tags)
    for i, tag in enumerate(tags):
        if tag in wanted:
            holder = i if within_itself else parent[i]
            while holder >= 0 and not marks[holder]:
                marks[holder] = True
                holder = parent[holder]
    return marks


def _choose(nodes, parent, tags, lines, trust_names: bool = True) -> str | None:
    n = len(nodes)
    backwards = range(n - 1, 0, -1)
    raw = [0] * n  # Characters of long lines in the element, whatever it is called.
    together = [0] * n
    rows = []  # text, owner, long (None: a list of links; 0: links in a table), characters that are no link
    links = False
    for text, linked, owner in lines:
        size = len(text)
        if linked > _LINKED * size:
            links = True
            rows.append((text, owner, False, -1))
            continue
        size_in_bytes = size if size >= 180 or text.isascii() else len(text.encode()) if size >= 15 else 0
        long = size_in_bytes >= 60 and (size_in_bytes >= 180 or _PUNCTUATION.search(text) is not None)
        rows.append((text, owner, long, size - linked))
        if long:
            raw[owner] += size
            together[parent[owner] if tags[owner] in _IN_LINES else owner] += size
    raw_total = sum(raw)
    for i in backwards:
        if raw[i]:
            raw[parent[i]] += raw[i]
    if links:
        rows = _with_links_judged(parent, tags, lines, rows, backwards)
    has_h1 = _marked(tags, parent, {_H1}, False)
    has_main = _marked(tags, parent, _MAINS, False)
    small, half, nearly_all, hidden = (
        share * raw_total if trust_names else -1
        for share in (_MISLEADING_H1, _MISLEADING_MAIN, _MISLEADING, _MISLEADING_HIDDEN)
    )
    noise: list[bool | None] = [None] * n
    noise[0] = False
    factor = [1.0] * n
    held, own, weight = [0] * n, [0] * n, [0.0] * n
    kept = []
    text_total = total = 0
    weight_total = 0.0
    for row in rows:
        text, owner, long, unlinked = row
        is_noise = noise[owner]
        if is_noise is None:
            chain = []
            i = owner
            while is_noise is None:
                chain.append(i)
                i = parent[i]
                is_noise = noise[i]
            by = factor[i]
            for i in reversed(chain):
                tag = tags[i]
                if not is_noise:
                    cue = _cue(nodes[i])
                    if cue == _SAYS_NOISE or tag in _AROUND:
                        if raw[i] <= small:
                            is_noise = True
                        elif has_h1[i] or (
                            cue == _SAYS_NOISE and _ARTICLE.search(nodes[i].attributes.get("class") or "")
                        ):
                            pass
                        else:
                            is_noise = raw[i] <= (half if has_main[i] else nearly_all)
                    elif cue == _IS_HIDDEN:
                        is_noise = raw[i] <= hidden
                    if cue == _SAYS_ARTICLE:
                        by = max(by, _CALLED_ARTICLE)
                    elif tag in _MAINS:
                        by = max(by, _IN_MAIN)
                noise[i] = is_noise
                factor[i] = by
        if is_noise:
            continue
        size = len(text)
        text_total += size if long or long is False else size * _SHARE_OF_LINKS
        kept.append(row)
        own[owner] += unlinked
        if long:
            total += size
            held[owner] += size
            beside = together[parent[owner] if tags[owner] in _IN_LINES else owner]
            heavy = size * factor[owner] * (beside / (beside + _TOGETHER))
            weight[owner] += heavy
            weight_total += heavy
    if trust_names and total < _MIN_CHARACTERS and raw_total > 2 * _MIN_CHARACTERS and text_total < 0.2 * raw_total:
        return None
    if total < max(_MIN_CHARACTERS, _MIN_SHARE * text_total):
        return "\n".join([row[0] for row in kept])
    characters = own[:]
    children: dict[int, list[int]] = {}
    for i in backwards:
        if characters[i]:
            holder = parent[i]
            characters[holder] += characters[i]
            held[holder] += held[i]
            weight[holder] += weight[i]
            children.setdefault(holder, []).append(i)
    element = left = 0
    while inside := children.get(element):
        inner = max(inside, key=weight.__getitem__)
        if weight[inner] < _MOST * weight_total:
            break
        left += own[element] + _left_behind(nodes, tags, characters, weight, held, inside, inner)
        if left > _MAY_BE_LEFT * held[inner]:
            break
        element = inner
    while element and tags[element] in _IN_LINES:
        element = parent[element]
    within = [False] * n
    within[element] = True
    for i in range(element + 1, n):
        within[i] = within[parent[i]]
    return "\n".join([row[0] for row in kept if within[row[1]] and row[2] is not None])


def _with_links_judged(parent, tags, lines, rows, backwards):
    """A line of links stays where its block or table is no list of links."""
    n = len(tags)
    every, links = [0] * n, [0] * n
    for text, linked, owner in lines:
        every[owner] += len(text)
        links[owner] += linked
    for i in backwards:
        if every[i]:
            every[parent[i]] += every[i]
            links[parent[i]] += links[i]
    block = list(range(n))
    for i in range(1, n):
        if tags[i] in _CELLS:
            block[i] = block[parent[i]]
    judged = []
    for row in rows:
        if row[3] < 0:
            text, owner, _, _ = row
            i = block[owner]
            if links[i] > _LIST_OF_LINKS * every[i]:
                row = (text, owner, 0 if tags[i] == _TABLE else None, 0)
            else:
                row = (text, owner, False, len(text))
        judged.append(row)
    return judged


def _left_behind(nodes, tags, characters, weight, held, inside, inner) -> float:
    left = 0.0
    kind = None
    for child in inside:
        if child == inner:
            continue
        if tags[child] in _PLAIN:
            left += characters[child]
        elif tags[child] == tags[inner]:
            if kind is None:
                kind = nodes[inner].attributes.get("class") or ""
            if (nodes[child].attributes.get("class") or "") == kind:
                left += weight[child] / weight[inner] * held[inner]
    return left
