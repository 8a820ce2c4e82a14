-- Renew a crawler's lease. KEYS: prefix. ARGV: now, lease, number.

local now = tonumber(ARGV[1]) or tonumber(call('TIME')[1])
return call('ZADD', PREFIX .. 'c', now + tonumber(ARGV[2]), ARGV[3])
