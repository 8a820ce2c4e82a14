-- Look only. KEYS: prefix. ARGV: profile, now, ttl, probes, signature, costs, limit, digest, max candidates.
-- Answers {'found', record, ..}, nearest first, or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local now, ttl = tonumber(ARGV[2]) or tonumber(redis.call('TIME')[1]), tonumber(ARGV[3])
local answer = {'found'}
local matches = search(ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9]), ttl and now - ttl or 0)
for i = 1, #matches do answer[i + 1] = matches[i][3] end
return answer
