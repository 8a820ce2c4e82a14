-- parts: layout
-- Forget every page, whatever its profile. KEYS: prefix. Returns the number of the epoch that is over; its keys and those
-- of earlier ones are left for the client to remove.
--
-- Leases stay, because crawlers go on in the empty index; the next one to join begins it. A server too full to write the
-- next epoch forgets this one, and the next begins by the clock.

if not meta.epoch then return -1 end
local answer = redis.pcall('HINCRBY', META, 'epoch', 1)
if type(answer) == 'table' then
  if not string.find(answer.err, 'OOM') then return answer end
  call('HDEL', META, 'epoch')
end
local kept = {epoch = true, crawlers = true}
local fields = call('HGETALL', META)
for i = 1, #fields, 2 do
  if not kept[fields[i]] then call('HDEL', META, fields[i]) end
end
call('UNLINK', PREFIX .. 'n', PREFIX .. 'notes')
return meta.epoch
