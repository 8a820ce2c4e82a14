-- Filing keys in a part of the tables.

local LOG = DATA .. 'l'
local LOG_LENGTH = 256

-- Entries are 13 bytes: table, 8 bytes of key, page.
local function file_entries(entries, tables)
  for place = 1, #entries, 13 do
    local number, key, page = byte(entries, place), sub(entries, place + 1, place + 8), number_at(entries, place + 9)
    meta.pages = meta.pages + file(number, key, page)
    meta.next = meta.next + 1
    call('RPUSH', LOG, char(number) .. member_of(key, page))
  end
  call('LTRIM', LOG, -LOG_LENGTH, -1)
  call('HSET', META, 'pages', meta.pages, 'next', meta.next)
  local members = meta.pages
  meta.pages = members / tables
  grow(tables, 2)
  meta.pages = members
end
