"""Update the marks of a remembered page with what its copies show.

A remembered page without a mark learns it from the first copy on its site that has one. If the page
shows no picture but a copy of it does, a third page with another picture must conflict with it from
then on.

A better copy that replaces a page keeps the key of the replaced page's text. When the replaced page
turns up again, it is recognized at once, no matter how much the two texts differ.
"""

from dataclasses import replace

from crawldedup.marks.packing import packed, unpacked


def learned(marks: bytes, copy: bytes) -> bytes:
    """Return the marks of a remembered page, plus those that it lacked and its copy has.

    It learns names, lead pictures, players and data, but neither texts nor links. Pages of
    different sites learn nothing from each other, because each site writes its own headlines.

    Args:
        marks: The packed marks of the remembered page.
        copy: The packed marks of its copy.
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
    """Return the marks to store for a better copy that replaces a remembered page.

    They include the text key of the replaced page, so that it's recognized when it turns up again,
    and the marks that the better copy lacks. If the two are on different sites, `marks` stays as it
    is.

    Args:
        marks: The packed marks of the better copy.
        replaced: The packed marks of the remembered page that it replaces.
        text: The text key of that remembered page.
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
    """Return whether a remembered page once replaced a page with the same text as this one.

    Only pages of the same site count.

    Args:
        marks: The packed marks of this page.
        record: The packed marks of the remembered page.
        text: The text key of this page.
    """
    page = unpacked(marks)
    its = unpacked(record)
    if page is None or its is None or page.address is None or its.address is None:
        return False
    return its.address.former == text and its.address.site == page.address.site
