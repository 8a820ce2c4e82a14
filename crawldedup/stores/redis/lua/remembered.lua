-- parts: layout, records
-- Find a page. KEYS: prefix. ARGV: URL key, now, ttl or 0, 1 if visits refresh a page. Returns {record, text}, or {}.

local now, ttl = now_from(ARGV[2]), tonumber(ARGV[3])
local page, record = page_with_url(ARGV[1])
if not page or ttl > 0 and age_mark(record, tonumber(ARGV[4])) < now - ttl then return {} end
return {record, text_of(page)}
