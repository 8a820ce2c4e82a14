-- parts: layout, spread_guard, records, home_filing
-- Which of some pages are still undecided? KEYS: prefix. ARGV: profile, their numbers (4 bytes each).
-- Answers {'others', pages, number (4 bytes) of each..}.

local answer = {'others', meta.pages}
for place = 1, #ARGV[2], 4 do
  if is_undecided(number_at(ARGV[2], place), '') then answer[#answer + 1] = sub(ARGV[2], place, place + 3) end
end
return answer
