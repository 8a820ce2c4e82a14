-- parts: layout, leases, records, deliveries, costs
-- Tell what an earlier page with a URL is to a crawler. KEYS: prefix. ARGV: profile, URL key, now, ttl, 1 if visits refresh
-- a page, own number (as in `check`) and 1 if the page is on its way, packed; then digest, signature and rule of a revisit
-- that stays where it is if its text is unchanged, or nothing. Returns {'own', record or '', 0; 1 if this is a revisit, or 2 if
-- it was noted as an unchanged one, 1 if the earlier visit was never delivered, text of a changed one or ''}, the record as
-- visited by this crawler; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local now, ttl, refresh, crawler, on_its_way = struct.unpack('>I4I4BI4B', ARGV[3])
if now == 0 then now = tonumber(call('TIME')[1]) end
local page, own = page_with_url(ARGV[2])
if not own then return {'own', '', 0, 0, ''} end
local is_concurrent = crawler_of(own) ~= crawler and is_at_work(crawler_of(own), now)
local is_live = ttl == 0 or age_mark(own, refresh) >= now - ttl
local updated, abandoned = visited(own, now, crawler), is_abandoned(own, crawler, now)
if not is_live or is_concurrent then return {'own', updated, 0, abandoned and 1 or 0, ''} end
if not ARGV[4] or has_new_text(own, ARGV[4], ARGV[5], ARGV[6], abandoned) then
  return {'own', updated, 1, abandoned and 1 or 0, text_of(page)}
end
-- A full server refuses, which is not an error: it still answers what it knows.
redis.pcall('LSET', list_of(page), page % RECORDS_A_LIST, updated)
if on_its_way == 1 then set_out(ARGV[2], crawler) else arrive(ARGV[2]) end
return {'own', updated, 2, 0, ''}
