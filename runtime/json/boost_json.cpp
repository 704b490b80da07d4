// Boost.JSON is used without its library: this is the one place where its sources are compiled.
#include <boost/json/src.hpp>
