-- Check the profile and join the crawl. KEYS: prefix. ARGV: profile, order, now, lease, own number or 0.
-- Answers {'joined', number, first, pages} or {'profile', the index's profile}.

local profile, order = ARGV[1], ARGV[2]
local now, lease = tonumber(ARGV[3]) or tonumber(redis.call('TIME')[1]), tonumber(ARGV[4])
if meta.profile and meta.profile ~= profile then return {'profile', meta.profile} end

local number = tonumber(ARGV[5])
-- Numbers grow with the clock, so that none comes twice when the index was lost and its counter with it.
if number == 0 then number = math.max(meta.crawlers + 1, now) end
redis.call('HSET', META, 'profile', profile, 'order', order, 'crawlers', math.max(meta.crawlers, number))
redis.call('ZREMRANGEBYSCORE', PREFIX .. 'c', '-inf', now)
redis.call('ZREM', PREFIX .. 'c', number)
local first = number
if redis.call('ZCARD', PREFIX .. 'c') > 0 then first = meta.first end
redis.call('HSET', META, 'first', first)
redis.call('ZADD', PREFIX .. 'c', now + lease, number)
return {'joined', number, first, meta.pages}
