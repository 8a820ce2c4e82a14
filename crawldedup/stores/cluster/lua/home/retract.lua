-- parts: layout, spread_guard, records, writing, home_filing, home_removing
-- Take back a page that turned out a copy while it was filed. KEYS: prefix. ARGV: profile, number (4 bytes), token.
-- Answers {'retracted', pages}, or {'stays', pages} if it was decided over the head of a check that was held up.

local page = number_at(ARGV[2], 1)
local record = read_record(page)
if not record then return {'retracted', meta.pages} end
local _, _, token = filing_of(page)
if token ~= ARGV[3] or copies_of(record) > 0 then
  if token == ARGV[3] then end_filing(page) end
  return {'stays', meta.pages}
end
remove_page(page, record)
return {'retracted', meta.pages}
