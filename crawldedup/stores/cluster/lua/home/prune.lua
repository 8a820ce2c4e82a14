-- parts: layout, spread_guard, records, writing, home_filing, home_removing, retention
-- Free what has expired among some pages; or the oldest of those that are too many. KEYS: prefix. ARGV: profile, now, ttl
-- or 0, refresh, most pages or 0, first page to look at, how many.
-- Answers {'pruned', pages, number of the next page to be added, number of the first that may be left, what was removed..}.

local now, ttl = tonumber(ARGV[2]) or server_seconds(), tonumber(ARGV[3])
local refresh, max_pages = tonumber(ARGV[4]), tonumber(ARGV[5])
local first, count = tonumber(ARGV[6]), tonumber(ARGV[7])
if max_pages > 0 then
  evict(max_pages, count)
else
  if ttl > 0 then free_expired(first, count, now - ttl, refresh) end
  if first % RECORDS_A_LIST + count >= RECORDS_A_LIST then drop_if_empty(floor(first / RECORDS_A_LIST), 0) end
end
return {'pruned', meta.pages, meta.next, meta.oldest, unpack(removed)}
