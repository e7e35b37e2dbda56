"""Asks a URL again and again with requests (urllib3): one session, no deadline. Prints a line for each answer."""

import sys
import time
import warnings

import requests

warnings.simplefilter("ignore")
session = requests.Session()
while True:
    try:
        answer = session.get(sys.argv[1], verify=False)
        print("HTTP/1.1", answer.text.strip(), flush=True)
    except requests.RequestException as error:
        print("error", error, flush=True)
    time.sleep(0.05)
