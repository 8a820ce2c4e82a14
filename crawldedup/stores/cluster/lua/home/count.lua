-- parts: layout, spread_guard, records, home_filing, writing, search
-- Count a page as a copy of one that it was compared with, if that is still so. KEYS: prefix. ARGV: profile, a question,
-- ARGV[8]: number (4 bytes), ARGV[9]: 1 if the answer to the same call was lost.
-- Answers {'counted', pages, record}, {'undecided', pages} or {'gone', pages}.

local question = read_question()
local page = number_at(ARGV[8], 1)
local record = read_record(page)
if not record or age_mark(record, question.refresh) < question.oldest or not judge(question, record) then
  return {'gone', meta.pages}
end
if is_undecided(page, '') then return {'undecided', meta.pages} end
local is_known = ARGV[9] == '1' and is_last_counted(record, question.url_key)
local updated = counted(record, question.now, question.url_key, is_known)
note_record(page, updated)
return {'counted', meta.pages, updated}
