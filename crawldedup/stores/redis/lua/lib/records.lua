-- Records, and the URL table that leads to them.
--
-- A record has these bytes: added 4, seen 4, copies 3, tag 1, crawler 4, search 8, digest 4, URL key 8, signature, home 2,
-- rank 2, URL. A home is 255 and the byte that tells it, a rank above 0 is 254 and its byte. No URL begins with these, and
-- pages that have none lack both. The tag is the last byte of the URL key of the copy counted last: if its question is
-- repeated because the answer was lost, it is not counted again.

local function list_of(page)
  return format('%sr:%d', DATA, floor(page / RECORDS_A_LIST))
end

local function read_record(page)
  local record = call('LINDEX', list_of(page), page % RECORDS_A_LIST)
  if record and #record > HEAD then return record end
  return nil
end

local function text_key(page)
  return format('%sx:%d', DATA, page)
end

-- Return the text that is kept of a page, or ''.
local function text_of(page)
  return call('GET', text_key(page)) or ''
end

-- Keep a text in place of the one that was kept; none if it is ''.
local function keep_text(page, text)
  if text == '' then call('UNLINK', text_key(page)) else call('SET', text_key(page), text) end
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

-- Return where the URL begins, and the rank, of a record or a question's body, whose signature ends before `first`.
local function url_place(bytes, first)
  if byte(bytes, first) == 255 then first = first + 2 end
  if byte(bytes, first) == 254 then return first + 2, byte(bytes, first + 1) end
  return first, 0
end

-- Return a record's head with the body of a question, whose signature has so many bytes, and the record's own URL.
local function with_body(record, body, signature_bytes)
  local first = 21 + signature_bytes
  local own_url, its_url = url_place(record, first + 16), url_place(body, first)
  return sub(record, 1, 16) .. sub(body, 1, its_url - 1) .. sub(record, own_url)
end

local function head_of(added, seen, copies, tag, crawler)
  return struct.pack('>I4I4I4I4', added, seen, min(copies, 16777215) * 256 + tag, crawler)
end

-- Return a record that this crawler has seen again.
local function visited(record, now, crawler)
  return head_of(added_at(record), now, copies_of(record), tag_of(record), crawler) .. sub(record, 17)
end

-- Return True if the copy that was counted last has this URL key, as far as the tag tells.
local function is_last_counted(record, url_key)
  return copies_of(record) > 0 and tag_of(record) == byte(url_key, 8)
end

-- Return a record with one more copy, unless that was counted before.
local function counted(record, now, url_key, is_known)
  local copies = copies_of(record) + (is_known and 0 or 1)
  return head_of(added_at(record), now, copies, byte(url_key, 8), crawler_of(record)) .. sub(record, 17)
end

-- Return the time from which a page's time to live counts: its last visit if `refresh` is 1, else its adding.
local function age_mark(record, refresh)
  return number_at(record, refresh == 1 and 5 or 1)
end

-- By chance no ten pages of the largest index share 40 bits of their URL keys, but URLs can be crafted that do. Only the
-- first of such a crowd are recognised, because each would cost a read of all.
local URL_CROWD = '16'

local function url_from(bytes, first)
  local place = url_place(bytes, first)
  return sub(bytes, place)
end

-- Return the page with a URL key, and its record. With a question, the record of another URL comes third, alone.
local function page_with_url(url_key, question)
  local head = sub(url_key, 1, 5)
  local members = members_between('u', head, head, URL_CROWD)
  local first = question and #question.signature + 1
  local url, other = question and url_from(question.body, 20 + first) or ''
  for i = 1, #members do
    local page = page_of(members[i])
    local record = read_record(page)
    if record and url_key_of(record) == url_key then
      local its = url ~= '' and url_from(record, HEAD + first) or ''
      if its == '' or its == url then return page, record end
      other = other or record
    end
  end
  return nil, nil, other
end
