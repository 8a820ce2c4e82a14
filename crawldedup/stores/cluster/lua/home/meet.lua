-- parts: layout, spread_guard, records, home_filing
-- Let an undecided page go ahead of one of here that it has met, if that is being admitted and undecided too: that one is
-- not confirmed now before its check has waited for the other page and looked again. KEYS: prefix. ARGV: profile, the page
-- that goes ahead (4 bytes), number (4 bytes) of the one of here.
-- Answers {'ahead', pages}, or {'decided', pages} if it was too late or the one of here is no page that is being admitted.

local page = number_at(ARGV[3], 1)
local reason = filing_of(page)
if reason ~= ADMITTED or not is_undecided(page, '') then return {'decided', meta.pages} end
call('HSET', PENDING, ARGV[3], call('HGET', PENDING, ARGV[3]) .. ARGV[2])
return {'ahead', meta.pages}
