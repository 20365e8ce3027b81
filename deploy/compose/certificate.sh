#!/bin/sh
# A certificate for localhost that only this machine's tests should trust: certificate.pem, with its key,
# for HAProxy, and certificate.crt for clients (pullback --tls-ca).
set -eu
cd "$(dirname "$0")"
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
  -keyout certificate.key -out certificate.crt 2>/dev/null
cat certificate.crt certificate.key >certificate.pem
rm certificate.key
# The container's user reads it.
chmod 0644 certificate.pem certificate.crt
