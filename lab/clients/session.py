"""A client as most are written in Python: a session of `requests`, no time-outs. It asks the URL it is given ten times a second,
one request after the other, and prints who answered, or why nobody did."""

import sys
import time

import requests
import urllib3

urllib3.disable_warnings()  # the service's certificate is its own
with requests.Session() as session:
    while True:
        try:
            print(session.get(sys.argv[1], verify=False).text.strip(), flush=True)
        except requests.RequestException as error:
            print("failed:", error, flush=True)
        time.sleep(0.1)
