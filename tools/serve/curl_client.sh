#!/bin/sh
# Calls a gateway with curl. usage: curl_client.sh BASE_URL
set -eu
out=$(curl -sS -i -H 'Content-Type: application/json' "$1/chat/completions" -d '{"model":"pipe","messages":[{"role":"user","content":"hello"}]}')
echo "$out" | grep -qi '^x-pipe-expert: small' && echo "$out" | grep -q '"content":"It is a test."' && echo ok completion
out=$(curl -sS -N -H 'Content-Type: application/json' "$1/chat/completions" -d '{"model":"pipe","stream":true,"messages":[{"role":"user","content":"hello"}]}')
[ "$(echo "$out" | grep -c '^data: ')" = 6 ] && echo "$out" | grep -q '^data: \[DONE\]' && echo ok stream
[ "$(curl -sS -o /dev/null -w '%{http_code}' "$1/chat/completions" -d '{"model":"none"}')" = 404 ] && echo ok errors
