-- parts: layout
-- Renew a crawler's lease. KEYS: prefix. ARGV: now, lease, process, number. A full server refuses, which is not an error here.

redis.pcall('HSET', PREFIX .. 'w', ARGV[4], ARGV[3])
local answer = redis.pcall('ZADD', PREFIX .. 'c', now_from(ARGV[1]) + tonumber(ARGV[2]), ARGV[4])
return type(answer) == 'table' and not string.find(answer.err, 'OOM') and answer or 1
