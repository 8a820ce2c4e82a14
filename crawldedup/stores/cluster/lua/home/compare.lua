-- parts: layout, spread_guard, records, search
-- Compare a page with some. KEYS: prefix. ARGV: profile, a question, ARGV[8]: their numbers (4 bytes each), ARGV[9]: '1'
-- for their records too.
-- Answers {'compared', how many, accepted (4 bytes each of cost, time of adding, number), numbers of those that are gone,
-- numbers of those that have expired, record of each accepted one..}.

local question, numbers = read_question(), ARGV[8]
local compared, accepted, gone, expired, answer = 0, {}, {}, {}, {}
for place = 1, #numbers, 4 do
  local page = number_at(numbers, place)
  local record = read_record(page)
  if not record then
    gone[#gone + 1] = sub(numbers, place, place + 3)
  elseif age_mark(record, question.refresh) < question.oldest then
    expired[#expired + 1] = sub(numbers, place, place + 3)
  else
    compared = compared + 1
    local cost = judge(question, record)
    if cost then
      accepted[#accepted + 1] = struct.pack('>I4I4I4', cost, added_at(record), page)
      if ARGV[9] == '1' then answer[#answer + 1] = record end
    end
  end
end
return {'compared', compared, concat(accepted), concat(gone), concat(expired), unpack(answer)}
