-- parts: layout, spread_guard, records, search
-- Take pages that are gone out of the ranges where they were found. KEYS: prefix. ARGV: profile, a question, ARGV[8]: the
-- pages (4 bytes each). Answers {'healed', members taken out}.

local question, gone = read_question(), {}
for place = 1, #ARGV[8], 4 do gone[number_at(ARGV[8], place)] = true end
local probes, taken = question.probes, 0
local limit = max(1, floor(question.max_keys / 8))
for _, probe in ipairs(promising(probes)) do
  local first = probe * 8 - 7
  local number = byte(probes, first)
  local members = members_near(number, sub(question.keys, number * 8 + 1, number * 8 + 5),
    sub(probes, first + 1, first + 5), byte(probes, first + 6), limit)
  for i = 1, #members do
    if gone[page_of(members[i])] then
      taken = taken + call('ZREM', bucket_key('t' .. number, members[i]), members[i])
    end
  end
end
if taken > 0 then call('HINCRBY', META, 'pages', -taken) end
return {'healed', taken}
