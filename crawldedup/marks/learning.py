"""Add marks to records: a record without a mark learns it from its first copy.

If a page shows no picture but a copy of it does, a third page with another picture must conflict
with the record from then on.

A page that replaces another one, as the better copy, keeps the key of the other text. When the
replaced page comes again, it's recognized at once, no matter how much the two texts differ.
"""

from dataclasses import replace

from crawldedup.marks.packing import packed, unpacked


def learned(marks: bytes, copy: bytes) -> bytes:
    """Return the marks of a record after a copy was found, with the marks that it lacked.

    Pages of different sites learn nothing from each other, because each site writes its own
    headlines.

    Args:
        marks: The marks of the record.
        copy: The marks of its copy.
    """
    if not marks or not copy or marks == copy:
        return marks
    record = unpacked(marks)
    its = unpacked(copy)
    if record is None or its is None or record.address is None or its.address is None:
        return marks
    if record.address.site != its.address.site:
        return marks
    content = record.content
    other = its.content
    has_lead = content.has_lead or not other.has_lead
    known = replace(
        content,
        names=content.names or other.names,
        pictures=content.pictures if has_lead else other.pictures,
        has_lead=content.has_lead or other.has_lead,
        players=content.players or other.players,
        data=content.data or other.data,
    )
    return marks if known == content else packed(replace(record, content=known))


def succeeding(marks: bytes, replaced: bytes, text: int) -> bytes:
    """Return the marks of a page that replaces another one as the better copy.

    Args:
        marks: The marks of the page.
        replaced: The marks of the record that it replaces.
        text: The text key of that record.
    """
    page = unpacked(marks)
    its = unpacked(replaced)
    if page is None or its is None or page.address is None or its.address is None:
        return marks
    if page.address.site != its.address.site:
        return marks
    heir = replace(page, address=replace(page.address, former=text))
    return learned(packed(heir), replaced)


def is_former_text(marks: bytes, record: bytes, text: int) -> bool:
    """Return whether a page has the text of a page on its site that a record has replaced.

    Args:
        marks: The marks of the page.
        record: The marks of the record.
        text: The text key of the page.
    """
    page = unpacked(marks)
    its = unpacked(record)
    if page is None or its is None or page.address is None or its.address is None:
        return False
    return its.address.former == text and its.address.site == page.address.site
