-- Note which undecided page has met those of here, if these are undecided too. KEYS: prefix. ARGV: profile, the page that
-- has met them (4 bytes), 1 if it finds them or else 0, their numbers (4 bytes each). Answers {'met', pages}.

for place = 1, #ARGV[4], 4 do
  local page = number_at(ARGV[4], place)
  if is_undecided(page, '') then call('HSET', others_of(page), ARGV[2], ARGV[3]) end
end
return {'met', meta.pages}
