-- parts: layout
-- Renew a crawler's lease. KEYS: prefix. ARGV: now, lease, number. A full server refuses, which is not an error here.

local now = tonumber(ARGV[1]) or tonumber(call('TIME')[1])
local answer = redis.pcall('ZADD', PREFIX .. 'c', now + tonumber(ARGV[2]), ARGV[3])
if type(answer) == 'table' and not string.find(answer.err, 'OOM') then return answer end
return 1
