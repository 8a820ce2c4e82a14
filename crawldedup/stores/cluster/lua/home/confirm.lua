-- parts: layout, spread_guard, records, home_filing
-- Note that pages are filed everywhere. KEYS: prefix. ARGV: profile, their numbers (4 bytes each), token of those who filed
-- them, or '' for whoever it was, ARGV[4]: the pages that went ahead (4 bytes each), as far as they are waited for.
-- Answers {'confirmed', pages}; or {'behind', pages, all that went ahead} if they are more: then nothing is noted.

for place = 1, #ARGV[2], 4 do
  local page = number_at(ARGV[2], place)
  local _, _, token, ahead = filing_of(page)
  if token and token == ARGV[3] and ahead ~= ARGV[4] then return {'behind', meta.pages, ahead} end
  if token and (ARGV[3] == '' or token == ARGV[3]) then end_filing(page) end
end
return {'confirmed', meta.pages}
