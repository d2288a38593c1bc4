#!/bin/sh
# A container has no service manager: packages must not try to start their services.
exit 101
