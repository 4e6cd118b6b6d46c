# Doxygen's input filter: turns Rushlight's plain comments into Doxygen's form.

FNR == 1 { print "/** @file"; sub(/^\/\* /, " * ") }

# "---- Loading ----" begins a group.
/^\/\* ---- .* -+ \*\/$/ {
  gsub(/^\/\* -+ | -+ \*\/$/, "")
  print (open ? "/** @} */ " : "") "/** @name " $0 " */ /** @{ */"
  open = 1
  next
}
/^#ifdef __cplusplus/ && open { print "/** @} */"; open = 0 }

{
  if (!sub(/^ *\/\* /, "&* ")) sub(/ \/\* /, " /**< "); else sub(/\/\* \* /, "/** ")
  # Indented text is an example or a table. Doxygen needs a deeper indent and an empty line before it.
  shown = sub(/^ \*   /, " *     ")
  if (shown && !before) print " *"
  before = shown
  print
}
