-- Records, their texts, and the URL table that finds them.
-- A record has these bytes: added 4, seen 4, copies 3, tag 1, crawler 4, search 8, digest 4, URL key 8, signature, marks,
-- rank, URL. Marks, if there are any, are 253, their length and their bytes. A rank above 0 is 254 and its byte. No URL
-- begins with 253 or 254. The tag is the last byte of the URL key of the copy counted last: if its question is repeated
-- because the answer was lost, it is not counted again.

local function list_of(page) return format('%sr:%d', DATA, floor(page / RECORDS_A_LIST)) end

local function read_record(page)
  local record = call('LINDEX', list_of(page), page % RECORDS_A_LIST)
  return record and #record > HEAD and record or nil
end

local function text_key(page) return format('%sx:%d', DATA, page) end

-- Return the stored text of a page, or ''.
local function text_of(page) return call('GET', text_key(page)) or '' end

local function added_at(record) return number_at(record, 1) end
local function seen_at(record) return number_at(record, 5) end
local function copies_of(record) return floor(number_at(record, 9) / 256) end
local function tag_of(record) return byte(record, 12) end
local function crawler_of(record) return number_at(record, 13) end
local function digest_of(record) return sub(record, 25, 28) end
local function url_key_of(record) return sub(record, 29, 36) end

-- Return the marks of a record or a question's body, whose signature ends before `first`, and where the rest begins.
local function marks_before(bytes, first)
  if byte(bytes, first) ~= 253 then return '', first end
  local last = first + 1 + byte(bytes, first + 1)
  return sub(bytes, first + 2, last), last + 1
end

local function marks_of(record) return (marks_before(record, signature_end + 1)) end

-- Return a record with other marks.
local function with_marks(record, marks)
  local _, rest = marks_before(record, signature_end + 1)
  local packed = marks == '' and '' or '\253' .. char(#marks) .. marks
  return sub(record, 1, signature_end) .. packed .. sub(record, rest)
end

-- Return where the URL begins, and the rank, of a record or a question's body, whose signature ends before `first`.
local function url_place(bytes, first)
  local _
  _, first = marks_before(bytes, first)
  if byte(bytes, first) == 254 then return first + 2, byte(bytes, first + 1) end
  return first, 0
end

local function head_of(added, seen, copies, tag, crawler)
  return struct.pack('>I4I4I4I4', added, seen, min(copies, 16777215) * 256 + tag, crawler)
end

-- Return a record that this crawler has seen again.
local function visited(record, now, crawler)
  return head_of(added_at(record), now, copies_of(record), tag_of(record), crawler) .. sub(record, 17)
end

-- Return a record with one more copy, unless that was counted before.
local function counted(record, now, url_key, is_known)
  local copies = copies_of(record) + (is_known and 0 or 1)
  return head_of(added_at(record), now, copies, byte(url_key, 8), crawler_of(record)) .. sub(record, 17)
end

-- Return the time from which the time to live of a page counts: its last visit if `refresh` is 1, else when it was added.
local function age_mark(record, refresh) return number_at(record, refresh == 1 and 5 or 1) end

-- Return the page with a URL key, and its record. By chance, hardly any keys share the 40 bits of a member, but somebody
-- can craft such keys, so only the first few of them are read.
local function page_with_url(url_key)
  local head = sub(url_key, 1, 5)
  local members = members_between('u', head, head, '16')
  for i = 1, #members do
    local page = page_of(members[i])
    local record = read_record(page)
    if record and url_key_of(record) == url_key then return page, record end
  end
end
