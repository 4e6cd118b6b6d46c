#ifndef RUSH_DECIMAL_H
#define RUSH_DECIMAL_H

/* Parses a decimal number, "inf" or "nan" with an optional sign, to the nearest double, in every
 * locale. Returns its end, or `text` if there is no number. It replaces strtod, which would link
 * 128-bit arithmetic into the wasm. */
const char *rush_parse_decimal(const char *text, double *out);

/* Parses a number like strtod in the C locale: leading spaces, a sign, decimal or hexadecimal,
 * "inf", "infinity" or "nan" in any case. Out-of-range numbers become infinite or 0. Returns its
 * end, or `text` if there is no number. */
const char *rush_parse_real(const char *text, double *out);

#endif
