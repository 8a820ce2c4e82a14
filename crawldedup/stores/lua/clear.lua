-- Begin the index again, empty. KEYS: prefix. Answers the epoch from now on, or 0 if the server is too full to note one: then
-- the next to join begins one by the clock. Who is at work stays known, for crawlers go on in the empty index; the keys
-- of earlier epochs are left to be removed.

local epoch = redis.pcall('HINCRBY', META, 'epoch', 1)
if type(epoch) == 'table' then
  if not string.find(epoch.err, 'OOM') then return epoch end
  call('HDEL', META, 'epoch')
  epoch = 0
end
call('HDEL', META, 'profile', 'order', 'pages', 'next', 'depth', 'split', 'oldest', 'sweep')
return epoch
