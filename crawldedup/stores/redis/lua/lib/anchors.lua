-- Anchors of paragraphs, and the pages that hold them. An anchor has 8 bytes: the leading ones choose its bucket, the
-- last 5 are its field there. A page has 5 bytes, the leading ones of its URL key.
-- The number of buckets is chosen once, from the limit of anchors, so each bucket stays a small packed hash in the server.

local ANCHORS, QUEUE, PAGE, BUCKET = DATA .. 'ah', DATA .. 'aq', DATA .. 'ap:', DATA .. 'a:'

local buckets, total = unpack(call('HMGET', ANCHORS, 'buckets', 'total'))
buckets, total = tonumber(buckets), tonumber(total) or 0
if buckets and not (buckets >= 1 and buckets <= 2 ^ 24) then buckets = nil end

local function field_of(anchors, at)
  local a, b, c = byte(anchors, at, at + 2)
  return format('%s%d', BUCKET, (a * 65536 + b * 256 + c) % (buckets or 1)), sub(anchors, at + 3, at + 7)
end

-- Return when a page was added, its URL and its anchors, or nil if there is no such page.
local function covered(page)
  local record = call('GET', PAGE .. page)
  if not record or #record < 8 then return nil end
  local added, length = struct.unpack('>I4I4', record)
  return added, sub(record, 9, 8 + length), sub(record, 9 + length)
end

-- Return the position of a page in a list, or nil if the list lacks it.
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
