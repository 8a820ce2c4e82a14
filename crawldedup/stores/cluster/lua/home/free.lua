-- parts: layout, spread_guard, records, writing, home_filing, home_removing, search
-- Free pages that have expired. KEYS: prefix. ARGV: profile, a question, ARGV[8]: their numbers (4 bytes each).
-- Answers {'freed', pages, what was removed..}.

local question = read_question()
for place = 1, #ARGV[8], 4 do
  local page = number_at(ARGV[8], place)
  local record = read_record(page)
  if record and age_mark(record, question.refresh) < question.oldest then remove_page(page, record) end
end
return {'freed', meta.pages, unpack(removed)}
