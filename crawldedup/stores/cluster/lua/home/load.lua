-- parts: layout, spread_guard, records, writing, home_filing
-- Add pages as they are; they are pending until they are confirmed. KEYS: prefix. ARGV: profile, token, records, each
-- behind 4 bytes of its length.
-- Answers {'loaded', pages, pages added, number (4 bytes) of each record, or '' for a URL that was known..}.

local data, place, added = ARGV[3], 1, 0
local numbers = {}
while place <= #data do
  local size = struct.unpack('>I4', data, place)
  local record = sub(data, place + 4, place + 3 + size)
  place = place + 4 + size
  local page = page_with_url(url_key_of(record))
  if page then
    local _, _, token = filing_of(page)
    numbers[#numbers + 1] = token == ARGV[2] and pack_number(page) or ''
  elseif meta.next >= MOST_PAGES then
    return {'full', meta.pages}
  else
    page = add('', record)
    call('HSET', META, 'pages', meta.pages, 'next', meta.next)
    expect_filing(page, LOADED, ARGV[2])
    grow(0, 2)
    added = added + 1
    numbers[#numbers + 1] = pack_number(page)
  end
end
return {'loaded', meta.pages, added, unpack(numbers)}
