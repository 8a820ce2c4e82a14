-- Pages that were remembered and are not delivered yet.

local ON_THEIR_WAY = PREFIX .. 'n'

local function is_on_its_way(url_key, crawler)
  return tonumber(call('HGET', ON_THEIR_WAY, url_key)) == crawler
end

-- Note that a page is on nobody's way. A replica that only reads notes nothing: the page may be delivered twice.
local function arrive(url_key)
  redis.pcall('HDEL', ON_THEIR_WAY, url_key)
end

-- Note that pages of a crawler were delivered; those that another has taken over meanwhile are still on their way. In a
-- script that adds pages, this comes behind: a full server refuses a script's first write, but none behind one that frees.
local function deliver(url_keys, crawler)
  for i = 1, #url_keys, 8 do
    local url_key = sub(url_keys, i, i + 7)
    if is_on_its_way(url_key, crawler) then arrive(url_key) end
  end
end

-- Note that a crawler has a page on its way. A full server notes nothing: the page counts as delivered.
local function set_out(url_key, crawler)
  redis.pcall('HSET', ON_THEIR_WAY, url_key, crawler)
end

-- Return true if a page was never delivered, and its crawler is at work no more. `asking` is a crawler that is.
local function is_abandoned(record, asking, now)
  local crawler = crawler_of(record)
  return crawler ~= asking and is_on_its_way(url_key_of(record), crawler) and not is_at_work(crawler, now)
end
