-- parts: layout, records
-- Tell what an earlier page with a URL is to a crawler. KEYS: prefix. ARGV: profile, URL key, now, ttl, 1 if visits refresh
-- a page, own number and number of the crawl's first crawler (as in `check`), packed. Returns {'own', record or '', 1 if
-- this is a revisit}, the record as visited by this crawler; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local now, ttl, refresh, crawler, first_crawler = struct.unpack('>I4I4BI4I4', ARGV[3])
if now == 0 then now = tonumber(call('TIME')[1]) end
local _, own = page_with_url(ARGV[2])
if not own then return {'own', '', 0} end
local is_concurrent = crawler_of(own) ~= crawler and crawler_of(own) >= first_crawler
local is_live = ttl == 0 or age_mark(own, refresh) >= now - ttl
return {'own', visited(own, now, crawler), is_live and not is_concurrent and 1 or 0}
