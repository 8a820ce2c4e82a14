-- parts: layout, records, writing
-- Add pages without comparing them. KEYS: prefix. ARGV: profile, number of tables, for each page the lengths of its record
-- and of its text (4 bytes each), its keys, its record and its text, as one string. Returns {'loaded', pages added},
-- {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local tables, data = tonumber(ARGV[2]), ARGV[3]
local added, place = 0, 1
while place <= #data do
  local size, text_size = struct.unpack('>I4I4', data, place)
  local first = place + 8 + tables * 8
  local keys, record = sub(data, place + 8, first - 1), sub(data, first, first + size - 1)
  place = first + size + text_size
  if not page_with_url(url_key_of(record)) then
    local page = add(keys, record)
    if text_size > 0 then keep_text(page, sub(data, first + size, place - 1)) end
    grow(tables, 2)
    added = added + 1
  end
end
call('HSET', META, 'pages', meta.pages, 'next', meta.next)
return {'loaded', added}
