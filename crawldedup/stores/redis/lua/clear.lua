-- parts: layout
-- Forget every page, whatever the profile of the index. KEYS: prefix. Returns the number of the epoch that ends. The client
-- removes its keys and those of earlier epochs.
--
-- Leases stay, because running crawlers continue in the empty index, and the next one that joins creates it. If the server
-- is too full to write the next epoch, its number is lost, and the next one is taken from the clock.

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
