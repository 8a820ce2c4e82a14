-- Check the profile and join the crawl. KEYS: prefix. ARGV: profile, order, now, lease.
-- Answers {'joined', number, first, pages} or {'profile', the index's profile}.

local profile, order = ARGV[1], ARGV[2]
local now, lease = tonumber(ARGV[3]) or tonumber(redis.call('TIME')[1]), tonumber(ARGV[4])
if meta.profile and meta.profile ~= profile then return {'profile', meta.profile} end

local number = meta.crawlers + 1
redis.call('HSET', META, 'profile', profile, 'order', order, 'crawlers', number)
redis.call('ZREMRANGEBYSCORE', PREFIX .. 'c', '-inf', now)
local first = number
if redis.call('ZCARD', PREFIX .. 'c') > 0 then first = meta.first end
redis.call('HSET', META, 'first', first)
redis.call('ZADD', PREFIX .. 'c', now + lease, number)
return {'joined', number, first, meta.pages}
