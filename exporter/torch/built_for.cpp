// States the torch version that a file was compiled for. python/rushlight/_build.py reads it in the
// file's bytes, because loading the file into another torch would crash.
#include <string>  // has _GLIBCXX_USE_CXX11_ABI

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

namespace rush {

extern const char built_for[];
__attribute__((used)) const char built_for[] = "rushlight was built for torch " RUSH_BUILT_FOR_TORCH
                                               ", C++11 ABI " TEXT_OF(_GLIBCXX_USE_CXX11_ABI);

}  // namespace rush
