-- Look only. KEYS: prefix. ARGV: profile, now, ttl, then as RedisStore._question makes it.
-- Answers {'found', record, ..}, nearest first, or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local now, ttl = tonumber(ARGV[2]) or tonumber(redis.call('TIME')[1]), tonumber(ARGV[3])
local answer = {'found'}
local matches = search(read_question(ARGV[4], 5), ttl and now - ttl or 0)
for i = 1, #matches do answer[i + 1] = matches[i][3] end
return answer
