-- parts: layout, covered
-- Remove the oldest pages that the limits let go. KEYS: prefix. ARGV: now, ttl or 0, most anchors, how many at most.
-- Returns how many went, those included that were forgotten before.

local now = tonumber(ARGV[1]) or tonumber(call('TIME')[1])
return retire(now, tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
