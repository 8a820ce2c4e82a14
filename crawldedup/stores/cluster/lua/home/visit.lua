-- parts: layout, spread_guard, records, home_filing, writing, search
-- Is this page's URL known? If so, and not from a fellow, it is a revisit: new text replaces the old. KEYS: prefix.
-- ARGV: profile, a question, ARGV[8]: what a check must know beside it, ARGV[9]: token of this check.
-- Answers {'unknown', pages}, {'undecided', pages}, or {'revisit', pages, record}; if the text has changed, then also its
-- number and the old record, whose keys must be exchanged.

local question = read_question()
local _, crawler, first_crawler = struct.unpack('>I4I4I4', ARGV[8])
local page, own = page_with_url(question.url_key)
if not own or age_mark(own, question.refresh) < question.oldest
  or crawler_of(own) ~= crawler and crawler_of(own) >= first_crawler then
  return {'unknown', meta.pages}
end
if is_undecided(page, ARGV[9]) then return {'undecided', meta.pages} end
local reason, _, token = filing_of(page)
local is_ours = reason and token == ARGV[9]
if is_ours and reason == ADMITTED then return {'unknown', meta.pages} end

local updated = visited(own, question.now, crawler)
if digest_of(own) == question.digest and not is_ours then
  note_record(page, updated)
  return {'revisit', meta.pages, updated}
end
local without_url = 20 + #question.signature
updated = sub(updated, 1, 16) .. sub(question.body, 1, without_url) .. sub(own, 17 + without_url)
write_record(page, updated)
expect_filing(page, CHANGED, ARGV[9])
return {'revisit', meta.pages, updated, page, own}
