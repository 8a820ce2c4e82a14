-- parts: layout, leases, records, deliveries
-- Tell what an earlier page with a URL is to a crawler. KEYS: prefix. ARGV: profile, URL key, now, ttl, 1 if visits refresh
-- a page and own number (as in `check`), packed. Returns {'own', record or '', 1 if this is a revisit, 1 if the earlier visit
-- was never delivered}, the record as visited by this crawler; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local now, ttl, refresh, crawler = struct.unpack('>I4I4BI4', ARGV[3])
if now == 0 then now = tonumber(call('TIME')[1]) end
local _, own = page_with_url(ARGV[2])
if not own then return {'own', '', 0, 0} end
local is_concurrent = crawler_of(own) ~= crawler and is_at_work(crawler_of(own), now)
local is_live = ttl == 0 or age_mark(own, refresh) >= now - ttl
return {'own', visited(own, now, crawler), is_live and not is_concurrent and 1 or 0,
  is_abandoned(own, crawler, now) and 1 or 0}
