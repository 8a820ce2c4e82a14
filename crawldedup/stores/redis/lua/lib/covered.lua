-- Anchors of paragraphs, and the pages that hold them. An anchor has 8 bytes: the leading ones choose its bucket, the
-- last 5 are its field there. A page has 5 bytes, the leading ones of its URL key.
--
-- The number of buckets is chosen once, by the limit of anchors, so that each stays a small packed hash in the server.

local HEAD, QUEUE, PAGE, BUCKET = DATA .. 'ah', DATA .. 'aq', DATA .. 'ap:', DATA .. 'a:'
local MOST_BYTES = 40    -- of a list: 8 pages
local ANCHORS_A_BUCKET = 64

local buckets, total = unpack(call('HMGET', HEAD, 'buckets', 'total'))
buckets, total = tonumber(buckets), tonumber(total) or 0
if buckets and not (buckets >= 1 and buckets <= 2 ^ 24) then buckets = nil end

local function field_of(anchors, at)
  local a, b, c = byte(anchors, at, at + 2)
  return format('%s%d', BUCKET, (a * 65536 + b * 256 + c) % (buckets or 1)), sub(anchors, at + 3, at + 7)
end

-- Return when a page was added, its URL and its anchors; nil if it is not there.
local function covered(page)
  local record = call('GET', PAGE .. page)
  if not record or #record < 8 then return nil end
  local added, length = struct.unpack('>I4I4', record)
  return added, sub(record, 9, 8 + length), sub(record, 9 + length)
end

-- Return where a page stands in a list; nil if it is not there.
local function place_in(pages, page)
  for at = 1, #pages, 5 do
    if sub(pages, at, at + 4) == page then return at end
  end
end

local function take_from(page, anchors)
  for at = 1, #anchors - 7, 8 do
    local key, field = field_of(anchors, at)
    local list = call('HGET', key, field) or ''
    local place = place_in(list, page)
    if place and #list == 5 then
      call('HDEL', key, field)
    elseif place then
      call('HSET', key, field, sub(list, 1, place - 1) .. sub(list, place + 5))
    end
  end
end

local function remove_covered(page, anchors)
  take_from(page, anchors)
  call('UNLINK', PAGE .. page)
end

-- Remove the oldest pages that the limits let go, of the first `count` in the queue; return how many of these went.
local function retire(now, ttl, most, count)
  for gone = 0, count - 1 do
    local first = call('LINDEX', QUEUE, 0)
    local added, before
    if first and #first == 15 then added, before = struct.unpack('>I4I6', first, 6) end
    if not added or not (ttl > 0 and added < now - ttl or total - before > most) then return gone end
    call('LPOP', QUEUE)
    local page = sub(first, 1, 5)
    local kept, _, anchors = covered(page)
    -- It may have been forgotten, and added again, meanwhile.
    if kept == added then remove_covered(page, anchors) end
  end
  return count
end
