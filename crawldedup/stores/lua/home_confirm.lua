-- Note that pages are filed everywhere. KEYS: prefix. ARGV: profile, their numbers (4 bytes each), token of those who filed
-- them, or '' for whoever it was. Answers {'confirmed', pages}.

for place = 1, #ARGV[2], 4 do
  local page = number_at(ARGV[2], place)
  local _, _, token = filing_of(page)
  if token and (ARGV[3] == '' or token == ARGV[3]) then end_filing(page) end
end
return {'confirmed', meta.pages}
