#include "base/sha256.h"

#include <cmath>
#include <cstring>

namespace rush {

namespace {

using Words = std::array<uint32_t, 8>;

bool is_prime(unsigned n) {
  for (unsigned d = 2; d * d <= n; d++)
    if (n % d == 0) return false;
  return true;
}

// The first 32 fractional bits of the roots of the first N primes. A long double is exact enough:
// no fraction lies within 2^-40 of a multiple of 2^-32.
template <size_t N>
std::array<uint32_t, N> fractions(long double (*root)(long double)) {
  std::array<uint32_t, N> out;
  unsigned prime = 2;
  for (uint32_t &word : out) {
    while (!is_prime(prime)) prime++;
    const long double r = root(static_cast<long double>(prime++));
    word = static_cast<uint32_t>((r - std::floor(r)) * 4294967296.0L);
  }
  return out;
}

uint32_t turned(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

uint32_t word_at(const uint8_t *at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

// Adds a block of 64 bytes to the state.
void add_block(Words *state, const uint8_t *block) {
  static const auto constants = fractions<64>(std::cbrt);
  uint32_t w[64];
  for (int i = 0; i < 16; i++) w[i] = word_at(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + w[i - 7] +
           (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = *state;
  for (size_t i = 0; i < 64; i++) {
    const uint32_t t1 = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) +
                        constants[i] + w[i];
    const uint32_t t2 =
        (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const Words added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state->size(); i++) (*state)[i] += added[i];
}

}  // namespace

std::array<uint8_t, 32> sha256(const uint8_t *data, size_t size) {
  Words state = fractions<8>(std::sqrt);
  size_t at = 0;
  for (; size - at >= 64; at += 64) add_block(&state, data + at);
  uint8_t rest[128] = {};
  const size_t left = size - at, padded = left < 56 ? 64 : 128;
  if (left > 0) std::memcpy(rest, data + at, left);
  rest[left] = 0x80;
  for (size_t i = 0; i < 8; i++)
    rest[padded - 1 - i] = static_cast<uint8_t>((uint64_t{size} * 8) >> (8 * i));
  for (at = 0; at < padded; at += 64) add_block(&state, rest + at);
  std::array<uint8_t, 32> out;
  for (size_t i = 0; i < out.size(); i++)
    out[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

}  // namespace rush
