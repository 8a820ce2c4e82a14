-- Leases of running crawlers, and their pages that are not delivered yet.

local PENDING = PREFIX .. 'n'

-- Return true if a crawler has a lease. If a lease ends too late to be true, it was given before the clock went back.
local function is_at_work(crawler, now)
  local ends = tonumber(call('ZSCORE', PREFIX .. 'c', crawler))
  return ends and now < ends and ends <= now + LEASE_SECONDS
end

local function is_pending(url_key, crawler) return tonumber(call('HGET', PENDING, url_key)) == crawler end

-- Note that a crawler has a page pending. If a full server refuses this, the page counts as delivered.
local function mark_pending(url_key, crawler) redis.pcall('HSET', PENDING, url_key, crawler) end

-- Note that no crawler has a page pending. If a read-only replica refuses this, the page may be delivered twice.
local function unmark(url_key) redis.pcall('HDEL', PENDING, url_key) end

-- Return true if a page was never delivered and its crawler is no longer running. `asking` is a running crawler.
local function is_abandoned(record, asking, now)
  local crawler = crawler_of(record)
  return crawler ~= asking and is_pending(url_key_of(record), crawler) and not is_at_work(crawler, now)
end
