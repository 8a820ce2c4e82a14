-- parts: layout
-- Begin a part of an index that is spread over a cluster, unless it has begun. KEYS: prefix. ARGV: profile, order, now or '',
-- a crawler's number. Answers {'begun', pages} or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
if meta.crawlers < tonumber(ARGV[4]) or not meta.profile then
  local answer = redis.pcall('HSET', META, 'profile', ARGV[1], 'order', ARGV[2], 'crawlers', max(meta.crawlers, tonumber(ARGV[4])))
  -- A full server that holds the part is joined unannounced, as in join.lua.
  if type(answer) == 'table' and not (meta.profile and string.find(answer.err, 'OOM')) then return answer end
end
-- Keys may be left of a part that lost its head: by the clock, this one is another.
if not meta.epoch then call('HSET', META, 'epoch', tonumber(ARGV[3]) or tonumber(call('TIME')[1])) end
return {'begun', meta.pages}
