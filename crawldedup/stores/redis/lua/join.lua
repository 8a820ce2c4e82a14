-- parts: layout
-- Check the profile and join the crawl. KEYS: prefix. ARGV: profile, order, key for a new index, now, process, own number
-- or, if negative, a random one. Returns {number, pages} or {'profile', the index's profile}.
--
-- On a full server, a crawler joins without a lease: the server still answers, and pages can be removed from it.

local MOST_SKIPPED = 1024
local profile, order = ARGV[1], ARGV[2]
local now = now_from(ARGV[4])
if meta.profile and meta.profile ~= profile then return {'profile', meta.profile} end

local function write(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err and not (meta.profile and string.find(answer.err, 'OOM')) then
    return answer
  end
end

local number = tonumber(ARGV[6])
if number <= 0 then
  -- Numbers grow with the clock and begin at random, so no number is used twice if the index is lost with its counter.
  -- Some are skipped, because a replica that becomes the master may not know the last ones.
  local ahead = -number
  number = meta.crawlers > 0 and max(meta.crawlers + 1, now) + ahead % MOST_SKIPPED or now + ahead
end
local refusal = write('HSET', META, 'profile', profile, 'key', ARGV[3], 'order', order, 'crawlers', max(meta.crawlers, number))
if refusal then return refusal end
-- If an index has lost its head, its keys may still exist. The clock makes sure that this epoch is a different one.
if not meta.epoch then call('HSET', META, 'epoch', now) end
local expired = call('ZRANGE', PREFIX .. 'c', '-inf', now, 'BYSCORE')
for i = 1, #expired do
  call('ZREM', PREFIX .. 'c', expired[i])
  call('HDEL', PREFIX .. 'w', expired[i])
end
redis.pcall('HSET', PREFIX .. 'w', number, ARGV[5])
return write('ZADD', PREFIX .. 'c', now + LEASE_SECONDS, number) or {number, meta.pages}
