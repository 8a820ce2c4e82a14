-- Which undecided pages have met the undecided one of here? KEYS: prefix. ARGV: profile, its number (4 bytes).
-- Answers {'others', pages, page (4 bytes) and 1 if it finds the one here or else 0, of each..}.

return {'others', meta.pages, unpack(call('HGETALL', others_of(number_at(ARGV[2], 1))))}
