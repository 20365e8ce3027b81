#include "core/base/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/base/status.h"

namespace pullback {

std::string HmacSha256(std::string_view key, std::string_view bytes) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  PB_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), mac,
                &size) != nullptr &&
           size == kHmacBytes);
  return {reinterpret_cast<const char*>(mac), size};
}

bool SameMac(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  PB_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) ==
           1);
  return bytes;
}

}  // namespace pullback
