-- parts: layout, records, writing, retention
-- Free expired pages among some, and empty lists; or, with a limit of pages, the oldest beyond it. KEYS: prefix. ARGV: now,
-- ttl or 0, refresh, limit of pages or 0, number of the first page to examine, how many. Returns {pages freed, number of the
-- next page to be added, number of the first that may be left, pages}.

local now, ttl = tonumber(ARGV[1]) or tonumber(call('TIME')[1]), tonumber(ARGV[2])
local refresh, max_pages = tonumber(ARGV[3]), tonumber(ARGV[4])
local first, count = tonumber(ARGV[5]), tonumber(ARGV[6])
local freed = 0
if max_pages > 0 then
  freed = evict(max_pages, count)
else
  if ttl > 0 then freed = free_expired(first, count, now - ttl, refresh) end
  if first % RECORDS_A_LIST + count >= RECORDS_A_LIST then drop_if_empty(floor(first / RECORDS_A_LIST), 32) end
end
-- Of a head that names far more pages than there are, the lists end before the last one.
local following = meta.next
if following > 0 and call('EXISTS', list_of(following - 1)) == 0 then following = min(following, first + count) end
return {freed, following, meta.oldest, meta.pages}
