#!/usr/bin/python3
"""An SMTP server for tests (Debian's python3-aiosmtpd): box.py PORT prints "ready", then each message
that arrives as a line of JSON.
"""
import json
import logging
import sys
import time
import warnings

from aiosmtpd.controller import Controller

logging.disable()
warnings.simplefilter("ignore")


class Box:
    async def handle_DATA(self, server, session, envelope):
        print(json.dumps({"from": envelope.mail_from, "to": envelope.rcpt_tos,
                          "text": envelope.content.decode("ascii")}), flush=True)
        return "250 ok"


controller = Controller(Box(), hostname="127.0.0.1", port=int(sys.argv[1]))
controller.start()
print("ready", flush=True)
while True:
    time.sleep(3600)
