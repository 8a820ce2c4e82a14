-- Pages that were remembered and are not delivered yet.

local ON_THEIR_WAY = PREFIX .. 'n'

local function deliver(url_keys)
  for i = 1, #url_keys, 8 do call('HDEL', ON_THEIR_WAY, sub(url_keys, i, i + 7)) end
end

-- Note that a crawler has a page on its way. A full server notes nothing: the page counts as delivered.
local function set_out(url_key, crawler)
  redis.pcall('HSET', ON_THEIR_WAY, url_key, crawler)
end

-- Return true if a page was never delivered, and its crawler is at work no more. `asking` is a crawler that is.
local function is_abandoned(record, asking, now)
  local crawler = tonumber(call('HGET', ON_THEIR_WAY, url_key_of(record)))
  return crawler == crawler_of(record) and crawler ~= asking and not is_at_work(crawler, now)
end
