"""The words used to read marks: names of files, labels, fields, visits and dates.

They are in many languages. If a word is missing here, a copy may be kept, but no content is lost.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from crawldedup.fingerprinting.tokenize import without_ignored
from crawldedup.marks.address import is_view

_LONGEST_ADDRESS: Final = 2048
_LONGEST_FILE: Final = 200


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Names

_WITHOUT_SPACES: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD: Final = re.compile(
    # In scripts without spaces between words, a word is a letter with its marks. In others, it is a
    # run of letters, which such a letter ends: Linux下 has two words, with or without a space.
    rf"[{_WITHOUT_SPACES}]"
    rf"[\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u17b6-\u17d3]*|[^\W_{_WITHOUT_SPACES}]+"
)
_LETTER_WITHOUT_SPACES: Final = re.compile(rf"[{_WITHOUT_SPACES}]")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
SEPARATOR: Final = re.compile(r"\s+[-–—|·•»›:]+\s+|\s*[|｜»]\s*|\s*::\s*")
_COUNTER: Final = re.compile(r"^\s*[(\[]\d+\+?[)\]]\s*")
_LABEL: Final = re.compile(
    r"^\s*(?:print(?:able|er.friendly)?(?: version| view)?|updated?|amp|mobile|"
    r"druck(?:en|ansicht|version)?|imprimer|version imprimable|stampa|imprimir|"
    r"versi[oó]n (?:para imprimir|imprimible)|skriv ut|udskriv|afdrukken|tulosta|drukuj|"
    r"печать|версия для печати|yazdır|印刷|打印|列印)\s*[:|–-]\s*",
    re.IGNORECASE,
)
# Searching for these first takes a tenth of the time.
_BEFORE_COUNTER: Final = ("(", "[", " ")
_LABEL_END: Final = re.compile(r"[:|–-]")
_LONGEST_LABEL: Final = 40
# "GroupedFlowable (RxJava Javadoc 2.2.0)" is the page of a class, regardless of the version.
VERSION: Final = re.compile(r"\s*\([^()]{0,80}\d\.\d[^()]{0,80}\)\s*$")
RELEASE: Final = re.compile(r"\d\.\d")
AFTER_LABEL: Final = re.compile(r"^[^:]{1,30}:\s+(.+)$")


def words_of(text: str) -> str:
    """Return the words of a text in lower case, with spaces between them."""
    text = without_ignored(text).lower()
    return " ".join((_ASCII_WORD if text.isascii() else _WORD).findall(text))


def name_of(text: str) -> str:
    """Return a name without a counter or label before it: "(3) Print: Ferry" becomes "Ferry"."""
    if text[:1] in _BEFORE_COUNTER:
        text = _COUNTER.sub("", text)
    return _LABEL.sub("", text) if _LABEL_END.search(text, 0, _LONGEST_LABEL) else text


# Pictures and players

# Words that are never the topic of a page, no matter what else the file name says.
_NEVER_PICTURE: Final = re.compile(
    r"spacer|pixel|sprites?|avatars?|gravatar|blank|loading|loader|smil(?:e|ey|ies|eys)|emojis?|"
    r"tracking|captcha|placeholder|transparent"
)
# Words for decoration, unless the file has a number or a longer name: "logo-white", but not
# "logo-design-1201".
_DECORATION: Final = re.compile(
    r"\w*(?:logos?|logotype|icons?)|flags?|badges?|buttons?|btn|arrows?|qr|qrcode"
)
_WORDS_OF_FILE: Final = re.compile(r"[^\W\d_]+")
_LONG_NUMBER: Final = re.compile(r"\d{3}")
_MOST_WORDS_OF_DECORATION: Final = 3
_AD: Final = re.compile(
    r"(?:^|[./_-])(?:ads?|adserv\w*|doubleclick|googlesyndication|taboola|outbrain|criteo|"
    r"analytics|googletagmanager|facebook|recaptcha|consent)(?:[./_-]|$)",
    re.IGNORECASE,
)
_FILE_ENDING: Final = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|bmp|tiff?|mp[34]|m4[av]|webm|og[gv]|pdf)$", re.IGNORECASE
)
PICTURE_FILE: Final = re.compile(r"\.(?:jpe?g|png|webp|gif|avif)(?:\?|$)", re.IGNORECASE)
_SIZE: Final = re.compile(
    r"(?:[-_@.](?:\d{2,4}x\d{0,4}|x\d{2,4}|\d+w|\d{2,4}px|[wh]\d+|large|small|thumb(?:nail)?|"
    r"medium|big|orig(?:inal)?|[123]x|scaled|full|preview|poster|[slmbqtz]))+$",
    re.IGNORECASE,
)
_SIZE_BEFORE: Final = re.compile(r"^(?:\d{2,4}px|thumb|small|medium|large)-", re.IGNORECASE)
_GENERIC: Final = re.compile(
    r"^(?:\d{1,3}|hq|hqdefault|image|img|photo|picture|cover|default|main|index|large|full|small|"
    r"thumb|poster|maxresdefault|master|original|hero|video|audio|embed|player|view)$",
    re.IGNORECASE,
)
_PLAYER_SETTINGS: Final = _set("autoplay rel width height cb rnd mute muted controls")


# Parameters for the size and format of a picture.
_PICTURE_SETTINGS: Final = _set(
    "w h q width height quality fit crop auto format fm fmt dpr v ver version t ts time cb size "
    "resize scale mode gravity bg blur sharpen strip maxwidth maxheight mw mh zoom type ext rev"
)
_SERVED: Final = re.compile(r"https?:|/|\.(?:jpe?g|png|webp|gif|avif)$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def picture_name(source: str) -> str | None:
    """Return the name of a picture without its size, or None for logos, icons and the like.

    It is also None if the address names no file. If a program serves pictures, their names are in
    its query, as addresses or as numbers.
    """
    source = source[:_LONGEST_ADDRESS]
    try:
        parts = urlsplit(source)
        query = parse_qsl(parts.query, max_num_fields=50) if parts.query else []
    except ValueError:
        return None
    name = file_name(source)
    if query and not _FILE_ENDING.search(parts.path):
        served = [value for _, value in query if _SERVED.search(value)]
        if served:
            name = file_name(served[0])
        elif name is not None:
            values = [
                f"{parameter}={value}".lower()
                for parameter, value in query
                if parameter.lower() not in _PICTURE_SETTINGS and not is_view(parameter, value)
            ]
            name = "?".join([name, *sorted(values)])
    return None if name is None or _is_decoration(name) else name


def _is_decoration(name: str) -> bool:
    """Return whether the file name of a picture shows that it only decorates a page."""
    words = _WORDS_OF_FILE.findall(name.rpartition("/")[2])
    if name.endswith("1x1") or any(_NEVER_PICTURE.fullmatch(word) for word in words):
        return True
    if len(words) > _MOST_WORDS_OF_DECORATION or _LONG_NUMBER.search(name):
        return False
    return any(_DECORATION.fullmatch(word) for word in words)


def file_name(source: str) -> str | None:
    """Return the last part of an address in lower case, without suffixes for sizes and formats.

    The folder is included if that part is a word that many files share, such as "cover". It is None
    if the address has no path.
    """
    try:
        path = urlsplit(source[:_LONGEST_ADDRESS]).path
    except ValueError:
        return None
    parts = [part for part in unquote(path).split("/") if part]
    if not parts:
        return None
    name = _FILE_ENDING.sub("", parts[-1])
    if len(name) <= _LONGEST_FILE:
        # A longer one would take quadratic time.
        name = _SIZE.sub("", name) or name
        name = _SIZE_BEFORE.sub("", name) or name
    if len(parts) > 1 and _GENERIC.match(name):
        name = f"{parts[-2]}/{name}"
    return name.lower()


@lru_cache(maxsize=1024)
def player_name(source: str) -> str | None:
    """Return what a player shows: its file, and the values in its address except for settings.

    It is None for advertisements and the like.
    """
    if _AD.search(source[:_LONGEST_ADDRESS]):
        return None
    name = file_name(source)
    try:
        query = parse_qsl(urlsplit(source[:_LONGEST_ADDRESS]).query, max_num_fields=50)
    except ValueError:
        return name
    values = [
        value
        for parameter, value in query
        if parameter.lower() not in _PLAYER_SETTINGS and not is_view(parameter, value)
    ]
    return f"{name}?{'&'.join(sorted(values))}"


# Links


_STEPS_UP: Final = re.compile(r"^(?:\.{0,2}/)+")
_HOME: Final = re.compile(r"/?(?:(?:index|default)\.\w{3,5})?", re.IGNORECASE)
# Few links look like this, and resolving the others would take longer than reading their headings.
_MAY_LEAD_HOME: Final = re.compile(
    rf"(?:https?:)?(?://[^/?#]*)?[./]*{_HOME.pattern}(?:#.*)?", re.IGNORECASE
)


def link_target(href: str) -> str | None:
    """Return where a link leads, "" for the home page, or None if it doesn't lead to a page.

    The host, the fragment, steps such as "../" and parameters that stand for views are left out. If
    the same list is in several folders, its relative links differ only in the number of these
    steps.
    """
    href = href.partition("#")[0].strip()
    if not href or len(href) > _LONGEST_ADDRESS:
        return None
    scheme, separator, rest = href.partition(":")
    if separator and "/" not in scheme:
        if scheme.lower() not in ("http", "https"):
            return None
        href = rest
    if href.startswith("//"):
        host, _, href = href[2:].partition("/")
        if ("[" in host) != ("]" in host):
            return None
    if href.startswith((".", "/")):
        href = _STEPS_UP.sub("", href)
    return href if "?" not in href else _without_views(href)


def leads_home(link: Mapping[str, str | None], url: str) -> bool:
    """Return whether a link leads to the home page of the site.

    Args:
        link: The attributes of the link.
        url: The URL of the page with the link, or "" if it isn't known.
    """
    if "home" in (link.get("rel") or "").lower().split():
        return True
    href = (link.get("href") or "").strip()
    if not href or len(href) > _LONGEST_ADDRESS or not _MAY_LEAD_HOME.fullmatch(href):
        return False
    try:
        target = urlsplit(urljoin(url, href))
        host = target.hostname or ""
        its_host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if its_host and host.removeprefix("www.") != its_host.removeprefix("www."):
        return False
    # A relative link from an unknown folder may lead anywhere.
    is_absolute = bool(host) or href.startswith("/")
    return is_absolute and not target.query and _HOME.fullmatch(target.path) is not None


@lru_cache(maxsize=8192)
def _without_views(href: str) -> str:
    path, _, query = href.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return href
    kept = sorted(f"{name}={value}" for name, value in pairs if not is_view(name, value))
    return f"{path}?{'&'.join(kept)}" if kept else path


# Data

IDENTIFYING: Final = _set(
    "id slug name title headline sku isbn gtin gtin8 gtin12 gtin13 gtin14 mpn productid identifier "
    "videoid embedurl contenturl startdate bookformat color size price pricecurrency itemcondition "
    "lowprice latitude longitude vin"
)
ABOUT_OTHERS: Final = _set(
    "session user viewer request query auth csrf token config flags ads ad experiments publisher "
    "author organization breadcrumb itemlistelement seller brand logo review aggregaterating "
    "isrelatedto issimilarto mainentityofpage ispartof potentialaction comment build buildid "
    "locale runtimeconfig"
)
STATE: Final = re.compile(r"\s*(?:window\.|var |let |const |self\.)[\w.]+\s*=\s*(?=[\[{])")
NO_FIELD: Final = re.compile(
    r"csrf|token|nonce|sess|time|date|viewstate|eventvalidation|url|return|redirect|refer|next|"
    r"continue|dest|goto|back|from|target|captcha|honey|lang|locale|currency|country|qty|"
    r"quantit|sort|order|per_?page|limit|search|utf8|method|action|submit|redir|form_(?:id|build)|"
    r"ak_js",
    re.IGNORECASE,
)

# Visits and dates, whose numbers change while the content stays the same

_DATE_WORDS: Final = _set(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat
    sun january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec
    januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag
    samstag sonntag janvier février mars avril juin juillet août septembre octobre novembre décembre
    lundi mardi mercredi jeudi vendredi samedi dimanche enero febrero marzo abril mayo junio julio
    agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio
    settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro novembro
    dezembro januari februari maart mei augustus stycznia lutego marca kwietnia maja czerwca lipca
    sierpnia września października listopada grudnia января февраля марта апреля мая июня июля
    августа сентября октября ноября декабря ocak şubat mart nisan mayıs haziran temmuz ağustos eylül
    ekim kasım aralık
    """
)
_VISIT_WORDS: Final = _DATE_WORDS | _set(
    """
    view views viewed visit visits visitor visitors visited online seen times ago user users guest
    guests people looking left stock update updated comment comments printed rendered queries
    hour hours minute minutes second seconds
    currently member members share shares like likes read reads time today yesterday posts download
    downloads rating vote votes replies copyright am pm utc gmt cet
    aufrufe besucher gelesen gesehen vor stunden minuten heute gestern kommentar kommentare
    aktualisiert stand uhr vue vues visite visites lecture lectures commentaire commentaires heure
    heures aujourd hier visita visitas vistas leído leido hace comentario comentarios hoy ayer
    letture commento commenti oggi ieri visualizações comentários hoje ontem weergaven reacties
    geleden vandaag wyświetleń komentarzy dzisiaj просмотр просмотров просмотра комментариев
    комментарий сегодня вчера назад görüntülenme yorum bugün
    """
)
# These also have other meanings, so only a number right next to them depends on a visit.
_AMBIGUOUS: Final = _set(
    "second seconds time like likes read reads people left stock share shares may mars sun sat am"
)
_NO_WORDS: Final = frozenset[str]()
_NEAR: Final = 3  # a number belongs to a word about visits that is at most so many words away
_AGES: Final = _set(
    "day days week weeks month months year years tag tage tagen woche wochen monat monaten jahr "
    "jahren jour jours semaine semaines mois an ans día días semana semanas mes meses año años "
    "giorno giorni settimana mese mesi anno anni dia dias mês ano anos dag dagen maand jaar"
)
# A search is several times faster if the pattern begins with a character class, or if all of its
# branches begin with a letter.
_DATE: Final = re.compile(r"\d(?::\d\d|[-/.]\d\d?[-/.]\d)")
_FOREIGN: Final = re.compile(r"©|年|月|日|阅读|浏览|评论|回复|点击|次|閲覧|コメント|回|조회|댓글")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ASCII_LETTERS: Final = re.compile(r"[a-z]+")
_DIGIT: Final = re.compile(r"\d")
_ASCII_DIGIT: Final = re.compile("[0-9]")
_DIGITS: Final = re.compile(r"\d+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


def has_digit(line: str) -> bool:
    """Return whether a line has a digit of any script."""
    # Searching for ASCII digits takes half the time.
    return (_ASCII_DIGIT if line.isascii() else _DIGIT).search(line) is not None


def without_visits(line: str) -> str:
    """Return a line without the numbers that depend on a visit or a date.

    These are dates and times, and numbers near a word about visits or dates. A word such as "may"
    only counts next to a number that may be part of a date, unlike in "The model 4711 may
    overheat". If the line has a sign such as © or 年, all numbers are left out.
    """
    if not has_digit(line):
        return line
    # Searching for ASCII letters takes less time.
    letters = _ASCII_LETTERS if line.isascii() else _LETTERS
    if letters is _LETTERS and _FOREIGN.search(line) is not None:
        return without_digits(line)
    words = line.split()
    # Most words consist of letters, and asking for that takes a tenth of the time of a search.
    numbers = [
        place for place, word in enumerate(words) if not word.isalpha() and _DIGIT.search(word)
    ]
    about = _visit_words_near(words, numbers, letters)
    left_out = [place for place in numbers if _depends_on_visit(words[place], place, about)]
    if not left_out:
        return line
    for place in left_out:
        words[place] = without_digits(words[place])
    return " ".join(filter(None, words))


def _visit_words_near(
    words: Sequence[str], numbers: Sequence[int], letters: re.Pattern[str]
) -> dict[int, frozenset[str]]:
    """Return the words about visits and dates near numbers, by their place in the line."""
    about: dict[int, frozenset[str]] = {}
    seen = 0  # the first words, which aren't searched again
    for number in numbers:
        start = max(number - _NEAR, seen)
        end = number + _NEAR + 1
        near = " ".join(words[start:end]).lower()
        # Near most numbers, there are none.
        if not _VISIT_WORDS.isdisjoint(letters.findall(near)):
            for place, word in enumerate(near.split(), start):
                found = _VISIT_WORDS.intersection(letters.findall(word))
                if found:
                    about[place] = found
        seen = end
    return about


def _depends_on_visit(word: str, place: int, about: Mapping[int, frozenset[str]]) -> bool:
    """Return whether a number is in a date, in a time, or near a word about visits or dates."""
    if _DATE.search(word):
        return True
    if not about:
        return False
    may_be_date = all(
        len(digits) < len("100") or _YEAR.fullmatch(digits) for digits in _DIGITS.findall(word)
    )
    for near in range(place - _NEAR, place + _NEAR + 1):
        named = about.get(near, _NO_WORDS)
        if named and not may_be_date:
            named -= _DATE_WORDS
        if named and abs(near - place) > 1:
            named -= _AMBIGUOUS
        if named:
            return True
    return False


def without_dates(words: str) -> str | None:
    """Return the words of a name without the date, so "events in march 2027" becomes "events in".

    It is None if the name has no year, no month and no day of the week.
    """
    every = words.split()
    if not any(word in _DATE_WORDS or _YEAR.fullmatch(word) for word in every):
        return None
    return " ".join([word for word in every if word not in _DATE_WORDS and not word[0].isdigit()])


def without_digits(line: str) -> str:
    """Return a line without any digits, and with single spaces between its words."""
    return " ".join(_DIGITS.sub("", line).split())


def about_words_of(line: str) -> int:
    """Return about how many words a line has. Two letters of a script without spaces are a word."""
    words = line.count(" ") + 1
    return words if line.isascii() else words + len(_LETTER_WITHOUT_SPACES.findall(line)) // 2


def tells_when(line: str) -> bool:
    """Return whether a line mostly says when somebody wrote, or how many people did something.

    Examples are "3 views" and "an hour ago".
    """
    has_digits = has_digit(line)
    if has_digits and (_DATE.search(line) or _FOREIGN.search(line)):
        return True
    words = _LETTERS.findall(line.lower())
    found = sum([word in _VISIT_WORDS or word in _AGES for word in words])
    least = len(words) / 3 if has_digits else (len(words) + 1) / 2
    return found > 1 or (found == 1 and found >= least)
