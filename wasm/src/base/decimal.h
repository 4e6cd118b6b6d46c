#ifndef RUSH_DECIMAL_H
#define RUSH_DECIMAL_H

/* Reads a decimal number, "inf" or "nan" with its sign, to the nearest double, whatever the locale
 * says, and gives where it ends: `text` itself where none begins. Instead of strtod, which brings
 * arithmetic in 128 bits into the wasm. */
const char *rush_parse_decimal(const char *text, double *out);

/* Reads a number as strtod does in the C locale: after spaces, with a sign, decimal or
 * hexadecimal, "inf", "infinity" or "nan" in letters of any case; what is beyond all doubles is
 * infinite or 0. Gives where it ends: `text` itself where none begins. */
const char *rush_parse_real(const char *text, double *out);

#endif
