-- parts: layout
-- Renew a crawler's lease. KEYS: prefix. ARGV: now, lease, number. A full server refuses, which is not an error here.

local answer = redis.pcall('ZADD', PREFIX .. 'c', now_from(ARGV[1]) + tonumber(ARGV[2]), ARGV[3])
return type(answer) == 'table' and not string.find(answer.err, 'OOM') and answer or 1
