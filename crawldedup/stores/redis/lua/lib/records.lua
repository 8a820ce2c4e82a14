-- Records, and the URL table that leads to them.
--
-- A record is, in bytes: added 4, seen 4, copies 3, tag 1, crawler 4, search 8, digest 4, URL key 8, signature, URL. The tag is
-- the last byte of the URL key of the copy that was counted last: should its question come twice, because the answer was lost,
-- it is not counted again.

local function list_of(page)
  return format('%sr:%d', DATA, floor(page / RECORDS_A_LIST))
end

local function read_record(page)
  local record = call('LINDEX', list_of(page), page % RECORDS_A_LIST)
  if record and #record > HEAD then return record end
  return nil
end

local function number_at(record, first)
  local a, b, c, d = byte(record, first, first + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function added_at(record) return number_at(record, 1) end
local function seen_at(record) return number_at(record, 5) end
local function copies_of(record) return floor(number_at(record, 9) / 256) end
local function tag_of(record) return byte(record, 12) end
local function crawler_of(record) return number_at(record, 13) end
local function search_of(record) return sub(record, 17, 24) end
local function digest_of(record) return sub(record, 25, 28) end
local function url_key_of(record) return sub(record, 29, 36) end

local function head_of(added, seen, copies, tag, crawler)
  return struct.pack('>I4I4I4I4', added, seen, min(copies, 16777215) * 256 + tag, crawler)
end

-- A record, seen again by this crawler.
local function visited(record, now, crawler)
  return head_of(added_at(record), now, copies_of(record), tag_of(record), crawler) .. sub(record, 17)
end

-- A record with one copy more. `again` is 1 if the question may have been answered before.
local function counted(record, now, url_key, again)
  local copies, tag = copies_of(record), byte(url_key, 8)
  if again ~= 1 or copies == 0 or tag_of(record) ~= tag then copies = copies + 1 end
  return head_of(added_at(record), now, copies, tag, crawler_of(record)) .. sub(record, 17)
end

-- When a page was last of use, for its time to live: `refresh` is 1 if being seen again counts.
local function age_mark(record, refresh)
  return number_at(record, refresh == 1 and 5 or 1)
end

-- Of all the pages that an index can hold no ten share 40 bits of their URL keys by chance, but URLs can be made that do: only
-- the first of such a crowd are known again, or each would cost a look at all of them.
local URL_CROWD = '16'

local function page_with_url(url_key)
  local head = sub(url_key, 1, 5)
  local members = members_between('u', head, head, URL_CROWD)
  for i = 1, #members do
    local page = page_of(members[i])
    local record = read_record(page)
    if record and url_key_of(record) == url_key then return page, record end
  end
end
