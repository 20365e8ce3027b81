#!/bin/sh
# Certificates for tests: tests/support/certificates.sh FOLDER NAME
#
# An authority NAME-ca.crt, a server's certificate for 127.0.0.1 and localhost (NAME.crt, NAME.key, and
# both in NAME.pem, as HAProxy wants them), and a client's (NAME-client.crt, NAME-client.key).
set -eu
cd "$1"
name=$2

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

# sign NAME SUBJECT EXTENSIONS
sign() {
  key "$1.key"
  printf '%s\n' "$3" >"$1.ext"
  openssl req -new -key "$1.key" -subj "/CN=$2" |
    openssl x509 -req -CA "$name-ca.crt" -CAkey "$name-ca.key" -CAcreateserial -days 7 \
      -extfile "$1.ext" -out "$1.crt" 2>/dev/null
}

key "$name-ca.key"
openssl req -x509 -key "$name-ca.key" -subj "/CN=$name authority" -days 7 -out "$name-ca.crt"
sign "$name" localhost 'subjectAltName=IP:127.0.0.1,DNS:localhost'
sign "$name-client" client 'extendedKeyUsage=clientAuth'
cat "$name.crt" "$name.key" >"$name.pem"
