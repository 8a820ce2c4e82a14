-- parts: layout
-- Forget every page, whatever profile they were of. KEYS: prefix. Answers the epoch that is over, whose keys and those of
-- earlier ones are left to be removed.
--
-- Who is at work stays known, for crawlers go on in the empty index; whoever joins next begins it. A server that is too full to
-- note another epoch forgets this one: then the next begins by the clock.

if not meta.epoch then return -1 end
local answer = redis.pcall('HINCRBY', META, 'epoch', 1)
if type(answer) == 'table' then
  if not string.find(answer.err, 'OOM') then return answer end
  call('HDEL', META, 'epoch')
end
local kept = {epoch = true, crawlers = true, first = true}
local fields = call('HGETALL', META)
for i = 1, #fields, 2 do
  if not kept[fields[i]] then call('HDEL', META, fields[i]) end
end
return meta.epoch
