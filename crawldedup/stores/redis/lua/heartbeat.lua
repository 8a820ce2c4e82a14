-- parts: layout
-- Renew a crawler's lease. KEYS: prefix. ARGV: now, process, number. If a full server refuses this, it is not an error.

redis.pcall('HSET', PREFIX .. 'w', ARGV[3], ARGV[2])
local answer = redis.pcall('ZADD', PREFIX .. 'c', now_from(ARGV[1]) + LEASE_SECONDS, ARGV[3])
return type(answer) == 'table' and not string.find(answer.err, 'OOM') and answer or 1
