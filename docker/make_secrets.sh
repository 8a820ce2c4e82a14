#!/bin/sh
# Make the passwords and tokens in ./secrets that docker-compose.yml passes to its services.
#
# The services run as separate users and read these files with their modes on this machine. So the
# folder keeps others out, not the modes of the files.
set -eu

mkdir -m 700 secrets
umask 022
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
password=$(random)
printf 'requirepass %s\n' "$password" > secrets/redis.conf
printf 'redis://:%s@redis:6379/0\n' "$password" > secrets/store.url
random > secrets/tokens
random > secrets/read_tokens
echo "made secrets/: crawlers on this machine use the URL in secrets/store.url with localhost for redis"
