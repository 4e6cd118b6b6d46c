#include "base/base.h"

const char *rush_status_name(rush_status status) {
  switch (status) {
    case RUSH_OK:
      return "ok";
    case RUSH_ERR_NO_MEMORY:
      return "out-of-memory";
    case RUSH_ERR_BAD_FILE:
      return "bad-file";
    case RUSH_ERR_UNSUPPORTED:
      return "unsupported";
    case RUSH_ERR_BAD_ARGUMENT:
      return "bad-argument";
    case RUSH_ERR_BAD_STATE:
      return "bad-state";
    case RUSH_ERR_RAISED:
      return "model-raised";
    case RUSH_ERR_MISMATCH:
      return "mismatch";
    case RUSH_PENDING:
      return "pending";
    case RUSH_ERR_INTERRUPTED:
      return "interrupted";
    case RUSH_ERR_DEVICE_LOST:
      return "device-lost";
  }
  return "unknown";
}

const char *rush_version(void) {
  return RUSH_VERSION;
}
